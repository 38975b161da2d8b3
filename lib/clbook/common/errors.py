"""Errors that a reader can fix, stated in one line."""


class BookError(Exception):
    """A mistake in a request, a file or a parameter: what was given, what is allowed, where."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook, show the one line without the library's stack frames above it."""
        return [f"BookError: {self}"]


class Refused(BookError):
    """Parameters that contradict each other, by a check that the chapter makes before its work."""


def cut(text: str, most: int) -> str:
    """A text of at most about so many characters: of a longer one the middle is left out."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def line_of(error: BookError) -> str:
    """What a command says of a mistake; names and values that somebody typed may be of any length."""
    return cut(" ".join(str(error).split()), 1000)
