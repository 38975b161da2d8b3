# The book from nothing: `make book` (pages), `make test` (twelve minutes of checks), `make deep` (every check). GNU make.
# A recipe line without `@` is a command of the work itself; README.md lists the same ones for those without make.

# The first Python that runs and fits. A name says little: pyenv has a name for each version, also where it is switched off.
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
PYTHONS := python3 python3.11 python3.12 python3.13 python3.14 "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/*/bin/python3
PYTHON ?= $(shell for python in $(PYTHONS); do "$$python" -c '$(FITS)' 2>/dev/null && echo "$$python" && break; done)
CHAPTER ?=
PROFILE ?= default
OUT ?=

OLDEST = $(shell sed -n 's/^requires-python = ">=\([0-9.]*\).*/\1/p' pyproject.toml)
PIP := .venv/bin/python -m pip install --quiet -c constraints.txt -e
# Two workers, a scope each at a time; a notebook is a scope, and its kernel is the environment's own.
PYTEST := JUPYTER_PREFER_ENV_PATH=1 .venv/bin/python -m pytest --quiet -rfEs --durations=30 -n 2 --dist loadscope --no-loadscope-reorder --nbval-lax --nbval-current-env --nbval-sanitize-with chapters/nbval-sanitize.cfg
ZIP := dist/contrastive-dynamics-html.zip
# The build's stamp is named after what the pages are made of, so that nothing is built twice and no change is missed.
SOURCES := find -L book chapters clbook lib records _config.yml _toc.yml constraints.txt -type f ! -path '*/_generated/*' \
	! -path '*/__pycache__/*' ! -path '*/.*' ! -path '*.egg-info/*'
BUILT := _build/.built-$(shell $(SOURCES) -print0 | LC_ALL=C sort -z | xargs -0 cksum | cksum | cut -d' ' -f1)

.PHONY: book book-sphinx test sample drawn deep check smoke lint proofs outcomes reach gpu run execute student lite solutions slides handouts dist pins advisories portability clean chapter-named
.DELETE_ON_ERROR:

book: $(BUILT)
	@echo "The book is built. Open _build/html/index.html in a browser."

# The same pages without Jupyter Book, by the newest Sphinx that this Python can have, held against those above.
book-sphinx: .venv/sphinx/.installed
	@$(MAKE) --no-print-directory book
	.venv/sphinx/bin/python -m sphinx -b html -q -W -n --keep-going . _build/sphinx
	.venv/bin/python -m clbook.pages.site_check _build/sphinx
	.venv/bin/python tests/tools/two_builds.py _build/html _build/sphinx

# Twelve minutes on two free cores, ten are the aim; what takes longer belongs in `deep`. The slowest thirty tests are printed.
test: .venv/.test-installed lint
	$(PYTEST) $$(.venv/bin/python tests/tools/notebooks_to_run.py) tests
	@$(MAKE) --no-print-directory -j2 sample book
	@.venv/bin/python tests/tools/skipped.py

# A core each: what is stored is looked through, and a part computed again, while the pages are built.
sample: .venv/.test-installed
	.venv/bin/clbook stale
	.venv/bin/clbook verify --sample 60

# What the commit selects of `deep`: a notebook, and a fifth of the tests; some look at the pages.
drawn: .venv/.test-installed .venv/.class-installed .venv/.slides-installed
	@$(MAKE) --no-print-directory book
	$(PYTEST) --drawn $$(.venv/bin/python tests/tools/notebooks_to_run.py --drawn) tests/deep
	@.venv/bin/python tests/tools/skipped.py

