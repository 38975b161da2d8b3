"""Files in YAML, written by hand: read with the line of a mistake."""

from pathlib import Path

from .errors import BookError
from .formats import fault, text_of


def yaml_of(path: Path) -> tuple[object, object]:
    """The content of a file, and the tree of its nodes, which know their lines; raises BookError."""
    import yaml  # imported here because a machine that only records needs no YAML

    try:
        tree = yaml.compose(text_of(path), Loader=yaml.SafeLoader)
        return (yaml.SafeLoader("").construct_document(tree) if tree else None), tree
    except RecursionError:
        raise BookError(f"{path.name}: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError for dates such as 2020-13-45
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        said = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BookError(f"{path.name}{at}: not readable as YAML: {said}") from None


def read_yaml(path: Path, schema: dict) -> object:
    """The content of a file that satisfies a schema; raises BookError for any other."""
    content, _ = yaml_of(path)
    if said := fault(content, schema):
        raise BookError(f"{path.name}: {said}")
    return content
