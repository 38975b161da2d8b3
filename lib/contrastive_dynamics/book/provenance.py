"""What made a result: a hash of code, rules and parameters, versions, device, memory."""

import ast
import hashlib
import json
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

PACKAGE = "contrastive_dynamics"
_PACKAGE_FOLDER = Path(__file__).parents[1]
_DEFINITIONS = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def canonical(node: object) -> object:
    """A syntax tree as nested lists, without docstrings, comments, layout and fields that are empty.

    Empty fields are left out because newer versions of Python add some: the hash is the same on all of them.
    """
    if isinstance(node, list):
        return [canonical(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, _DEFINITIONS) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = fields["body"][1:]
    kept = {k: v for k, v in fields.items() if v not in (None, []) and k not in ("ctx", "kind", "type_comment")}
    return [type(node).__name__, [[name, canonical(value)] for name, value in sorted(kept.items())]]


def _module_file(name: str) -> Path | None:
    """The source of a module of this package, or None for anything else."""
    base = _PACKAGE_FOLDER.joinpath(*name.split(".")[1:])
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


def _imports(tree: ast.AST, module: str, is_package: bool) -> set[str]:
    """Names of this package's modules that a module imports anywhere, inside functions too."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            parent = parts[: len(parts) - node.level + is_package] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return {n for n in names if n.split(".")[0] == PACKAGE and _module_file(n)}


def library_modules(code: str) -> list[str]:
    """The modules of this package that a piece of code imports, transitively, sorted."""
    seen: set[str] = set()
    queue = _imports(ast.parse(code), "", False)
    while queue:
        name = queue.pop()
        seen.add(name)
        path = _module_file(name)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        queue |= _imports(tree, name, path.name == "__init__.py") - seen
    return sorted(seen)


def result_hash(code: str, rules: list, parameters: dict) -> str:
    """SHA-256 over a chapter's code cells, its claim rules, its parameters and the library modules it imports."""
    modules = {m: canonical(ast.parse(_module_file(m).read_text(encoding="utf-8"))) for m in library_modules(code)}
    content = [canonical(ast.parse(code)), rules, sorted(parameters.items()), sorted(modules.items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python and of what the numbers depend on."""
    found = {"python": platform.python_version()}
    for name in ("torch", "numpy", "scipy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def device_name(device: str) -> str:
    """The device in words: the GPU's name, or the processor and its cores."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = match[1].strip() if match else model
    return f"{model}, {os.cpu_count()} cores"


def peak_megabytes(device: str) -> float:
    """Peak memory of this process so far, with the GPU's where one is used, in MB (2^20 bytes)."""
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes on macOS, in kB on Linux
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    if device.startswith("cuda"):
        import torch

        peak += torch.cuda.max_memory_allocated(device) / 2**20
    return round(peak)
