"""Files of images as inputs of a network: turned upright, in red, green and blue, a square of 224 × 224 pixels."""

import io
import warnings

import numpy as np
import torch
from torch import Tensor

from ..data.catalogue import DataError

SIDE, _LONGEST = 224, 16


def pixels(content: bytes, short: int, scale: tuple[tuple[float, ...], tuple[float, ...]]) -> Tensor:
    """An image file as a network's input: short side resized (bicubic), centre square of 224, (x − mean)/deviation.

    The image is turned as its EXIF data say and laid on white where it is transparent. Black and white are those of the
    mode: 0 and 65535 for grey of 16 bits.
    Args:
        content: bytes of an image in any format and mode, except for numbers without a white (modes I and F).
        short: length of the short side in pixels, ≥ 224.
        scale: mean and deviation of red, green and blue, whose values are 0 to 1.
    Returns: Float32[Tensor, "3 224 224"].
    Raises: DataError for bytes that are not an image, or one of more pixels than `PIL.Image.MAX_IMAGE_PIXELS`.
    Cost: memory for the image and for 16·short² pixels, whatever its shape.
    """
    from PIL import Image

    image = _middle(_red_green_blue(content))
    ratio = short / min(image.size)
    image = image.resize([max(short, round(ratio * side)) for side in image.size], Image.Resampling.BICUBIC)
    left, top = ((side - SIDE) // 2 for side in image.size)
    square = np.array(image.crop((left, top, left + SIDE, top + SIDE)), dtype=np.float32) / 255
    mean, deviation = torch.tensor(scale).view(2, 3, 1, 1)
    return (torch.from_numpy(square).permute(2, 0, 1) - mean) / deviation


def _red_green_blue(content: bytes):
    """The image in red, green and blue, upright and without transparency; raises DataError."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of data beside the pixels that cannot be read
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            image = _upright(Image.open(io.BytesIO(content)))
            if image.mode.startswith("I;16"):  # convert cuts off what is above 255
                image = Image.fromarray(np.round(np.asarray(image) / 257).astype(np.uint8))
            if image.mode in ("I", "F"):
                raise ValueError(f"numbers of mode {image.mode} have no white: save 8 or 16 bits per channel")
            if image.has_transparency_data:
                image = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
            return image.convert("RGB")
        except Exception as error:  # a damaged image raises almost anything
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise DataError(f"content must be a readable image, got {len(content)} bytes ({reason})") from None


def _middle(image):
    """The middle of a strip, at most _LONGEST times as long as wide: its ends would be resized only to be cut off."""
    sides, longest = image.size, _LONGEST * min(image.size)
    kept = [min(side, longest + (side - longest) % 2) for side in sides]  # the middle stays where it is
    left, top = ((side - part) // 2 for side, part in zip(sides, kept, strict=True))
    return image.crop((left, top, left + kept[0], top + kept[1]))


def _upright(image):
    """The image turned as its EXIF data say."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # EXIF data that cannot be read say nothing; damaged pixels are found when they are converted
        return image
