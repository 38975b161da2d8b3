"""What `records/stale.yaml` names: stale results of records that are shown all the same, each with the reason."""

from pathlib import Path

from ..common.formats import TEXT, list_of, map_of, record_of
from ..common.yaml_files import read_yaml

_ROW = record_of("reason", claims=list_of(TEXT), pictures=list_of(TEXT), reason=TEXT | {"minLength": 20})
_ROWS = map_of(_ROW | {"additionalProperties": False}) | {
    "propertyNames": {"type": "string", "pattern": "^records/"},
    "type": ["object", "null"],
}


def excused(root: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(record, claim) of stale readings and (record, picture) of old pictures that are shown all the same.

    Raises BookError for a file of another form.
    """
    path = root / "records" / "stale.yaml"
    rows = (read_yaml(path, _ROWS) if path.is_file() else None) or {}
    claims, pictures = (
        {(where, name) for where, row in rows.items() for name in row.get(kind, ())} for kind in ("claims", "pictures")
    )
    return claims, pictures