# What takes long: run it before a release; the forge does every week.
deep: .venv/.test-installed .venv/.class-installed .venv/.slides-installed lint
	@$(MAKE) --no-print-directory book
	$(PYTEST) chapters/*.ipynb tests/deep tests/secondhand
	.venv/bin/clbook verify --sample 600
	PYTHONPATH=tests/deep .venv/bin/python -m portability --drawn
	@$(MAKE) --no-print-directory book-sphinx

# A core each: one chapter is computed again while the pages are built.
check: .venv/.test-installed lint
	@$(MAKE) --no-print-directory -j2 smoke book

smoke: .venv/.test-installed
	.venv/bin/clbook verify nonlinearity --profile smoke

lint: .venv/.test-installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

# Every proof in `proofs/`, with Coq where it is installed; the pages show what the record says. Python's alone are a part of `test`.
proofs: .venv/.run-installed
	.venv/bin/python proofs/check.py --log records/proofs/log.json

outcomes: .venv/.test-installed
	PYTHONPATH=tests/deep:tests/tools .venv/bin/python -m mutations.kept_outcomes $(CHAPTER)

reach: .venv/.test-installed
	CLBOOK_EVERY=$(or $(CHAPTER),1) .venv/bin/python -m pytest --quiet -n 2 --dist loadscope tests/deep/test_reach.py

# Nothing is installed here: the machine with the GPU may have no package index. Status 75 says that time is used up.
gpu:
	@PYTHONPATH=.:lib:chapters:tests/deep/gpu$${PYTHONPATH:+:$$PYTHONPATH} PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \
		$(or $(wildcard .venv/bin/python),$(PYTHON)) -m pytest -q -rs --tb=short --confcutdir tests/deep/gpu \
		-o addopts= -p no:cacheprovider -p on_device tests/deep/gpu/cases.py $(if $(SIZE),-k "$(SIZE)") \
		$(if $(OUT),--out $(OUT)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(DEVICE),--device $(DEVICE)) $(if $(WORKERS),--workers $(WORKERS)) \
		|| { status=$$?; test $$status = 75 || exit $$status; }

portability: .venv/.run-installed
	PYTHONPATH=tests/deep .venv/bin/python -m portability $(CHAPTER) $(CLAIM)

run: chapter-named .venv/.run-installed
	.venv/bin/clbook run $(CHAPTER) --profile $(PROFILE) $(if $(OUT),--out $(OUT))

execute: .venv/.run-installed
	.venv/bin/clbook execute

# Exercises, slides and handouts in one folder.
student: .venv/.class-installed .venv/.slides-installed
	.venv/bin/clbook student $(OUT) $(if $(SEED),--seed $(SEED))
	.venv/bin/python -m clbook.classroom.slide_decks $(or $(OUT),student)/slides
	.venv/bin/clbook handouts $(or $(OUT),student)/handouts

# The five sheets as a site for browsers. What lies in _build/lite/static/pyodide goes into it; without that, readers fetch Pyodide.
lite: .venv/.class-installed .venv/lite/.installed
	@rm -rf _build/lite/files
	.venv/bin/python -m clbook.classroom.browser_sheets _build/lite/files $(SEED)
	cd _build/lite && $(CURDIR)/.venv/lite/bin/jupyter lite build --output-dir $(abspath $(or $(OUT),dist/lite)) > log 2>&1 \
		|| { tail -20 log >&2; exit 1; }

solutions: .venv/.class-installed
	@echo "Solving every sheet, exercise and exam; this takes about two minutes, without a line until it ends."
	.venv/bin/clbook solutions $(OUT) $(if $(SEED),--seed $(SEED))

slides: .venv/.slides-installed
	.venv/bin/python -m clbook.classroom.slide_decks $(OUT)

handouts: .venv/.run-installed
	.venv/bin/clbook handouts $(OUT)

# What an archive takes: the site, both packages as a wheel, how to cite them, the sum of all results, and the sums of these files.
dist: $(ZIP)
	@rm -rf build dist/*.whl
	.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@rm -rf build; cp CITATION.cff dist
	@.venv/bin/clbook stamp > dist/STAMP
	@.venv/bin/python -c "import hashlib as h, pathlib as p; d = p.Path('dist'); (d / 'SHA256SUMS').write_text(''.join( \
		f'{h.sha256(f.read_bytes()).hexdigest()}  {f.name}\n' for f in sorted(d.glob('*')) if f.name != 'SHA256SUMS' and f.is_file()))"
	@cat dist/SHA256SUMS

# The newest versions within the bounds of pyproject.toml, for the oldest Python that these allow. What builds packages is not pinned, nor
# what CUDA builds of torch bring, so that the pins fit any build. Only uv is installed, apart from everything else.
pins: .venv/.made
	@.venv/bin/python -m pip install --quiet --upgrade --target .venv/uv uv
	@.venv/uv/bin/uv pip compile --quiet --no-annotate --no-header --python-version $(OLDEST) \
		--extra test --extra encoders --extra class --extra slides --extra lite pyproject.toml > .venv/newest.txt
	@{ grep '^#' constraints.txt; grep -vE '^(cuda-|nvidia-|triton|setuptools|wheel)' .venv/newest.txt | sed 's/+[^ ]*//'; } > .venv/pins.txt
	@diff constraints.txt .venv/pins.txt && echo "every pin is the newest that fits" || cp .venv/pins.txt constraints.txt

