"""Which picture stands for a claim, and how small it becomes."""

import io

import pytest
from checkout import ROOT

from clbook.common.sources import ChapterFiles
from clbook.pages.thumbnails import claim_pictures, nearest, shrink

PICTURES = {"plot-fig-2": 30, "map": 12, "course": 18}


@pytest.mark.parametrize(
    ("claim", "at", "picture"),
    [
        ("fig-2-b", 11, "plot-fig-2"),  # by name, though another is nearer
        ("thm-1", 11, "map"),
        ("thm-2", 17, "course"),
        ("lem-4", 25, "plot-fig-2"),  # in its own section, though `course` is as near
        ("lem-5", 45, None),  # no picture in its section
        ("2", 45, None),  # the end of a name is not the claim's
    ],
)
def test_a_picture_bears_the_claim_s_name_or_is_the_nearest_of_its_section(claim, at, picture):
    assert nearest({claim: at}, PICTURES, [0, 10, 21, 40]) == ({claim: picture} if picture else {})


def test_the_book_s_claims_have_pictures_of_their_chapter():
    found = claim_pictures(ChapterFiles(ROOT, "nonlinearity"))
    assert found["fig-5-b"].endswith("fig-5") and len(found) > 30


def test_a_thumbnail_is_small_and_keeps_its_shape():
    image = pytest.importorskip("PIL.Image")
    full = image.effect_noise((1200, 600), 60).convert("RGBA")
    full.putalpha(0)
    buffer = io.BytesIO()
    full.save(buffer, format="PNG")
    content, width, height = shrink(buffer.getvalue())
    assert (width, height) == (320, 160) and len(content) < 20_000
    assert image.open(io.BytesIO(content)).convert("RGB").getpixel((0, 0)) == (255, 255, 255)
