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


class _PlainUnpickler(pickle.Unpickler):
    """Admits numpy arrays and plain containers; anything else that a pickle names is refused, not called."""

    _ARRAY = {
        ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[
            0
        ],  # its module has been private since numpy 2
        ("numpy._core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
    }

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in self._ARRAY:
            raise pickle.UnpicklingError(f"it must hold only numpy arrays and plain containers, got {module}.{name}")
        return self._ARRAY[module, name]


def read_batch(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """A Python batch of CIFAR-10: a pickled dictionary of `data` and `labels`.

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
    data, labels = (found.get(key) for key in ("data", "labels")) if isinstance(found, dict) else (None, None)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3 * 32 * 32:
        raise ValueError("no array 'data' of bytes with 3072 columns")
    if not isinstance(labels, list) or not all(type(label) is int and 0 <= label <= 9 for label in labels):
        raise ValueError("no list 'labels' of integers 0..9")
    images = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(labels, dtype=np.uint8)


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
