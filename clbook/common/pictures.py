"""PNG files: compression, size on a page, and removal of metadata, which differ from machine to machine."""

import io

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NOTES = (b"tEXt", b"iTXt", b"zTXt", b"tIME")
PIXELS_PER_INCH = 96  # of a figure on a page: 1 pt of type is 4/3 px
BLOCK, VISIBLE = 16, 20.0  # pixels a side; a difference in its mean grey, of 255: rounding moves a line by less


def plain_png(content: bytes) -> bytes:
    """A PNG without its metadata (software, time); anything that is not a PNG is returned unchanged."""
    if not content.startswith(_SIGNATURE):
        return content
    parts, at = [_SIGNATURE], len(_SIGNATURE)
    while at < len(content):
        end = at + 12 + int.from_bytes(content[at : at + 4], "big")  # length, name, data, check sum
        if content[at + 4 : at + 8] not in _NOTES:
            parts.append(content[at:end])
        at = end
    return b"".join(parts)


def blocks(content: bytes) -> list[list[float]]:
    """The mean greys of a picture's blocks of BLOCK × BLOCK pixels, 0..255; none of what is no picture."""
    import numpy as np
    from PIL import Image

    try:
        grey = np.asarray(Image.open(io.BytesIO(content)).convert("L"), dtype=float)
    except (OSError, ValueError):
        return []
    rows, columns = (size // BLOCK * BLOCK for size in grey.shape)
    return grey[:rows, :columns].reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK).mean((1, 3)).tolist()


def look_alike(one: list[list[float]], other: list[list[float]]) -> bool:
    """Whether two pictures, as `blocks`, have the same size and no block whose greys differ visibly."""
    if [*map(len, one)] != [*map(len, other)]:
        return False
    pairs = zip(sum(one, []), sum(other, []), strict=True)
    return all(abs(a - b) <= VISIBLE for a, b in pairs)


def small_png(content: bytes) -> bytes:
    """A PNG compressed without loss: an unused alpha channel is dropped, up to 256 colours are stored as a palette.

    This saves about two thirds of a typical figure. A picture that is partly transparent is returned unchanged.
    """
    import numpy as np
    from PIL import Image

    image = Image.open(io.BytesIO(content))
    if image.mode not in ("RGB", "RGBA") or image.convert("RGBA").getextrema()[3][0] < 255:
        return content
    image, resolution = image.convert("RGB"), image.info.get("dpi")
    if image.getcolors(256):
        pixels = np.asarray(image).astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)
        colours, places = np.unique(pixels, return_inverse=True)
        image = Image.fromarray(places.reshape(pixels.shape).astype(np.uint8), mode="P")
        image.putpalette([int(c) >> shift & 255 for c in colours for shift in (16, 8, 0)])
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True, **({"dpi": resolution} if resolution else {}))
    return buffer.getvalue()


def size_on_page(content: bytes) -> tuple[int, int]:
    """Width and height in CSS pixels at which a page shows a PNG: the figure's inches, whatever its resolution is.

    A PNG that does not state a resolution is shown at its own pixels. Raises ValueError for any other format.
    """
    if not content.startswith(_SIGNATURE):
        raise ValueError("a picture must be a PNG")
    at = content.find(b"pHYs")
    per_metre = int.from_bytes(content[at + 4 : at + 8], "big") if at > 0 else PIXELS_PER_INCH / 0.0254
    width, height = (int.from_bytes(content[k : k + 4], "big") for k in (16, 20))
    scale = PIXELS_PER_INCH / (per_metre * 0.0254)
    return round(width * scale), round(height * scale)
