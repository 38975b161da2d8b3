"""A Sphinx extension: a still picture opens its live twin, at the scene that the first such link of its caption names.

A link without words, `<a href="#arrows:t=3"></a>`, makes a door that the caption does not speak of.
"""

import re
from html import unescape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

_SCENE = re.compile(r'<a href="(?P<address>[\w./-]*#[a-z]+:[a-z]+=[^"]*)"[^>]*>')
TITLE = "Open the live picture at this scene"


class PictureDoors(SphinxPostTransform):
    default_priority = 300  # after notebooks' outputs have become pictures, before pictures link to their files
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for figure in list(self.document.findall(nodes.figure)):
            picture, caption = next(figure.findall(nodes.image), None), next(figure.findall(nodes.caption), None)
            if picture is not None and caption is not None and (address := _taken(caption)):
                door = nodes.reference("", "", refuri=address, classes=["door"], reftitle=TITLE)
                picture.parent.replace(picture, door)
                door += picture


def _taken(caption: nodes.caption) -> str:
    """The address of a caption's first scene; a link to it that has no words is taken away."""
    for node in caption.findall(nodes.raw):
        if match := _SCENE.fullmatch(node.astext()):
            if (after := node.next_node(descend=False, siblings=True)) is not None and after.astext() == "</a>":
                after.parent.remove(after)
                node.parent.remove(node)
            return unescape(match["address"])
    return ""


def setup(app: Sphinx) -> dict:
    app.add_post_transform(PictureDoors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
