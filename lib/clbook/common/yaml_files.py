"""YAML files written by hand; errors name the line."""

from pathlib import Path

from .errors import BookError
from .formats import fault, text_of


def yaml_of(path: Path) -> tuple[object, object]:
    """The content of a file, and its tree of nodes, which have line numbers; raises BookError."""
    import yaml  # imported here because a machine that only records needs no YAML

    try:
        tree = yaml.compose(text_of(path), Loader=yaml.SafeLoader)
        return (yaml.SafeLoader("").construct_document(tree) if tree else None), tree
    except RecursionError:
        raise BookError(f"{path.name}: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError for dates such as 2020-13-45
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BookError(f"{path.name}{line}: not readable as YAML: {problem}") from None


def read_yaml(path: Path, schema: dict) -> object:
    """The content of a file that satisfies a schema; raises BookError for any other."""
    content, _ = yaml_of(path)
    if problem := fault(content, schema):
        raise BookError(f"{path.name}: {problem}")
    return content
