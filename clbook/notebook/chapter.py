"""A chapter while its notebook runs: it checks parameters, judges claims, and makes the stamp of the run."""

import datetime
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ..claims.claim_table import Claim, Claims
from ..claims.judging import Reading, Verdict, judge, judge_all
from ..common import environment
from ..common.environment import device_of
from ..common.errors import BookError, Refused
from ..common.formats import loads, place_of, text_of
from ..common.parameters import effective, seed_block
from ..common.progress import progress, write_progress
from ..common.sources import ChapterFiles
from ..common.subprocess_call import bind_workers
from ..provenance.digests import ALGORITHM, ChapterDigests
from ..provenance.library import Library
from ..provenance.slices import ChapterCode
from ..provenance.stamps import FORMAT, pictures_of, provenance_of, seal
from . import colours, display, glue
from .card import card, card_not_judged
from .pieces import Keeper

T = TypeVar("T")


class Chapter:
    """One notebook of a chapter while it runs: its parameters, claims and readings so far."""

    def __init__(self, files: ChapterFiles, values: dict[str, object]):
        self.code = ChapterCode(files, Library().read())  # read now, so that edits during the run have no effect
        known = self.code.parameters
        self.files, self.started = files, time.perf_counter()
        self.parameters = effective(known, {k: values[k] for k in known if k in values}, files.name)
        self.is_default = self.parameters == {p.name: p.default for p in known.values()}
        self.claims = _load_claims(files)
        self.device = device_of(self.parameters.get("device", "cpu"))
        self.readings: dict[str, Reading] = {}
        self.outside_regime: set[str] = set()
        self.peak_mb = 0.0  # while workers were there, which end when they have been idle for minutes
        self.cells_run = 0  # since the chapter was opened, for the progress bar
        self.seconds: dict[int, float] = {}  # per cell, by its number among those that run
        glue.DRAWN.clear()
        glue.MOVING.clear()
        self._watch_cells()

    def check(self, make: Callable[..., T], *args, **options) -> T:
        """`make(*args, **options)`, with Refused in place of ValueError; for checks of parameters before any work."""
        try:
            return make(*args, **options)
        except ValueError as error:
            raise Refused(f"{self.files.name}: {error}") from None

    @property
    def data(self) -> str:
        return self.parameters.get("data", "generated")

    @property
    def seeds(self) -> range:
        """The block of seeds of this run."""
        return seed_block(self.parameters["first_seed"], self.parameters["seeds"])

    def judge(
        self,
        claim: str,
        *,
        observed,
        control,
        mended=None,
        outside=None,
        planted=None,
        advocate=None,
        regime: bool = True,
    ) -> display.Line:
        """Judge a claim's statistics by its rule and return the card to show.

        A statistic is a number, a sequence with one value per seed, a share `{"hits": k, "trials": n}`, or a
        dictionary from cases to these, of which the worst counts; or a function without arguments that returns one.
        If the claim has the field `clear`, a case has one value per network, and cases may be grouped in a dictionary
        of dictionaries. `control` is the nearest plausible mistake, run through the same code: it must miss the rule.
        `advocate` is the strongest reading under which the authors are right: if it meets the rule, the verdict is at
        most `with conditions`. If `regime` is false, the run is outside the claim's regime (for example, its training
        is cut short): the claim is not judged, and no function is called.
        """
        if not regime:
            self.outside_regime.add(claim)
            return card_not_judged(self._row(claim), claims=self.claims)
        arms = {"observed": observed, "control": control, "mended": mended}
        arms |= {"outside": outside, "planted": planted, "advocate": advocate}
        reading = Reading.of(**{name: arm() if callable(arm) else arm for name, arm in arms.items()})
        self.readings[claim] = reading
        if self.claims is None:
            return display.unjudged_line(claim, reading)
        return card(self._verdict(claim), claims=self.claims)

    def _row(self, claim: str) -> Claim:
        """The claim's row, or an empty one if the rules cannot be read; raises BookError if it has no row."""
        if self.claims is None:
            return Claim(claim, "", "", "")
        if claim not in self.claims.rows:
            raise BookError(f"claim {claim!r} is not in {place_of(self.files.claims)}")
        return self.claims.rows[claim].of_run(self.parameters)

    def _verdict(self, claim: str) -> Verdict:
        return judge(self._row(claim), self.readings[claim], self.data)

    def progress(self, items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        """Iterate with a progress bar, which shows the remaining time."""
        return progress(items, label, self.cells_run, total)

    def piece(self, label: str, compute: Callable[..., T], *args, **options) -> T:
        """Call a long computation; `clbook record` keeps its result on disk, to resume after an interruption."""
        keeper = _PIECES.get("keeper")
        return keeper(label, compute, *args, **options) if keeper else compute(*args, **options)

    def library_piece(self, label: str, compute: Callable[..., T], *args, **options) -> T:
        """As `piece`, for a library function whose result depends only on `args` (see `pieces.Keeper`).

        The function gets a keyword argument `watch`, which wraps an iterable in a progress bar.
        """
        keeper = _PIECES.get("keeper")
        options["watch"] = lambda items: self.progress(items, label)
        return keeper.library(label, compute, *args, **options) if keeper else compute(*args, **options)

    def benchmark(self, name: str) -> dict:
        """A stored benchmark, `records/benchmarks/NAME.json`; a reading made of it is stale once the file changes."""
        return loads(text_of(self.files.benchmark(name)))

    def close(self) -> display.Line:
        """The chapter's last line: counts of verdicts, time and memory; its output contains the stamp."""
        verdicts = judge_all(self.claims, self.readings, self.data) if self.claims else {}
        return display.summary_table(verdicts, self.stamp())

    def stamp(self) -> dict:
        """The stamp of the run so far: readings and their provenance, sealed."""
        digests = ChapterDigests(self.code, self.parameters)
        readings = {claim: self.readings[claim].to_json() for claim in self.code.claims if claim in self.readings}
        run = [claim for claim in self.code.claims if claim in readings or claim in self.outside_regime]
        return seal(
            {
                "format": FORMAT,
                "algorithm": ALGORITHM,
                "chapter": self.files.name,
                "profile": os.environ.get("CLBOOK_PROFILE") or ("default" if self.is_default else "custom"),
                "data": self.data,
                "parameters": self.parameters,
                "versions": environment.versions(),
                "device": environment.device_name(self.device),
                **environment.arithmetic(),
                "seconds": round(time.perf_counter() - self.started, 1),
                "peak_mb": max(self.peak_mb, environment.peak_megabytes(self.device)),
                "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                **provenance_of(digests, run, self.claims and self.claims.rows, self.seconds),
                "pictures": pictures_of(digests, glue.DRAWN, glue.MOVING),
                "later": [],
                "readings": readings,
            }
        )

    def _watch_cells(self) -> None:
        """Time each cell and report it to the progress bar; does nothing outside IPython."""
        try:
            shell = get_ipython()  # noqa: F821
        except NameError:
            return
        numbers = {cell.source.strip(): n for n, cell in enumerate(self.code.cells)}
        begun = [time.perf_counter(), ""]

        def before(info) -> None:
            begun[:] = time.perf_counter(), info.raw_cell.strip()
            write_progress(self.cells_run, 0.0)

        def after(result) -> None:
            self.took(numbers.get(begun[1]), time.perf_counter() - begun[0])

        shell.events.register("pre_run_cell", before)
        shell.events.register("post_run_cell", after)

    def took(self, cell: int | None, seconds: float) -> None:
        """Record that a cell has ended; its number is None if it is not in the chapter's source."""
        self.cells_run += 1
        self.peak_mb = max(self.peak_mb, environment.peak_megabytes(self.device))
        if cell is not None:
            self.seconds[cell] = self.seconds.get(cell, 0.0) + seconds


_PIECES: dict[str, Keeper] = {}


def _load_claims(files: ChapterFiles) -> Claims | None:
    try:
        return Claims.load(files.claims)
    except ImportError:  # no YAML reader: the measured values are stored here and judged on a machine that has one
        return None


def open_chapter(name: str, values: dict[str, object]) -> Chapter:
    """Check a chapter's parameters (pass `globals()`), set the style of figures, and return the chapter.

    `name` is that of the notebook: NAME, or NAME-appendix. Raises BookError for invalid parameters.
    """
    colours.use_style()
    bind_workers()
    return Chapter(ChapterFiles.find_notebooks(name).notebooks[0], values)
