"""A Sphinx extension: pages do not load thebe, which runs cells on a server.

The book has no such server. Jupyter Book adds the script whether it is wanted or not, and its settings twice, which a
browser reports as an error on every page.
"""

from sphinx.application import Sphinx

UNUSED = "thebe"


def _without_unused(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    scripts = context["script_files"]
    scripts[:] = [
        script for script in scripts if UNUSED not in f"{script.filename} {script.attributes.get('body')}".lower()
    ]


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", _without_unused, priority=900)  # after those that add scripts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
