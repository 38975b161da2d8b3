"""One run of a sweep, on a worker."""

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
    """What a worker is told: only plain values, so that any version of Python can read them."""

    root: str
    chapter: str
    profile: str
    parameters: dict
    out: str
    code: str


@functools.cache
def _code(files: ChapterFiles) -> str:
    """The code that this process would run; a worker reads it once."""
    return code_digest(ChapterCode(files), Claims.load(files.claims))


def run_job(job: Job) -> dict:
    """Make one run, on a worker: `{"status": "done" | "failed" | "refused" | "full", "said": reason, "seconds": …}`.

    `seconds` is missing if another worker had already made the run. Nothing is raised, since a cluster may not know the
    exception; a worker that is killed reports nothing.
    """
    out, began, said = Path(job.out), time.monotonic(), ""
    if (out / "run.json").is_file():  # a worker that lost its client may have continued
        return {"status": "done", "said": ""}
    try:
        _make(job, out)
    except DiskFull as error:
        return {"status": "full", "said": str(error)}
    except Refused as error:
        return {"status": "refused", "said": str(error)}
    except BookError as error:
        said = str(error)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    if (out / "run.json").is_file():  # no matter who made it
        return {"status": "done", "said": "", "seconds": time.monotonic() - began}
    return {"status": "failed", "said": said or "the run left no result"}


def _make(job: Job, out: Path) -> None:
    files = ChapterFiles(Path(job.root), job.chapter)
    if not out.parent.is_dir():
        raise BookError(f"{out.parent} is not on {socket.gethostname()}: workers must share the sweep's folder")
    if _code(files) != job.code:
        raise BookError(f"{socket.gethostname()} has other code of the book: workers must have that of the sweep")
    runs.run_beside(runs.Plan(files, job.parameters, job.profile, out))
