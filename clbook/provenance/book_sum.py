"""One sum over everything that the book's results rest on, for a time stamp by somebody else."""

import hashlib
from pathlib import Path

PARTS = ("chapters/*/claims.yaml", "chapters/*.ipynb", "records/**/*", "proofs/*")


def sums(root: Path) -> str:
    """A line `SUM  PATH` for each file of claims, stored results and proofs, sorted, as `sha256sum` writes it."""
    found = {path.relative_to(root).as_posix(): path for part in PARTS for path in root.glob(part) if path.is_file()}
    kept = {name: path for name, path in found.items() if not any(part.startswith(".") for part in Path(name).parts)}
    return "".join(f"{hashlib.sha256(kept[name].read_bytes()).hexdigest()}  {name}\n" for name in sorted(kept))


def book_sum(root: Path) -> str:
    """The sum of the list of `sums`: it changes whenever one of these files does, or one comes or goes."""
    return hashlib.sha256(sums(root).encode()).hexdigest()
