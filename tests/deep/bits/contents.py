"""What the programs of this folder share: names and numbers of nested results, added to a digest."""

from torch import Tensor


def add(content: object, seen) -> None:
    """Add names and numbers, in their order."""
    if isinstance(content, dict):
        for name, part in content.items():
            seen.update(name.encode())
            add(part, seen)
    elif isinstance(content, tuple):
        for part in content:
            add(part, seen)
    else:
        seen.update(content.cpu().numpy().tobytes() if isinstance(content, Tensor) else repr(content).encode())
