"""Pictures keep their pixels, and the size at which a page shows them, in fewer bytes."""

import io

import numpy as np
import pytest

from clbook.common.pictures import plain_png, size_on_page, small_png

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