# Published advisories on the pins; what looks for them is installed apart from everything else.
advisories: .venv/.made
	@.venv/bin/python -m pip install --quiet --upgrade --target .venv/audit pip-audit==2.10.1
	@PYTHONPATH=.venv/audit .venv/bin/python -m pip_audit --no-deps --disable-pip --progress-spinner off -r constraints.txt

clean:
	rm -rf _build dist book/_generated .pytest_cache .ruff_cache

chapter-named:
	@test -n "$(CHAPTER)" || { echo "make run: name a chapter, as in: make run CHAPTER=nonlinearity" >&2; exit 2; }

# Bounds that move may leave an environment behind that was made within the earlier ones.
.venv/.made: pyproject.toml | .venv/bin/python
	@.venv/bin/python -c '$(FITS)' || { \
		echo "make: Python 3.11 to 3.14 is needed, .venv has `.venv/bin/python -V`; remove it: rm -r .venv" >&2; exit 2; }
	@touch $@

.venv/bin/python:
	@"$(PYTHON)" -c '$(FITS)' 2>/dev/null || { \
		echo "make: Python 3.11 to 3.14 is needed, `test -n '$(PYTHON)' && echo "PYTHON is '$(PYTHON)'" || echo none was found`;" \
		"name one: make PYTHON=/where/it/is/python3" >&2; exit 2; }
	$(PYTHON) -m venv .venv

# torch alone comes from the index that TORCH_INDEX_URL names, if any: beside the usual one it could win any name.
.venv/.torch-installed: constraints.txt | .venv/.made
	@test -z "$(TORCH_INDEX_URL)" || .venv/bin/python -m pip install --quiet --no-deps --index-url "$(TORCH_INDEX_URL)" \
		$$(grep '^torch==' constraints.txt)
	@touch $@

.venv/.book-installed: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing what the pages need into .venv (no torch); this takes about a minute."
	$(PIP) '.[book]'
	@touch $@

# Nothing is pinned here: to get newer versions, remove the folder.
.venv/sphinx/.installed: pyproject.toml | .venv/.made
	$(PYTHON) -m venv .venv/sphinx
	.venv/sphinx/bin/python -m pip install --quiet -e '.[sphinx]'
	@touch $@

.venv/lite/.installed: pyproject.toml constraints.txt | .venv/.made
	$(PYTHON) -m venv .venv/lite
	.venv/lite/bin/python -m pip install --quiet -c constraints.txt -e '.[lite]'
	@touch $@

.venv/.run-installed: pyproject.toml constraints.txt .venv/.torch-installed | .venv/.made
	@echo "Installing what a chapter needs into .venv (torch, JupyterLab); this takes minutes."
	$(PIP) '.[run]'
	@touch $@

.venv/.class-installed: pyproject.toml constraints.txt .venv/.torch-installed | .venv/.made
	@echo "Installing what a class needs into .venv (JupyterLab, otter-grader); this takes minutes."
	$(PIP) '.[class]'
	@touch $@ .venv/.run-installed

.venv/.slides-installed: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing what the slides need into .venv (no torch); this takes about a minute."
	$(PIP) '.[slides]'
	@touch $@ .venv/.book-installed

.venv/.test-installed: pyproject.toml constraints.txt .venv/.torch-installed | .venv/.made
	@echo "Installing everything into .venv; this takes minutes."
	$(PIP) '.[test]'
	@touch $@ .venv/.book-installed .venv/.run-installed

$(BUILT): | .venv/.book-installed
	.venv/bin/python -m clbook.pages.book_pages
	rm -rf _build
	.venv/bin/jupyter-book build . -q -W -n --keep-going
	.venv/bin/python -m clbook.pages.site_check _build/html
	@touch $@

$(ZIP): $(BUILT)
	@mkdir -p dist; rm -f $(ZIP).sha256
	.venv/bin/python -c "import pathlib as p, zipfile as z; root = p.Path('_build/html'); \
		z = z.ZipFile('$(ZIP)', 'w', z.ZIP_DEFLATED, strict_timestamps=False); \
		[z.write(f, f.relative_to(root)) for f in sorted(root.rglob('*')) if f.is_file()]; z.close()"
	@.venv/bin/python -c "import hashlib as h, pathlib as p; f = p.Path('$(ZIP)'); \
		p.Path('$(ZIP).sha256').write_text(f'{h.sha256(f.read_bytes()).hexdigest()}  {f.name}\n')"
