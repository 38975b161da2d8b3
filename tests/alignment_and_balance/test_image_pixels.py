"""Files of images in all modes, shapes and conditions: what a network sees, or one line that says why nothing."""

import io
import warnings

import numpy as np
import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.image_pixels import pixels
from contrastive_dynamics.alignment_and_balance.pretrained_encoders import IMAGENET, LITE
from contrastive_dynamics.data.catalogue import DataError

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: files of images were not read")
PLAIN = ((0.0,) * 3, (1.0,) * 3)
TURNED = 0x0112  # the EXIF tag of the orientation


def saved(image, kind="PNG", **how):
    content = io.BytesIO()
    image.save(content, kind, **how)
    return content.getvalue()


def file(array, kind="PNG"):
    return saved(Image.fromarray(array), kind)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def levels(content, short=224):
    """What `pixels` sees, 0 to 255."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a notebook would store a warning
        return 255 * pixels(content, short, PLAIN)


def test_pixels_are_the_centre_square_of_the_resized_image():
    array = noise(224, 300)
    red_green_blue = torch.from_numpy(array[:, 38:262]).permute(2, 0, 1) / 255
    mean, deviation = (torch.tensor(values)[:, None, None] for values in IMAGENET)
    torch.testing.assert_close(pixels(file(array), 224, IMAGENET), (red_green_blue - mean) / deviation)
    half = np.zeros((400, 1000, 3), dtype=np.uint8)
    half[:, 500:] = 255
    found = pixels(file(half), 256, LITE)
    assert found.shape == (3, 224, 224) and found.dtype == torch.float32
    torch.testing.assert_close(found[:, :, :100], torch.full((3, 224, 100), -127 / 128))
    torch.testing.assert_close(found[:, :, -100:], torch.ones(3, 224, 100))
    tall = pixels(file(np.ascontiguousarray(half.transpose(1, 0, 2))), 256, LITE)
    torch.testing.assert_close(tall, found.transpose(1, 2))


def test_grey_and_transparent_images_become_red_green_blue():
    grey = np.full((230, 240), 50, dtype=np.uint8)
    torch.testing.assert_close(pixels(file(grey, "JPEG"), 224, LITE), torch.full((3, 224, 224), (50 - 127) / 128))
    assert pixels(file(np.full((9, 7, 4), 50, dtype=np.uint8)), 224, LITE).shape == (3, 224, 224)
    with pytest.raises(DataError, match="content must be a readable image, got 8 bytes"):
        pixels(b"no image", 224, LITE)
    with pytest.raises(DataError, match="content must be a readable image"):
        pixels(file(noise(300, 300), "JPEG")[:2000], 224, LITE)


def ramp(largest=255):
    """Grey that rises from left to right over 224 columns, 0 to 1."""
    return np.tile(np.linspace(0, 1, 224), (224, 1)) * largest


def modes():
    """One picture in every mode that a file can have, by name: its file and the error in levels."""
    grey = Image.fromarray(ramp().round().astype(np.uint8))
    sixteen = ramp(65535).round().astype(np.uint16)
    yield "8 bits", saved(grey), 0.5
    yield "16 bits, PNG", saved(Image.fromarray(sixteen)), 0.51
    yield "16 bits, TIFF", saved(Image.fromarray(sixteen), "TIFF"), 0.51
    for mode in ("LA", "RGB", "RGBA", "P"):
        yield mode, saved(grey.convert(mode)), 0.5
    yield "GIF", saved(grey.convert("P"), "GIF"), 0.5
    yield "CMYK, TIFF", saved(grey.convert("CMYK"), "TIFF"), 1
    yield "CMYK, JPEG", saved(grey.convert("CMYK"), "JPEG", quality=100), 4
    yield "YCbCr", saved(grey.convert("YCbCr"), "JPEG", quality=100), 4


@pytest.mark.parametrize("mode, content, error", list(modes()), ids=[mode for mode, *_ in modes()])
def test_a_picture_is_the_same_in_every_mode(mode, content, error):
    expected = torch.from_numpy(ramp()).float().expand(3, -1, -1)
    torch.testing.assert_close(levels(content), expected, rtol=0, atol=error + 1e-3)


def test_black_and_white():
    board = np.indices((224, 224)).sum(0) % 2 == 1
    expected = torch.from_numpy(255.0 * board).float().expand(3, -1, -1)
    torch.testing.assert_close(levels(file(board)), expected)


@pytest.mark.parametrize("numbers", [ramp(65535).astype(np.int32), ramp(1).astype(np.float32)])
def test_numbers_without_a_white_are_refused(numbers):
    with one_line_error(DataError, "readable image, .* have no white: save 8 or 16 bits per channel"):
        pixels(file(numbers, "TIFF"), 224, PLAIN)


def transparent():
    """A dark picture whose left half is transparent, by the way in which its file says so."""
    dark = Image.new("L", (224, 224), 40)
    half = np.zeros((224, 224), dtype=np.uint8)
    half[:, 112:] = 255
    for mode in ("LA", "RGBA"):
        image = dark.convert(mode)
        image.putalpha(Image.fromarray(half))
        yield mode, saved(image)
    two = Image.fromarray((half > 0).astype(np.uint8), "L")
    palette = two.copy()
    palette.putpalette([40] * 6)
    yield "palette, one entry", saved(palette, transparency=0)
    yield "palette, all entries", saved(palette, transparency=bytes([0, 255]))
    yield "GIF", saved(palette, "GIF", transparency=0)
    key = Image.fromarray(np.where(half > 0, 40, 41).astype(np.uint8))
    yield "grey level", saved(key, transparency=41)
    yield "colour", saved(key.convert("RGB"), transparency=(41, 41, 41))


@pytest.mark.parametrize("content", [content for _, content in transparent()], ids=[way for way, _ in transparent()])
def test_what_is_transparent_lies_on_white(content):
    found = levels(content)
    assert (found[..., :112] == 255).all() and (found[..., 112:] == 40).all()


@pytest.mark.parametrize("tag", range(1, 9))
def test_a_turned_picture_is_turned_back(tag):
    upright = Image.fromarray(noise(240, 300) // 16 * 16)
    turns = [Image.Transpose(k) for k in (0, 3, 1, 5, 2, 6, 4)]  # what a camera held so does to the picture
    exif = Image.Exif()
    exif[TURNED] = tag
    as_stored = upright if tag == 1 else upright.transpose(turns[tag - 2])
    same = torch.equal(levels(saved(as_stored, exif=exif), 230), levels(saved(upright), 230))
    assert same  # no more: pytest would print both files


def test_exif_data_that_cannot_be_read_turn_nothing():
    upright = Image.fromarray(noise(240, 300))
    for damaged in (b"Exif\0\0", b"Exif\0\0II*\0", b"Exif\0\0MM\0*\0\0\0\x08\0\x05" + b"\xff" * 9, b"no EXIF"):
        same = torch.equal(levels(saved(upright, "JPEG", exif=damaged)), levels(saved(upright, "JPEG")))
        assert same


@pytest.mark.parametrize("height, width", [(1, 5000), (5000, 1), (3, 161), (2, 4001), (90, 1700), (1, 1)])
def test_of_a_strip_only_the_middle_is_resized(height, width, monkeypatch):
    smooth = np.linspace(0, 255, height * width).round().astype(np.uint8).reshape(height, width)
    sizes, resize = [], Image.Image.resize
    monkeypatch.setattr(Image.Image, "resize", lambda self, size, *how: sizes.append(size) or resize(self, size, *how))
    found = levels(file(smooth))
    assert sizes and max(map(max, sizes)) <= 18 * 224
    whole = Image.fromarray(smooth).convert("RGB")
    if height * width < 1e5 and min(height, width) > 1:  # small enough to be resized as a whole
        ratio = 224 / min(whole.size)
        whole = resize(whole, [max(224, round(ratio * side)) for side in whole.size], Image.Resampling.BICUBIC)
        left, top = ((side - 224) // 2 for side in whole.size)
        expected = torch.from_numpy(np.array(whole.crop((left, top, left + 224, top + 224)))).permute(2, 0, 1).float()
        torch.testing.assert_close(found, expected, rtol=0, atol=2)
    assert abs(float(found.mean()) - float(smooth.mean())) < 2


@pytest.mark.parametrize("most", [30_000, 60_000])  # Pillow refuses the first and only warns of the second
def test_too_many_pixels_are_one_line(most, monkeypatch):
    content = file(noise(250, 300))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    with one_line_error(DataError, "content must be a readable image, got .* exceeds limit"):
        pixels(content, 224, PLAIN)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 75_000)
    assert pixels(content, 224, PLAIN).shape == (3, 224, 224)


def damaged():
    content = file(noise(40, 40))
    yield from (b"", b"GIF89a", content[:33], content[:-30], content[:40] + b"\xff" * 20 + content[60:])
    yield saved(Image.new("L", (9, 9)), "TIFF")[:100]
    text = b"\0\0\0\x04tEXtabcd"  # a chunk with a wrong sum
    yield content[:33] + text + b"\0\0\0\0" + content[33:]


@pytest.mark.parametrize("content", list(damaged()), ids=range(7))
def test_damaged_files_are_one_line(content):
    with one_line_error(DataError, f"content must be a readable image, got {len(content)} bytes"):
        pixels(content, 224, PLAIN)
