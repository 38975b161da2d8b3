"""Functions that numba compiles at their first use and keeps for other processes, until any source of them changes.

Numba keeps a function by its own file alone, though its code contains those that it calls. Here each lies in a folder
named by the sum of all files of this room. These are all its sources, as the room imports no other one.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from threading import Lock

SPACE = 2**22  # bytes that must be free: more than one family of functions takes
_ONE_AT_A_TIME = Lock()  # numba's setting is that of the process


def compiled_once(function: Callable) -> Callable:
    """The function compiled by numba, without Python's lock, where 1/0 is infinite; kept in `kept_in()`.

    Raises: ImportError without numba; OSError as `kept_in` and if numba chose another folder, named by no source.
    """
    from numba import njit
    from numba.core import config

    with _ONE_AT_A_TIME:
        folder, before = kept_in(), config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            made = njit(cache=True, nogil=True, error_model="numpy")(function)
        finally:
            config.CACHE_DIR = before
    if not (config.DISABLE_JIT or Path(made.stats.cache_path).is_relative_to(folder)):
        raise OSError(f"numba keeps {function.__name__} elsewhere than in {folder}")
    return made


@contextlib.contextmanager
def one_process_at_a_time() -> Iterator[None]:
    """While this process may be compiling, others that want to compile the same wait, and then find it kept.

    Nobody waits longer than two minutes, or where files cannot be locked: they compile for themselves, as well.
    Cost: 1 ms.
    """
    from filelock import FileLock

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError):  # a timeout is an OSError, too
            held.enter_context(FileLock(kept_in() / "compiling.lock", timeout=120))
        yield


def kept_in() -> Path:
    """The folder of compiled functions, below NUMBA_CACHE_DIR where that is set and else below the user's caches.

    Its name is a sum of the room's files, of the compiler's versions and of whether it calls Intel's vector functions.
    Raises: OSError unless the folder takes SPACE bytes.
    Cost: 1 ms; the first time 5 ms.
    """
    import llvmlite
    import numba
    from pooch import os_cache

    compiler = f"{numba.__version__} {llvmlite.__version__} {numba.config.USING_SVML}"
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    made_of = hashlib.sha256(b"\0".join([compiler.encode(), *texts])).hexdigest()
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or os_cache("contrastive-dynamics")) / made_of[:16]
    _require_space(folder)
    return folder


@cache
def _require_space(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as trial:
        trial.write(bytes(SPACE))
