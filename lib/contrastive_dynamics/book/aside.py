"""Files that are whole or not there: written aside and moved into place."""

import os
from pathlib import Path


def write_aside(path: Path, text: str) -> None:
    """Write a text file by way of NAME.new beside it, which does not outlive a failure."""
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_text(text, encoding="utf-8", newline="")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
