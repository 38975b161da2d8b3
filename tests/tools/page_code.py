"""The code that a page of the book shows, for the tests that run it."""

import re

from checkout import ROOT

BOOK = ROOT / "book"


def code_blocks(page: str) -> list[tuple[str, str]]:
    """Language and code of each block of `book/PAGE.md`, in order."""
    text = (BOOK / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```(sh|python|yaml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shell_lines(page: str) -> list[str]:
    """The lines of its shell blocks, joined if a backslash continues them."""
    shell = (code for kind, code in code_blocks(page) if kind == "sh")
    return [line.strip() for code in shell for line in code.replace("\\\n", " ").splitlines()]
