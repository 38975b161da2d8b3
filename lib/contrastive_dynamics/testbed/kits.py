"""Parts by name: a kit is a network, a loss, a constraint and an optimiser, each chosen by a name and its fields."""

from .encoders import NETWORKS
from .losses import LOSSES
from .optimisers import CONSTRAINTS, OPTIMISERS
from .view_makers import VIEWS

PARTS = {
    "network": NETWORKS,
    "loss": LOSSES,
    "constraint": CONSTRAINTS,
    "optimiser": OPTIMISERS,
    "views": VIEWS,
}


def part(kind: str, name: str, **fields):
    """A part of a kit, such as part("network", "linear", outputs=32).

    Args:
        kind: a key of PARTS.
        name: a key of PARTS[kind].
        fields: of the part; a constraint has none.
    Raises: ValueError, in one line, for an unknown kind, name or field, and as the part.
    """
    if kind not in PARTS:
        raise ValueError(f"kind must be one of {', '.join(PARTS)}, got {kind!r}")
    if name not in PARTS[kind]:
        raise ValueError(f"{kind} must be one of {', '.join(PARTS[kind])}, got {name!r}")
    made = PARTS[kind][name]
    known = getattr(made, "__dataclass_fields__", {})
    unknown = [field for field in fields if field not in known]
    if unknown:
        raise ValueError(f"{kind} {name!r} has the fields {', '.join(known) or 'none'}, got {unknown[0]!r}")
    if kind == "constraint":
        return made
    missing = [n for n, f in known.items() if f.default is f.default_factory and n not in fields]
    if missing:
        raise ValueError(f"{kind} {name!r} needs {', '.join(missing)}, got {', '.join(fields) or 'none'}")
    return made(**fields)
