"""YAML files written by hand; errors name the line."""

import contextlib
import re
from pathlib import Path

from .errors import BookError, cut
from .formats import fault, place_of, text_of

DEEP = 400  # of brackets, indentation and dashes together
_BRACKETS = re.compile(r"[][{}]")


def yaml_of(path: Path) -> tuple[object, object]:
    """The content of a file, and its tree of nodes, which have line numbers; raises BookError."""
    import yaml  # imported here because a machine that only records needs no YAML

    try:
        tree = _composed(text_of(path))
        _check_keys(tree, path)
        return (yaml.SafeLoader("").construct_document(tree) if tree else None), tree
    except RecursionError:
        raise BookError(f"{place_of(path)}: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError for dates such as 2020-13-45
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BookError(f"{place_of(path)}{line}: not readable as YAML: {problem}") from None


def _composed(text: str) -> object:
    """The tree of nodes, by libyaml if it is there; where it refuses or could overflow the stack, by PyYAML itself."""
    import yaml

    if _depth(text) < DEEP:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return yaml.compose(text, Loader=yaml.SafeLoader)  # its words name the problem


def _depth(text: str) -> int:
    """At least the depth of a text's nesting, unless brackets in quotes close more than they open."""
    depth = deepest = 0
    for mark in _BRACKETS.findall(text):
        depth = depth + 1 if mark in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest + max((len(line) - len(line.lstrip(" -?")) for line in text.splitlines()), default=0)


def _check_keys(tree: object, path: Path) -> None:
    """Raise BookError for a key that a mapping has twice, of which YAML takes the later; `tree` is one of nodes."""
    import yaml

    nodes, looked_at = [tree], set()
    while nodes:
        node = nodes.pop()
        if id(node) in looked_at or not isinstance(node, yaml.CollectionNode):
            continue
        looked_at.add(id(node))  # anchors share nodes
        if not isinstance(node, yaml.MappingNode):
            nodes += node.value
            continue
        keys = set()
        for key, value in node.value:
            if isinstance(key.value, str) and key.value in keys:
                raise BookError(f"{place_of(path)}, line {key.start_mark.line + 1}: {cut(key.value, 100)} occurs twice")
            keys |= {key.value} if isinstance(key.value, str) else set()
            nodes.append(value)


def read_yaml(path: Path, schema: dict) -> object:
    """The content of a file that satisfies a schema; raises BookError for any other."""
    content, _ = yaml_of(path)
    if problem := fault(content, schema):
        raise BookError(f"{place_of(path)}: {problem}")
    return content
