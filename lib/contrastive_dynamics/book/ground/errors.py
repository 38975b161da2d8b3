"""Errors that a reader can fix, stated in one line."""


class BookError(Exception):
    """A mistake in a request, a file or a parameter: what was given, what is allowed, where."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook, show the one line without the library's stack frames above it."""
        return [f"{type(self).__name__}: {self}"]
