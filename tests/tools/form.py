"""The form of modules and chapters on which digests rely: finds whatever they would miss, in one line each."""

import ast
from collections.abc import Iterator

from clbook.common.errors import BookError
from clbook.common.sources import Cell
from clbook.provenance.library import Library, Module, assigned
from clbook.provenance.slices import ChapterCode
from clbook.provenance.spelling import DRAWING
from clbook.provenance.syntax import IMPORTS, Definition, External, statements_bind
from clbook.provenance.units import CHAPTER, STATE, Unit

DECORATORS = {
    "cache", "cached_property", "classmethod", "compiled_once", "contextlib.contextmanager", "dataclass",
    "functools.cache", "intrinsic", "njit", "property", "staticmethod", "torch.inference_mode", "torch.no_grad",
}  # fmt: skip
_REFLECTION = {"globals", "locals", "eval", "exec", "__import__", "setattr", "delattr"}
_FINDING = {"__subclasses__", "__init_subclass__", "__globals__"}  # these reach code that no name leads to
_WHOLE = ("module ", "external importlib.import_module", "external sys.modules", "external builtins")
_OFFERED = {"benchmark", "check", "close", "data", "device", "judge", "library_piece", "piece", "progress", "seeds"}
_HIDING = {"globals", "locals", "vars", "eval", "exec", "__import__", "setattr", "delattr"}


def library_problems(library: Library) -> Iterator[str]:
    """Whatever in the library's modules a digest would miss; one line each."""
    for name in library.names():
        module = library.module(name)
        yield from (f"{name}, line {line}: {what}" for line, what in _run_on_import(module.tree.body))
        yield from (f"{name}: {found} is defined twice" for found in _defined_twice(module))
        for node in module.tree.body:
            yield from (f"{name}, line {line}: {what}" for line, what in _inner_problems(module, node))
        yield from _out_of_sight(library, module)


