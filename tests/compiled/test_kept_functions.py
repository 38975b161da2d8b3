"""Compiled functions are kept, and compiled again when any source of them changes, wherever numba's caches lie."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from checkout import ROOT

pytest.importorskip("numba", reason="compiled functions need numba")

# A function of one file that calls a helper of another one, for each family; prints what it makes and what was kept.
TOKENS = """
import json
from types import SimpleNamespace
import numpy as np
from contrastive_dynamics.compiled.fused_step import Settings, activate
w, h, slope = (np.full((1, 8), 0.5, np.float32) for _ in range(3))
s = Settings(4, 8, 8, False, False, False, *map(np.float32, range(10)))
activate(w, np.ones(1, np.float32), s, h, slope)
print(json.dumps([float(h[0, 0]), sum(activate.stats.cache_hits.values())]))
"""
CODES = """
import json
import numpy as np
from contrastive_dynamics.compiled.exponentials import exponentiate
x = np.full(8, -0.5, np.float32)
exponentiate(x)
print(json.dumps([float(x[0]), sum(exponentiate.stats.cache_hits.values())]))
"""
ALONE = TOKENS.replace(
    "activate(w, np.ones(1, np.float32), s, h, slope)",
    """from contrastive_dynamics.compiled.loader import works
assert works(lambda: activate(w, np.ones(1, np.float32), s, h, slope), "torch trains")""",
)
CHANGES = {  # family → program, file of the helper, a piece of it, another one
    "token networks": (TOKENS, "exponentials.py", "32: (80.0,", "32: (0.25,"),
    "sparse codes": (CODES, "multiply_add.py", "builder.fadd(c,", "builder.fsub(c,"),
}


@pytest.fixture
def library(tmp_path):
    """A copy of the library, below the folder of numba's caches."""
    shutil.copytree(ROOT / "lib" / "contrastive_dynamics", tmp_path / "lib" / "contrastive_dynamics")
    return tmp_path


def start(program: str, folder) -> subprocess.Popen:
    env = os.environ | {"PYTHONPATH": str(folder / "lib"), "NUMBA_CACHE_DIR": str(folder / "kept")}
    return subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True)


def result(process: subprocess.Popen) -> list:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return json.loads(said)


@pytest.mark.parametrize("family", CHANGES)
def test_a_changed_helper_of_another_file_is_seen(library, family):
    program, file, old, new = CHANGES[family]
    before, hits = result(start(program, library))
    assert hits == 0 and result(start(program, library)) == [before, 1]
    path = library / "lib" / "contrastive_dynamics" / "compiled" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    after, hits = result(start(program, library))
    assert after != before and hits == 0


def test_two_processes_that_compile_at_once_make_the_same(library):
    both = [result(process) for process in [start(TOKENS, library) for _ in range(2)]]
    assert both[0][0] == both[1][0] and result(start(TOKENS, library)) == [both[0][0], 1]


def test_of_two_processes_that_try_a_family_at_once_one_compiles(library):
    both = [result(process) for process in [start(ALONE, library) for _ in range(2)]]
    assert both[0][0] == both[1][0] and sorted(hits for _, hits in both) == [0, 1]


@pytest.mark.parametrize("refused", [OSError("no locks here"), NotImplementedError()])
def test_where_files_cannot_be_locked_each_process_compiles_for_itself(monkeypatch, tmp_path, refused):
    import filelock

    from contrastive_dynamics.compiled import kept_functions

    def acquire(self, *of, **how):
        raise refused

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(filelock.BaseFileLock, "acquire", acquire)
    with kept_functions.one_process_at_a_time():
        assert kept_functions.compiled_once(abs_of)(-2.0) == 2


def test_an_error_of_a_trial_is_its_own_and_the_lock_is_given_back(monkeypatch, tmp_path):
    from contrastive_dynamics.compiled import kept_functions

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    for _ in range(2):
        with pytest.raises(OSError, match="of the trial"), kept_functions.one_process_at_a_time():
            raise OSError("of the trial")


def test_the_name_of_the_folder_covers_every_file_and_the_settings_of_others_stay(monkeypatch, tmp_path):
    from numba.core import config

    from contrastive_dynamics.compiled import kept_functions

    monkeypatch.setattr(config, "CACHE_DIR", "another")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    shutil.copytree(ROOT / "lib" / "contrastive_dynamics" / "compiled", tmp_path / "compiled")
    monkeypatch.setattr(kept_functions, "__file__", str(tmp_path / "compiled" / "kept_functions.py"))
    names, paths = [kept_functions.kept_in()], sorted((tmp_path / "compiled").glob("*.py"))
    for path in paths:
        path.write_text(path.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
        names.append(kept_functions.kept_in())
    assert len(set(names)) == len(names) > 6 and {name.parent for name in names} == {tmp_path / "kept"}
    made = kept_functions.compiled_once(abs_of)
    assert config.CACHE_DIR == "another" and os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "kept")
    assert made(-2.0) == 2 and list(names[-1].rglob("*.nbi"))


def test_a_function_that_numba_would_keep_elsewhere_is_refused(monkeypatch, tmp_path):
    from contrastive_dynamics.compiled import kept_functions

    (tmp_path / "file").write_text("")
    monkeypatch.setattr(kept_functions, "kept_in", lambda: tmp_path / "file")
    with pytest.raises(OSError, match="numba keeps abs_of elsewhere"):
        kept_functions.compiled_once(abs_of)


def abs_of(x):
    return -x if x < 0 else x
