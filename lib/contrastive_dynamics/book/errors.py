"""What a reader can mend, said in one line."""


class BookError(Exception):
    """A mistake in a request, a file or a parameter: what was given, what is allowed, where."""
