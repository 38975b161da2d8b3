"""A run of a sweep, on a worker."""

import functools
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from ..claims.claim_table import Claims
from ..commands import runs
from ..commands.jupyter_kernel import DiskFull
from ..common.errors import BookError, Refused
from ..common.sources import ChapterFiles
from ..provenance.digests import code_digest
from ..provenance.slices import ChapterCode


@dataclass(frozen=True)
class Job:
    """What a worker receives: only plain values, so that any version of Python can unpickle them."""

    root: str
    chapter: str
    profile: str
    parameters: dict
    out: str
    code: str
    only: tuple[str, ...] = ()


@functools.cache
def _code(files: ChapterFiles) -> str:
    """The digest of the code that this process would run; computed once per worker."""
    return code_digest(ChapterCode(files), Claims.load(files.claims))


def run_job(job: Job) -> dict:
    """Make a run: `{"status": "done" | "failed" | "refused" | "full", "message": reason, "seconds": …}`. Idempotent.

    `seconds` is missing if another worker had already made the run. Nothing is raised, since the client may lack the
    exception's class; a worker that is killed returns nothing.
    """
    out, began, message = Path(job.out), time.monotonic(), ""
    if (out / "run.json").is_file():  # a worker that lost its client may have continued
        return {"status": "done", "message": ""}
    try:
        _make(job, out)
    except DiskFull as error:
        return {"status": "full", "message": error.reason}
    except Refused as error:
        return {"status": "refused", "message": str(error)}
    except BookError as error:
        message = str(error)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    if (out / "run.json").is_file():  # no matter who made it
        return {"status": "done", "message": "", "seconds": time.monotonic() - began}
    return {"status": "failed", "message": message or "the run left no result"}


def _make(job: Job, out: Path) -> None:
    files = ChapterFiles(Path(job.root), job.chapter)
    if not out.parent.is_dir():
        raise BookError(f"{out.parent} is not on {socket.gethostname()}: workers must share the sweep's folder")
    if _code(files) != job.code:
        raise BookError(f"{socket.gethostname()} has other code of the book: workers must have that of the sweep")
    runs.run_beside(runs.Plan(files, job.parameters, job.profile, out, job.only))
