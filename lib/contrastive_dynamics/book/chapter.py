"""The notebook's side of the book: checked parameters in, judged claims and a stamp out."""

import datetime
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from . import display, provenance
from .claims import Claims, Reading, Verdict, judge, judge_all
from .errors import BookError
from .parameters import effective, read_parameters, read_profile
from .pieces import Keeper
from .progress import progress, write_progress
from .sources import ChapterFiles
from .statistics import FAMILY_LEVEL

T = TypeVar("T")


def resolve_device(wanted: str) -> str:
    """`auto` is CUDA where there is one, else the CPU (never MPS: it has no float64); raises BookError."""
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise BookError("device: got 'cuda', but this machine offers none; allowed here are auto, cpu")
    return wanted


class Chapter:
    """One chapter while it runs: its parameters, its claims, what was measured so far."""

    def __init__(self, files: ChapterFiles, given: dict[str, object]):
        cells = files.cells()
        known = read_parameters(cells, files.source.name)
        self.files, self.started = files, time.perf_counter()
        self.parameters = effective(known, {k: given[k] for k in known if k in given}, files.name)
        self.is_default = self.parameters == {p.name: p.default for p in known.values()}
        self.code = chapter_code(cells)
        self.claims = _load_claims(files)
        self.device = resolve_device(self.parameters.get("device", "cpu"))
        self.readings: dict[str, Reading] = {}
        self.outside_regime: set[str] = set()
        self.cell_seconds: list[float] = []
        self._watch_cells()

    def check(self, make: Callable[..., T], *args, **options) -> T:
        """Call a kernel's check before any work; what it refuses (ValueError) is a BookError of one line."""
        try:
            return make(*args, **options)
        except ValueError as refused:
            raise BookError(f"{self.files.name}: {refused}") from None

    @property
    def data(self) -> str:
        return self.parameters.get("data", "generated")

    @property
    def seeds(self) -> range:
        """The block of seeds of this run."""
        first = self.parameters["first_seed"]
        return range(first, first + self.parameters["seeds"])

    def judge(
        self, claim: str, *, observed, control, mended=None, outside=None, planted=None, regime: bool = True
    ) -> display.Line:
        """Hold what was measured against the claim's rule and show id and verdict.

        A statistic is a number, a sequence with one value a seed, a share `{"hits": k, "trials": n}`, or a
        dictionary case → one of these, of which the worst counts. `control` is the nearest plausible mistake,
        run through the same code: it must miss the rule. Claims decided by chance are judged at the strictest
        level of Holm's correction here; `close` applies the full correction. Where `regime` is false the run is not of
        the claim's regime (a training cut short), and the claim is not judged; an arm may be a function, which then is
        not called.
        """
        if not regime:
            self.outside_regime.add(claim)
            return display.not_judged_line(claim)
        arms = {"observed": observed, "control": control, "mended": mended, "outside": outside, "planted": planted}
        reading = Reading.of(**{name: arm() if callable(arm) else arm for name, arm in arms.items()})
        self.readings[claim] = reading
        if self.claims is None:
            return display.unjudged_line(claim, reading)
        return display.verdict_line(self._verdict(claim))

    def values(self, claim: str) -> display.Line:
        """Show what was measured for a claim, its control and its rule."""
        if claim in self.outside_regime:
            return display.no_values_line(claim)
        if self.claims is None:
            return display.unjudged_line(claim, self.readings[claim])
        return display.values_line(self._verdict(claim))

    def _verdict(self, claim: str) -> Verdict:
        if claim not in self.claims.rows:
            raise BookError(f"claim {claim!r} does not stand in {self.files.claims.name}")
        row = self.claims.rows[claim]
        level = FAMILY_LEVEL / self.claims.by_chance if row.by_chance else FAMILY_LEVEL
        return judge(row, self.readings[claim], level, self.data)

    def progress(self, items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        """Iterate with one progress bar (remaining time included)."""
        return progress(items, label, len(self.cell_seconds), total)

    def piece(self, label: str, compute: Callable[..., T], *args, **options) -> T:
        """Compute a long part. `clbook record` keeps finished pieces and goes on from them; elsewhere a plain call."""
        keeper = _PIECES.get("keeper")
        return keeper(label, compute, *args, **options) if keeper else compute(*args, **options)

    def library_piece(self, label: str, compute: Callable[..., T], *given, **bystanders) -> T:
        """As `piece`, for a function of the library of which only `given` decides the result (see `pieces.Keeper`).

        It gets a keyword `watch`, which wraps an iterable in a progress bar.
        """
        keeper = _PIECES.get("keeper")
        bystanders["watch"] = lambda items: self.progress(items, label)
        return keeper.library(label, compute, *given, **bystanders) if keeper else compute(*given, **bystanders)

    def close(self) -> display.Line:
        """The chapter's last line: counts, time, memory; it carries everything that a test judges again."""
        verdicts = judge_all(self.claims, self.readings, self.data) if self.claims else {}
        return display.summary_table(verdicts, self.stamp())

    def stamp(self) -> dict:
        """The stored result: readings and what made them."""
        rules = [c.rule_for_hash() for c in self.claims.rows.values()] if self.claims else []
        return {
            "chapter": self.files.name,
            "profile": os.environ.get("CLBOOK_PROFILE") or ("default" if self.is_default else "custom"),
            "data": self.data,
            "parameters": self.parameters,
            "hash": provenance.result_hash(self.code, rules, self.parameters),
            "versions": provenance.versions(),
            "device": provenance.device_name(self.device),
            "seconds": round(time.perf_counter() - self.started, 1),
            "peak_mb": provenance.peak_megabytes(self.device),
            "cell_seconds": [round(s, 2) for s in self.cell_seconds],
            "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "readings": {claim: reading.to_json() for claim, reading in self.readings.items()},
        }

    def _watch_cells(self) -> None:
        """Time each cell and tell the drawn bar; does nothing outside IPython."""
        try:
            shell = get_ipython()  # noqa: F821
        except NameError:
            return
        begun = [time.perf_counter()]

        def before(info) -> None:
            begun[0] = time.perf_counter()
            write_progress(len(self.cell_seconds), 0.0)

        def after(result) -> None:
            self.cell_seconds.append(time.perf_counter() - begun[0])

        shell.events.register("pre_run_cell", before)
        shell.events.register("post_run_cell", after)


_PIECES: dict[str, Keeper] = {}


def chapter_code(cells) -> str:
    """The code cells of a chapter as one program."""
    return "\n".join(cell.source for cell in cells if not cell.markdown)


def _load_claims(files: ChapterFiles) -> Claims | None:
    try:
        return Claims.load(files.claims)
    except ImportError:  # no YAML reader: the measured values are stored and judged where there is one
        return None


def expected_hash(files: ChapterFiles, parameters: dict) -> str:
    """The hash that a result made by the present code would carry."""
    rules = [c.rule_for_hash() for c in Claims.load(files.claims).rows.values()]
    return provenance.result_hash(chapter_code(files.cells()), rules, parameters)


def profile_parameters(files: ChapterFiles, profile: str) -> dict[str, object]:
    """The effective parameters of a profile; raises BookError for an unknown one."""
    known = read_parameters(files.cells(), files.source.name)
    if profile == "default":
        return effective(known, {}, files.name)
    path = files.profile(profile)
    if not path.is_file():
        there = ["default", *sorted(p.name.split(".")[1] for p in path.parent.glob(f"{files.name}.*.yaml"))]
        raise BookError(f"{files.name} has no profile {profile!r}, there are: {', '.join(there)}")
    return effective(known, read_profile(path), path.name)


def open_chapter(name: str, given: dict[str, object]) -> Chapter:
    """Check a chapter's parameters (pass `globals()`) and begin it; raises BookError before any work."""
    return Chapter(ChapterFiles.find(name), given)
