"""File formats of data sets, from bytes to arrays: idx (MNIST), Python batches (CIFAR-10), npz. No code is executed."""

import gzip
import io
import math
import pickle
import zlib

import numpy as np


def read_idx(content: bytes, dims: int) -> np.ndarray:
    """A gzipped idx file of bytes: the number 0x0800 + dims, the sizes (32 bits each, big-endian), then the bytes.

    Args:
        content: the bytes of the file.
        dims: number of axes that the file must have.
    Returns: UInt8[ndarray] with the sizes given in the file.
    Raises: ValueError for another magic number, a number of bytes that does not match the sizes, or a damaged gzip
        file.
    """
    try:
        raw = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"not a whole gzip file ({error})") from None
    start = 4 + 4 * dims
    magic, *shape = (int.from_bytes(raw[k : k + 4], "big") for k in range(0, start, 4))
    if magic != 0x0800 + dims:
        raise ValueError(f"magic number must be {0x0800 + dims}, got {magic}")
    if len(raw) != start + math.prod(shape):
        raise ValueError(f"content must have {start + math.prod(shape)} bytes, got {len(raw)}")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape).copy()


def _bytes(text: str, encoding: str) -> bytes:
    """Bytes as Python 3 writes them for Python 2: as text of the same codes. Other codecs may unpack or run long."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes must be written as latin1, got {encoding!r}")
    return text.encode("latin1")


def _number(dtype: np.dtype, content: bytes) -> np.generic:
    return np.frombuffer(content, dtype, count=1)[0]  # refuses a dtype of objects


def _array(content: bytes, dtype: np.dtype, shape: tuple[int, ...], order: str) -> np.ndarray:
    return np.frombuffer(content, dtype).reshape(shape, order=order)


class _PlainUnpickler(pickle.Unpickler):
    """Admits numpy arrays and numbers and plain containers; anything else that a pickle names is refused, not called.

    Python 2 wrote the official files. Python 3 writes the same with other names, numpy 2 with yet others.
    """

    _PLAIN = {
        ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],  # its module is private since numpy 2
        ("numpy.core.multiarray", "scalar"): _number,
        ("numpy.core.numeric", "_frombuffer"): _array,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("_codecs", "encode"): _bytes,
    }

    def find_class(self, module: str, name: str) -> object:
        known = (module.replace("numpy._core.", "numpy.core."), name)
        if known not in self._PLAIN:
            raise pickle.UnpicklingError(f"it must hold only numpy arrays and plain containers, got {module}.{name}")
        return self._PLAIN[known]


def read_batch(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """A Python batch of CIFAR-10: a pickled dictionary of `data` and `labels`, written by Python 2 or 3.

    Each row of `data` is one image: the red, the green and the blue plane.

    Args:
        content: the bytes of the file.
    Returns: images UInt8[ndarray, "n 32 32 3"] and labels UInt8[ndarray, "n"].
    Raises: ValueError for a pickle that is damaged, names anything but arrays and containers, or holds something else.
    """
    try:
        found = _PlainUnpickler(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a damaged pickle raises almost anything
        raise ValueError(f"not the pickle that is expected ({error})") from None
    # a batch that was read with encoding="bytes" and written again has bytes as keys
    found = found if isinstance(found, dict) else {}
    named = {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in found.items()}
    data, labels = (named.get(key) for key in ("data", "labels"))
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3 * 32 * 32:
        raise ValueError("no array 'data' of bytes with 3072 columns")
    labels = labels.tolist() if isinstance(labels, np.ndarray) else labels
    if not isinstance(labels, list) or not all(_is_label(label) for label in labels):
        raise ValueError("no list 'labels' of integers 0..9")
    if len(labels) != len(data):
        raise ValueError(f"as many labels as images must be there, got {len(labels)} and {len(data)}")
    images = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(labels, dtype=np.uint8)


def _is_label(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= value <= 9


def read_npz(content: bytes, keys: list[str]) -> list[np.ndarray]:
    """Arrays of an npz file by name, without unpickling anything.

    Args:
        content: the bytes of the file.
        keys: names of the arrays.
    Returns: the arrays in the order of the keys.
    Raises: ValueError for a damaged file or a name that is not in it.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return [arrays[key] for key in keys]
    except Exception as error:  # a damaged archive, a single array, a pickle: almost anything
        raise ValueError(f"not the npz file that is expected ({error})") from None
