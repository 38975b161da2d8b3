"""A reference of the kernels, a page a room, made from their sources alone: nothing is imported, torch is not needed.

The house's docstrings are read as they are written: a first sentence, paragraphs, then `Args:`, `Returns:`, `Raises:`,
`Source:`, `Cost:` at the beginning of a line. Each function says which claims reach it, by what stored runs executed.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from ..notebook.claim_result import ClaimResult
from ..provenance.library import Library, Module, reference_page
from ..provenance.stamps import reaches
from .claim_marks import in_html, typeset

_SECTION = re.compile(r"^(Args|Fields|Returns|Yields|Raises|Source|Cost|Memory|Error): *(.*)$")
_NAMED = re.compile(r"^(\w+(?:, \w+)*|\*+\w+): (.*)$")  # an argument, or several, and what it is
_CODE = re.compile(r"`+([^`]+)`+")
_SHOWN = ast.FunctionDef | ast.ClassDef
Reached = Mapping[str, list[ClaimResult]]  # dotted name of a definition → the claims whose runs executed it


def rooms(library: Library) -> dict[str, list[Module]]:
    """Page of the reference → the modules of a room with something to show, by name; the room's face comes first."""
    found: dict[str, list[Module]] = {}
    for name in sorted(library.names()):
        module = library.module(name)
        if name.count(".") and (module.is_package or module.definitions):
            found.setdefault(reference_page(name), []).append(module)
    return {room: modules for room, modules in found.items() if len(modules) > 1}


def reached_by(
    results: Iterable[ClaimResult], stamps: Mapping[str, Mapping[str, dict]]
) -> dict[str, list[ClaimResult]]:
    """Dotted name → the claims whose headline's run executed it, in the order of the claims page."""
    found: dict[str, list[ClaimResult]] = {}
    for result in results:
        stamp = stamps.get(result.chapter, {}).get(result.profile)
        for name in reaches(stamp, result.claim.id) if stamp and result.claim.id in stamp["claims"] else ():
            found.setdefault(name, []).append(result)
    return found


def reference_pages(library: Library, reached: Reached) -> dict[str, str]:
    """Room → the Markdown of its page, for an `include`."""
    return {room: "\n".join(_page(modules, reached)) for room, modules in rooms(library).items()}


def _page(modules: list[Module], reached: Reached) -> Iterator[str]:
    own = {node.name: f"{module.name}.{node.name}" for module in modules for node in _public(module.tree)}
    for module in modules:
        if not module.is_package:
            title = ": ".join(module.name.replace("_", " ").split(".")[2:])
            yield f'\n## {title[:1].upper()}{title[1:]}\n\n<span id="{module.name}"></span>\n'
        yield from _text(ast.get_docstring(module.tree) or "", own)
        yield f"\n```{{py:currentmodule}} {module.name}\n```\n"
        for node in _public(module.tree):
            yield from _entry(node, own, reached.get(f"{module.name}.{node.name}", []))


def _entry(node: ast.AST, own: dict[str, str], claims: list[ClaimResult], fence: str = "::::") -> Iterator[str]:
    """A function, or a class with its methods, as a directive of Sphinx's own: it gets an address and is searched."""
    is_class = isinstance(node, ast.ClassDef)
    kind = "class" if is_class else "method" if fence == ":::" else "function"
    yield f"\n{fence}{{py:{kind}}} {_signature(node)}"
    yield from _text(ast.get_docstring(node) or "", own)
    if claims:
        yield _claims(claims)
    for method in _public(node) if is_class else ():
        if ast.get_docstring(method) and isinstance(method, ast.FunctionDef):
            yield from _entry(method, own, [], ":::")
    yield f"{fence}\n"


def _public(parent: ast.AST) -> Iterator[_SHOWN]:
    return (node for node in parent.body if isinstance(node, _SHOWN) and not node.name.startswith("_"))


def _signature(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef):
        given = ast.unparse(node.args)
        gives = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{node.name}({re.sub(r'^self(, )?', '', given)}){gives}"
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
    given = [ast.unparse(part).replace(" = field(", "=field(") for part in fields if not part.target.id.startswith("_")]
    return f"{node.name}({', '.join(given)})"


def _text(docstring: str, own: dict[str, str]) -> Iterator[str]:
    """A docstring as HTML: paragraphs, tables and blocks, and a list of arguments, results, errors, source, cost."""
    body, sections = [], []
    for line in docstring.splitlines():
        if match := _SECTION.match(line):
            sections.append((match[1], [match[2]] if match[2] else []))
        else:
            (sections[-1][1] if sections else body).append(line)
    for paragraph in "\n".join(body).split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if all(line.startswith("|") for line in lines):
            yield f"\n{paragraph}\n"
        elif any(line.startswith(("  ", "- ")) for line in lines):
            yield f"\n<pre>{_inline(paragraph, own, keep=True)}</pre>\n"
        else:
            yield f"\n<p>{_inline(' '.join(lines), own)}</p>\n"
    rows = "".join(f"<dt>{name}</dt><dd>{_entries(lines, own)}</dd>" for name, lines in sections)
    yield f'\n<dl class="kernel-facts">{rows}</dl>\n' if rows else ""


def _entries(lines: list[str], own: dict[str, str]) -> str:
    """What stands below `Args:` and the like: one line for each argument, which goes on where one is indented more."""
    lines = [line for line in lines if line.strip()]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    entries: list[str] = []
    for line, indent in zip(lines, indents, strict=True):
        if entries and (indents[0] == 0 or indent > indents[0]):  # a text that begins beside its heading is one
            entries[-1] += f" {line.strip()}"
        else:
            entries.append(line.strip())
    return "<br>".join(_argument(entry, own) for entry in entries)


def _argument(entry: str, own: dict[str, str]) -> str:
    match = _NAMED.match(entry)
    return f"<code>{escape(match[1])}</code> {_inline(match[2], own)}" if match else _inline(entry, own)


def _inline(text: str, own: dict[str, str], keep: bool = False) -> str:
    """Text as HTML: code that names a function of the room links to it, formulas get their indices."""

    def code(part: str) -> str:
        shown = f"<code>{escape(part)}</code>"
        return f'<a href="#{own[part]}">{shown}</a>' if part in own else shown

    def plain(part: str) -> str:
        before, after = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
        return escape(part) if keep else f"{before}{typeset(in_html(part))}{after if part.strip() else ''}"

    return "".join(code(part) if k % 2 else plain(part) for k, part in enumerate(_CODE.split(text)))


def _claims(claims: list[ClaimResult]) -> str:
    links = ", ".join(f'<a href="../claims.html#{in_html(one.id)}">{in_html(one.id)}</a>' for one in claims)
    count = f"{len(claims)} claim{'s' * (len(claims) > 1)}"
    return f'\n<details class="kernel-claims"><summary>{count} reach it</summary><p>{links}</p></details>\n'
