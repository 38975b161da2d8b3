"""File formats of data sets, on small files that the tests write: read as specified, refused otherwise, never run."""

import gzip
import io
import os
import pickle
import struct
from functools import partial

import numpy as np
import pytest
from one_line_error import one_line_error

from contrastive_dynamics.data.formats import read_batch, read_idx, read_npz

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)


def idx(array, magic=None, sizes=None):
    """An idx file of bytes, gzip'd, as the authors of MNIST define it."""
    head = struct.pack(">I", 0x0800 + array.ndim if magic is None else magic)
    return gzip.compress(head + struct.pack(f">{array.ndim}I", *(sizes or array.shape)) + array.tobytes(), mtime=0)


def python_2_batch(rows, labels):
    """A batch in the opcodes that Python 2 wrote (protocol 2, text as bytes), which Python 3 cannot write itself."""

    def text(value):
        return b"T" + struct.pack("<I", len(value)) + value

    def number(value):
        return b"J" + struct.pack("<i", value)

    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\0K\1\x87R(K\3" + text(b"|") + b"NNN" + number(-1) * 2 + b"K\0tb"
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" + text(b"b") + b"\x87R"
    state = (
        b"(K\1" + number(len(rows)) + number(rows.shape[1]) + b"\x86" + dtype + b"\x89" + text(rows.tobytes()) + b"t"
    )
    items = text(b"data") + empty + state + b"b" + text(b"labels") + b"](" + b"".join(map(number, labels)) + b"e"
    return b"\x80\2}(" + items + text(b"batch_label") + text(b"training batch 1 of 5") + b"u."


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


class Harmful:
    """Creates a folder when it is carelessly unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_idx_is_read_and_can_be_written_to():
    assert np.array_equal(read_idx(idx(PIXELS), 3), PIXELS)
    labels = read_idx(idx(np.arange(10, dtype=np.uint8)), 1)
    labels[0] = 7
    assert labels.dtype == np.uint8 and labels.tolist() == [7, *range(1, 10)]


def test_a_batch_of_python_2_is_read_plane_by_plane():
    rows = np.random.default_rng(1).integers(0, 256, (4, 3072), dtype=np.uint8)
    images, labels = read_batch(python_2_batch(rows, [6, 9, 0, 4]))
    assert images.shape == (4, 32, 32, 3) and images.dtype == labels.dtype == np.uint8
    assert labels.tolist() == [6, 9, 0, 4]
    for channel, row, column in [(0, 0, 0), (1, 0, 31), (2, 17, 5)]:
        assert np.array_equal(images[:, row, column, channel], rows[:, 1024 * channel + 32 * row + column])


BATCH_ROWS, BATCH_LABELS = np.random.default_rng(2).integers(0, 256, (5, 3072), dtype=np.uint8), [3, 0, 9, 9, 1]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("numpy_2", [True, False])
@pytest.mark.parametrize(
    "batch",
    [
        {
            "data": BATCH_ROWS,
            "labels": BATCH_LABELS,
            "batch_label": "training batch 1 of 5",
            "filenames": ["a.png"] * 5,
        },
        {b"data": BATCH_ROWS, b"labels": BATCH_LABELS, b"batch_label": b"training batch \xff"},
        {"data": np.asfortranarray(BATCH_ROWS), "labels": np.array(BATCH_LABELS)},
        {"data": np.repeat(BATCH_ROWS, 2, 0)[::2], "labels": list(np.array(BATCH_LABELS, dtype=np.uint8))},
    ],
    ids=["text", "bytes", "columns first", "parts of arrays"],
)
def test_a_batch_of_python_3_is_read_alike(protocol, numpy_2, batch):
    content = pickle.dumps(batch, protocol=protocol)
    if not numpy_2 and protocol < 4:  # the names that numpy 1 wrote; later protocols prefix the length
        content = content.replace(b"numpy._core.", b"numpy.core.")
    images, labels = read_batch(content)
    expected = read_batch(python_2_batch(BATCH_ROWS, BATCH_LABELS))
    assert np.array_equal(images, expected[0]) and np.array_equal(labels, expected[1])
    assert images.flags.writeable and images.dtype == labels.dtype == np.uint8


def test_a_harmful_pickle_is_refused_and_does_nothing(tmp_path):
    content = pickle.dumps({"data": Harmful(tmp_path / "harm"), "labels": []}, protocol=2)
    with pytest.raises(ValueError, match=r"it must hold only numpy arrays and plain containers, got \w+\.mkdir"):
        read_batch(content)
    assert not any(tmp_path.iterdir())
    pickle.loads(content)  # the control: what a careless reader does
    assert (tmp_path / "harm").exists()


ROWS = np.zeros((2, 3072), dtype=np.uint8)


IDX = [
    (idx(PIXELS, magic=2049), "magic number must be 2051, got 2049"),
    (idx(PIXELS, magic=0x0D03), "magic number must be 2051, got 3331"),
    (idx(PIXELS[:2], sizes=(3, 4, 5)), "content must have 76 bytes, got 56"),
    (idx(PIXELS, sizes=(2, 4, 5)), "content must have 56 bytes, got 76"),
    (gzip.compress(b"\0\0\x08\x03\0\0", mtime=0), "bytes, got 6"),
    (gzip.compress(b"", mtime=0), "magic number must be 2051, got 0"),
    (idx(PIXELS)[:40], "not a whole gzip file"),
    (b"<html>not found</html>", "not a whole gzip file"),
    (b"", "magic number must be 2051, got 0"),
]
BATCHES = [
    (b"c_codecs\nencode\n(Vx\nVzip\ntR.", "bytes must be written as latin1, got 'zip'"),
    (b"c_codecs\nencode\n(Vx\nVpunycode\ntR.", "bytes must be written as latin1, got 'punycode'"),
    (b"c_codecs\ndecode\n(Vx\nVlatin1\ntR.", "it must hold only .*, got _codecs.decode"),
    (b"cnumpy._core.numeric\nfromfile\n.", "it must hold only .*, got numpy._core.numeric.fromfile"),
    (b"cnumpy._core.multiarray\nfrombuffer\n.", "it must hold only .*, got numpy._core.multiarray.frombuffer"),
    (pickle.dumps(np.array([print]), protocol=5), "it must hold only .*, got builtins.print"),
    (b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(VO\ntRVx\ntR.", "not the pickle that is expected"),
    (b"cnumpy\nndarray.tofile\n.", "it must hold only .*, got numpy.ndarray.tofile"),
    (python_2_batch(ROWS, [1, 2])[:-50], "not the pickle that is expected"),
    (b"", "not the pickle that is expected"),
    (b"].", "no array 'data'"),
    (python_2_batch(ROWS[:, :100], [1, 2]), "no array 'data' of bytes with 3072 columns"),
    (python_2_batch(ROWS, [1, 10]), "no list 'labels' of integers 0..9"),
    (pickle.dumps({"data": [], "labels": []}), "no array 'data'"),
    (pickle.dumps({"data": ROWS, "labels": [True, 1]}), "no list 'labels' of integers 0..9"),
    (pickle.dumps({"data": ROWS, "labels": np.array([0.5, 1])}), "no list 'labels' of integers 0..9"),
    (pickle.dumps({"data": ROWS, "labels": np.array([-1, 1])}), "no list 'labels' of integers 0..9"),
    (python_2_batch(ROWS, [1, 2, 3]), "as many labels as images must be there, got 3 and 2"),
    (pickle.dumps(7), "no array 'data'"),
    *(
        (f"c{module}\n{function}\n.".encode(), f"it must hold only .*, got {module}.{function}")  # even uncalled
        for module, function in (
            ("os", "system"), ("builtins", "eval"), ("numpy", "load"), ("numpy.core.multiarray", "fromfile"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "read, content, words",
    [(partial(read_idx, dims=3), *row) for row in IDX] + [(read_batch, *row) for row in BATCHES],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes may differ from process to process
)
def test_what_is_off_is_refused_and_opens_no_door(read, content, words):
    with one_line_error(ValueError, words):
        read(content)


def test_npz_is_read_by_name():
    a, b = read_npz(npz(a=PIXELS, b=PIXELS[0], c=PIXELS[1]), ["b", "a"])
    assert np.array_equal(a, PIXELS[0]) and np.array_equal(b, PIXELS)


def test_npz_that_is_off_is_refused_and_pickles_in_it_are_not_run(tmp_path):
    single = io.BytesIO()
    np.save(single, PIXELS)
    harmful = npz(a=np.array([Harmful(tmp_path / "harm")], dtype=object))
    for content in (npz(b=PIXELS), npz(a=PIXELS)[:-30], b"", single.getvalue(), harmful, pickle.dumps([1])):
        with pytest.raises(ValueError, match="not the npz file that is expected"):
            read_npz(content, ["a"])
    assert not any(tmp_path.iterdir())
