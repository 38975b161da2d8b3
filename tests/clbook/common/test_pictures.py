"""Pictures keep their pixels, and the size at which a page shows them, in fewer bytes."""

import io

import numpy as np
import pytest

from clbook.common.pictures import BLOCK, blocks, look_alike, plain_png, size_on_page, small_png

Image = pytest.importorskip("PIL.Image")


def png(pixels: np.ndarray, **options) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, format="PNG", **options)
    return buffer.getvalue()


def pixels_of(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGBA"))


def noise(colours: int, alpha: int = 255) -> np.ndarray:
    """A picture of 64 × 64 pixels with so many colours, in no order."""
    k = np.random.default_rng(0).permutation(np.arange(64 * 64) % colours)
    return np.stack([k % 256, k // 256 * 16, (7 * k) % 256, np.full_like(k, alpha)], -1).reshape(64, 64, 4)


def test_a_line_that_moves_by_half_a_pixel_looks_alike_and_another_picture_does_not():
    paper = np.full((8 * BLOCK + 3, 10 * BLOCK), 255.0)
    line, moved, higher = (paper.copy() for _ in range(3))
    line[40:42] = 0
    moved[40], moved[41], moved[42] = 128, 0, 128
    higher[80:82] = 0
    first, same, other = (blocks(png(pixels)) for pixels in (line, moved, higher))
    assert len(first) == 8 and len(first[0]) == 10 and first[0] == [255.0] * 10
    assert look_alike(first, first) and look_alike(first, same) and not look_alike(first, other)
    assert not look_alike(first, blocks(png(line[:-BLOCK]))) and blocks(b"no picture") == []


@pytest.mark.parametrize("colours", [1, 2, 16, 17, 256, 257, 4000])
def test_the_pixels_stay_and_few_colours_become_a_palette(colours):
    large = png(noise(colours), dpi=(192, 192))
    small = small_png(large)
    assert np.array_equal(pixels_of(small), pixels_of(large)) and len(small) <= len(large)
    assert Image.open(io.BytesIO(small)).mode == ("P" if colours <= 256 else "RGB")
    assert size_on_page(small) == size_on_page(large) == (32, 32)
    assert small_png(large) == small and plain_png(small) == small


def test_what_is_transparent_or_has_a_palette_stays_as_it_is():
    glass = png(noise(9, alpha=128))
    assert small_png(glass) == glass
    small = small_png(png(noise(9)))
    assert small_png(small) == small and size_on_page(small) == (64, 64)