def _run_on_import(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Statements of a module or class other than imports, definitions and assignments of names, one by one."""
    for node in body:
        value = getattr(node, "value", None)
        if isinstance(node, ast.ClassDef):
            yield from _run_on_import(node.body)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            single = [assigned(t, value) for t in getattr(node, "targets", [getattr(node, "target", None)])]
            is_field = isinstance(node, ast.AnnAssign) and value is None
            if not is_field and (not all(single) or statements_bind(node) - set().union(*single)):
                yield node.lineno, "assigns to something else than names, one by one"
        elif not isinstance(node, (*IMPORTS, ast.FunctionDef, ast.AsyncFunctionDef, ast.Pass)):
            if not (isinstance(node, ast.Expr) and isinstance(value, ast.Constant)):
                yield node.lineno, f"a statement that runs on import ({type(node).__name__})"


def _defined_twice(module: Module) -> list[str]:
    """Names of a module that have two meanings."""
    imports = {pair for node in module.tree.body if isinstance(node, IMPORTS) for pair in module.imported(node).items()}
    names = [name for name, _ in imports]
    names += [n for node in module.tree.body if not isinstance(node, IMPORTS) for n in statements_bind(node)]
    return sorted({name for name in names if names.count(name) > 1})


def _inner_problems(module: Module, part: ast.stmt) -> Iterator[tuple[int, str]]:
    """What a definition does that affects other definitions, or that its tokens do not express."""
    nodes, is_import = list(ast.walk(part)), isinstance(part, IMPORTS)
    imports = {pair for n in nodes if isinstance(n, IMPORTS) and not is_import for pair in module.imported(n).items()}
    imported = [name for name, _ in imports]
    own = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    own |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    again = {name for name in imported if imported.count(name) > 1 or name in own}
    yield from ((part.lineno, f"{name} is imported and bound again") for name in sorted(again))
    others = (module.imports.keys() | module.definitions.keys()) - own | set(imported)
    taken_back = _taken_back(nodes)
    for node in nodes:
        line, decorators = getattr(node, "lineno", 0), getattr(node, "decorator_list", [])
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield line, "import *"
        if isinstance(node, ast.Global):
            yield line, "global"
        for said in [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in decorators]:
            if said not in DECORATORS:
                yield line, f"decorator {said}, allowed are {', '.join(sorted(DECORATORS))}"
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            if _root(node) in others and ast.unparse(node) not in taken_back:
                yield line, f"changes a part of {_root(node)}, which others see"


def _taken_back(nodes: list[ast.AST]) -> set[str]:
    """What a `finally` sets to a name that holds what it was: `before = a.b` above, `a.b = before` in it."""
    assigned = [
        (ast.unparse(target), ast.unparse(value))
        for node in nodes
        if isinstance(node, ast.Assign)
        for targets in node.targets
        for target, value in _pairs(targets, node.value)
    ]
    kept = {(value, target) for target, value in assigned}
    last = [n for node in nodes if isinstance(node, ast.Try) for n in node.finalbody if isinstance(n, ast.Assign)]
    ends = {(ast.unparse(n.targets[0]), ast.unparse(n.value)) for n in last}
    return {target for target, value in ends if (target, value) in kept}


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    return list(zip(target.elts, value.elts, strict=True)) if both else [(target, value)]


def _root(node: ast.AST) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _out_of_sight(library: Library, module: Module) -> Iterator[str]:
    """Definitions that access code by a text, or a whole module as a value, or something that does not exist."""
    refused = {f"name {name}" for name in _REFLECTION} | {form for n in _FINDING for form in (n, f".{n}", repr(n))}
    for name in module.definitions:
        try:
            tokens = {token for token in library.spelled(Definition(module.name, name)) if isinstance(token, str)}
        except BookError as error:
            yield f"{module.name}.{name}: {error}"
            continue
        found = sorted(token for token in tokens if token in refused or token.startswith(_WHOLE))
        yield from (f"{module.name}.{name}: reads {token}" for token in found)


def chapter_problems(story: ChapterCode) -> Iterator[str]:
    """Whatever in a chapter's cells a digest would miss; one line each."""
    for number, cell in enumerate(story.cells):
        yield from (f"code cell {number + 1}: {what}" for what in _cell_problems(cell))
    for unit in story.units:
        yield from (f"code cell {unit.cell + 1}: {what}" for what in _unit_problems(story, unit))
    for claim in story.claims:
        judged = [unit.cell + 1 for unit in story.units if claim in unit.judges]
        if len(judged) > 1:
            yield f"{claim} is judged in the code cells {', '.join(map(str, judged))}"
    for part in sorted({unit.part for unit in story.units}):
        opened = sum(CHAPTER in story.units[n].names.bound for n in story.of_notebook(part))
        if opened != 1:
            yield f"{CHAPTER} is bound {opened} times, not once"


def _cell_problems(cell: Cell) -> Iterator[str]:
    """Imports that are not at the top of a cell."""
    body = ast.parse(cell.source).body
    first = next((n for n, statement in enumerate(body) if not isinstance(statement, IMPORTS)), len(body))
    below = [n for s in body[first:] for n in ast.walk(s) if isinstance(n, IMPORTS)]
    yield from (f"`{ast.unparse(node)}` stands below other statements" for node in below)


def _unit_problems(story: ChapterCode, unit: Unit) -> Iterator[str]:
    """Changes of state outside the set-up, parameters that are bound again, and code that no name leads to."""
    nodes = [node for statement in unit.body for node in ast.walk(statement)]
    if not unit.setup and (story.changes_state(unit) or any(_meant_state(story, node) for node in nodes)):
        yield "changes the state of the process outside of the set-up"
    again = (unit.names.bound | statements_bind(unit.body)) & story.parameters.keys()
    yield from (f"binds the parameter {name} again" for name in sorted(again))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    opening = [arg for c in calls if ast.unparse(c.func) == "open_chapter" for arg in c.args]
    allowed = {id(n) for arg in opening if ast.unparse(arg) == "globals()" for n in ast.walk(arg)}
    allowed |= {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in _OFFERED}
    for node in nodes:
        if isinstance(node, ast.Global) or isinstance(node, IMPORTS) and node.names[0].name == "*":
            yield f"`{ast.unparse(node)}`"
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in allowed:
            if node.id in _HIDING:
                yield f"reads {node.id}"
            if node.id == CHAPTER:
                yield f"uses {CHAPTER} otherwise than by {', '.join(sorted(_OFFERED))}"
    for call in [c for c in calls if ast.unparse(c.func) == f"{CHAPTER}.judge"]:
        if not (call.args and isinstance(call.args[0], ast.Constant)):
            yield "judges a claim that it does not name by a text"


def _meant_state(story: ChapterCode, node: ast.AST) -> bool:
    """Whether a call or a target refers, by whatever name, to something that changes the process's state."""
    part = node.func if isinstance(node, ast.Call) else node
    if not isinstance(node, ast.Call) and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return False
    while isinstance(part, ast.Subscript):
        part = part.value
    meant = story.meaning(part)
    return isinstance(meant, External) and meant.dotted.startswith(STATE)


def leaking_figures(story: ChapterCode) -> Iterator[str]:
    """Names bound by a cell that only draws and read by a later unit of another kind."""
    draws = [_only_draws(unit) for unit in story.units]
    for at, unit in enumerate(story.units):
        for name in sorted(unit.names.read | (unit.names.late - unit.names.bound)) if not draws[at] else ():
            binds = next((n for n in reversed(range(at)) if name in story.units[n].names.bound), None)
            if binds is not None and draws[binds] and story.units[binds].part == unit.part:
                cells = f"code cell {story.units[binds].cell + 1} only draws, code cell {unit.cell + 1}"
                yield f"{cells} reads {name} from it"


def _only_draws(unit: Unit) -> bool:
    """Whether a cell itself shows a figure, rather than in a function that it defines, and judges nothing."""
    at_once = [n for s in unit.body if not isinstance(s, ast.FunctionDef) for n in ast.walk(s)]
    drawing = any(isinstance(n, ast.Call) and ast.unparse(n.func) in DRAWING for n in at_once)
    return unit.whole and drawing and not unit.judges
