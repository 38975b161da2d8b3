"""The film that a test in a browser leaves with `CLBOOK_FILM`."""

import io

from browser import Film
from PIL import Image


def png(grey: int, width: int = 4) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, 3), (grey, grey, grey)).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_film_has_each_change_once_and_frames_of_one_size(tmp_path):
    film, path = Film(), tmp_path / "films" / "one.webp"
    for frame in (png(0), png(0), png(9), png(0, width=5), png(0)):
        film.keep(frame)
    film.save(path)
    with Image.open(path) as found:
        assert (found.n_frames, found.size) == (3, (4, 3))
    assert film.frames == []


def test_a_film_of_nothing_is_not_written(tmp_path):
    Film().save(tmp_path / "none.webp")
    assert list(tmp_path.iterdir()) == []
