"""The workshop of a book of papers: what runs, judges, stores and shows its chapters. It would serve any such book.

A chapter imports `colours`, `glue` and `open_chapter` from `clbook.notebook`. Nothing is imported here, so that the
command `clbook` can catch Ctrl-C from its first moment on. Reading and showing results needs no torch.
"""
