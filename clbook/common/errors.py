"""Errors that a reader can fix, stated in one line."""


class BookError(Exception):
    """An invalid request, file or parameter; the message says what was given, what is allowed, and where."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook, show the one line without the library's stack frames above it."""
        return [f"BookError: {self}"]


class Refused(BookError):
    """Parameters that contradict each other, by a check at the start of a chapter."""


def cut(text: str, most: int) -> str:
    """The text, with its middle left out if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def line_of(error: BookError | str) -> str:
    """An error's message, or another text, in one line of at most about 1,000 characters."""
    return cut(" ".join(str(error).split()), 1000)
