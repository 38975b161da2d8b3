"""Otter's tests on one submission in a process of its own, of which nothing is left when it has ended."""

import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from ..common.errors import BookError, cut
from ..common.subprocess_call import TookTooLong, run_in_process
from . import in_sheet

_MARK = "CLBOOK_SUBMISSION"  # in the environment of every process that a submission starts
_PATIENCE = 5.0  # seconds for killed processes to be gone
_STARTUP = """\
import types as _types
_checks = _types.ModuleType("sheet_checks")
exec({source!r}, _checks.__dict__)
_checks.limit_cases({seconds!r})
_checks.limit_cells(get_ipython(), {seconds!r})
del _types, _checks
"""


class NotGraded(BookError):
    """Why a submission has no results."""


@dataclass(frozen=True)
class Case:
    """The result of a test case, and what it says if it failed: the assertion's message, the test's own hint."""

    hidden: bool
    passed: bool
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """The points of a question and its test cases."""

    score: float
    cases: tuple[Case, ...] = ()


def tested(notebook: bytes, bundle: Path, seconds: float) -> dict[str, Question]:
    """The results of a notebook by question, at most `seconds` in all, and a sixth of that, 20 s at most, for a case.

    Raises NotGraded, with the reason, if there are none.
    """
    mark = uuid4().hex
    with tempfile.TemporaryDirectory(prefix="clbook-", ignore_cleanup_errors=True) as work:
        try:
            results = run_in_process(_otter, Path(work), notebook, bundle, mark, seconds, seconds=seconds)
        except TookTooLong:
            raise NotGraded(f"ran longer than {seconds:g} s") from None
        except Exception as error:  # of whatever kind a process or its results raise
            raise NotGraded(_line(f"{type(error).__name__}: {error}")) from None
        finally:
            _end_marked(mark)
    if isinstance(results, str):
        raise NotGraded(_line(results))
    if not results:
        raise NotGraded("its run ended before the results were written")
    return results


def _line(text: str) -> str:
    return cut(" ".join(text.split()), 100)


def _otter(work: Path, notebook: bytes, bundle: Path, mark: str, seconds: float) -> dict[str, Question] | str:
    """The results, or why there are none; runs in the new process, whose kernel is this interpreter's."""
    startup = work / "ipython" / "profile_default" / "startup" / "limits.py"
    startup.parent.mkdir(parents=True)
    source = Path(in_sheet.__file__).read_text(encoding="utf-8")
    startup.write_text(_STARTUP.format(source=source, seconds=min(in_sheet.SECONDS, seconds / 6)), encoding="utf-8")
    folders = dict.fromkeys(("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"), str(work / "jupyter"))
    os.environ |= {_MARK: mark, "JUPYTER_PREFER_ENV_PATH": "1", "IPYTHONDIR": str(work / "ipython"), **folders}
    os.environ |= {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "TMPDIR": str(work)}
    for name in ("JUPYTER_PATH", "MPLBACKEND"):
        os.environ.pop(name, None)
    tempfile.tempdir = str(work)
    (work / "submission.ipynb").write_bytes(notebook)
    os.chdir(work)
    from otter.run import main

    _await_start(seconds)
    try:
        results = main(str(work / "submission.ipynb"), autograder=str(bundle), output_dir=None, no_logo=True)
    except Exception as error:  # of whatever kind otter or the kernel raises
        return f"{type(error).__name__}: {error}"
    return {str(name): _question(file) for name, file in results.results.items()}


def _await_start(seconds: float) -> None:
    """Let otter's kernel start as late as the submission may run; of itself otter waits for 60 s."""
    from nbconvert import preprocessors
    from traitlets import Integer

    class Patient(preprocessors.ExecutePreprocessor):
        startup_timeout = Integer(max(1, round(seconds)))

    preprocessors.ExecutePreprocessor = Patient


def _question(file) -> Question:
    cases = [
        Case(each.test_case.hidden, each.passed, () if each.passed else _said(each)) for each in file.test_case_results
    ]
    return Question(float(file.score), tuple(cases))


def _said(result) -> tuple[str, ...]:
    """The assertion's message and the test's own hint; the message alone where an answer is open or endless."""
    first, _, rest = str(result.message).partition("\n")
    if rest.startswith(("`", in_sheet.STOPPED)) and "\n" not in rest:
        return (cut(rest, 300),)
    last = (rest or first).rpartition("\n")[2].removeprefix("AssertionError: ")
    told = (cut(last, 300), str(result.test_case.failure_message or ""))
    return tuple(dict.fromkeys(text for text in told if text))


def _end_marked(mark: str) -> None:
    """Kill every process whose environment has this mark, also in a session of its own, until there is none."""
    import psutil

    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        alive = [process for process in psutil.process_iter() if _is_marked(process, mark)]
        if not alive:
            return
        for process in alive:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=0.5)


def _is_marked(process, mark: str) -> bool:
    import psutil

    with suppress(psutil.Error, OSError):
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(_MARK) == mark
    return False
