"""What the programs of a page print, below each; `python tests/tools/page_outputs.py kernels` puts it into the page."""

import contextlib
import io
import re
import sys

from page_code import BOOK

NUMBER = re.compile(r"-?\d+\.\d+")
_PROGRAM = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<shown>\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def run(text: str) -> list[str]:
    """What each Python block of a page prints; they run one after the other in one namespace."""
    namespace, printed = {}, []
    for program in _PROGRAM.finditer(text):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(program["code"], namespace)
        printed.append(output.getvalue())
    return printed


def shown(text: str) -> list[str]:
    """What the page shows below each Python block, empty where it shows nothing."""
    blocks = (program["shown"] or "" for program in _PROGRAM.finditer(text))
    return [block.removeprefix("\n```text\n").removesuffix("```\n") for block in blocks]


def numbers(text: str) -> list[float]:
    """The numbers with a decimal point, in order."""
    return [float(number) for number in NUMBER.findall(text)]


def with_outputs(text: str, printed: list[str]) -> str:
    """The page with these outputs in place of those that it shows."""
    outputs = iter(printed)

    def block(program: re.Match) -> str:
        output = next(outputs)
        return f"```python\n{program['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return _PROGRAM.sub(block, text)


if __name__ == "__main__":
    for path in (BOOK / f"{page}.md" for page in sys.argv[1:]):
        text = path.read_text(encoding="utf-8")
        path.write_text(with_outputs(text, run(text)), encoding="utf-8")
