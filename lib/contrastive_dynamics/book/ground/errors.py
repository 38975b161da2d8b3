"""What a reader can mend, said in one line."""


class BookError(Exception):
    """A mistake in a request, a file or a parameter: what was given, what is allowed, where."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook: the one line, without the frames of the library above it."""
        return [f"{type(self).__name__}: {self}"]
