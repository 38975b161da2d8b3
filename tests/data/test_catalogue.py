"""Data sets: every layout on small files that the tests write, and on real files where CONTRASTIVE_DATA has them."""

import functools
import hashlib
import http.server
import os
import sys
import threading

import numpy as np
import pytest
from checkout import ROOT
from test_formats import idx, npz, python_2_batch

from clbook.pages.book_pages import data_files
from contrastive_dynamics.data import catalogue
from contrastive_dynamics.data.catalogue import SUMS, DataError, check, cifar10, data_folder, digits, mnist

RANDOM = np.random.default_rng(0)
NOWHERE = "http://127.0.0.1:9/"  # a port on which nothing listens
MNIST = list(SUMS["mnist"])
CLASS_COUNTS = {"train": 5000, "test": 1000}


def small_files():
    """Data set → file → content: every file of every data set, in its layout, of a few images."""
    bytes_ = functools.partial(RANDOM.integers, 0, 256, dtype=np.uint8)
    pictures = [idx(bytes_((6, 28, 28))), idx(np.arange(6, dtype=np.uint8))] * 2
    batches = [python_2_batch(bytes_((2, 3072)), [k, k + 1]) for k in range(6)]
    compact = [npz(images=bytes_((n, 32, 32, 3)), labels=np.arange(n, dtype=np.uint8)) for n in (4, 3)]
    exact = {f"{s}_images": bytes_((2, 32, 32, 3)) for s in ("train", "test")}
    exact |= {f"{s}_labels": np.array([5, 7], dtype=np.uint8) for s in ("train", "test")}
    exact |= {f"{s}_index": np.array([3, 12], dtype=np.int32) for s in ("train", "test")}
    contents = {"mnist": pictures, "cifar10": batches, "cifar10-jpeg": compact, "cifar10-exact": [npz(**exact)]}
    return {name: dict(zip(SUMS[name], files, strict=True)) for name, files in contents.items()}


def sums_of(files):
    """The table of sums that fits the contents, each of the kind that the real table has."""
    table = {"generated": {}, "digits": {}}
    for name, contents in files.items():
        kinds = {file: SUMS[name][file].partition(":")[0] for file in contents}
        table[name] = {f: f"{kinds[f]}:{hashlib.new(kinds[f], content).hexdigest()}" for f, content in contents.items()}
    return table


@pytest.fixture
def files(monkeypatch):
    made = small_files()
    monkeypatch.setattr(catalogue, "SUMS", sums_of(made))
    monkeypatch.setattr(catalogue, "MNIST_MIRRORS", (NOWHERE, NOWHERE + "b/"))
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "CONTRASTIVE_DATA"):
        monkeypatch.delenv(variable, raising=False)
    return made


@pytest.fixture
def folder(files, tmp_path):
    """A folder that holds all of them."""
    for file, content in (item for contents in files.values() for item in contents.items()):
        path = tmp_path / "data" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "data"


def test_digits_come_with_scikit_learn():
    found = digits()
    assert found.images.shape == (1797, 8, 8) and found.images.dtype == np.uint8 and found.images.max() == 16
    assert found.labels.shape == found.index.shape == (1797,) and set(found.labels) == set(range(10))


@pytest.mark.parametrize(
    "load, count, size",
    [
        (mnist, (6, 6), (28, 28)),
        (cifar10, (10, 2), (32, 32, 3)),
        (functools.partial(cifar10, name="cifar10-jpeg"), (4, 3), (32, 32, 3)),
        (functools.partial(cifar10, name="cifar10-exact"), (2, 2), (32, 32, 3)),
    ],
)
def test_each_layout_is_read(folder, monkeypatch, load, count, size):
    for split, n in zip(("train", "test"), count, strict=True):
        found = load(split, folder)
        assert found.images.shape == (n, *size) and found.labels.shape == found.index.shape == (n,)
        assert found.images.dtype == found.labels.dtype == np.uint8 and found.index.dtype == np.int64
        monkeypatch.setenv("CONTRASTIVE_DATA", str(folder))
        assert np.array_equal(load(split).images, found.images)


def test_training_batches_stand_in_their_order(folder):
    assert cifar10("train", folder).labels.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert cifar10("test", folder).labels.tolist() == [5, 6]
    assert cifar10("train", folder, name="cifar10-exact").index.tolist() == [3, 12]


@pytest.mark.parametrize("name", SUMS)
def test_check_passes_on_whole_data_sets_and_finds_each_wrong_or_missing_file(folder, name):
    check(name, folder)
    for file in SUMS[name]:
        path, content = folder / file, (folder / file).read_bytes()
        path.write_bytes(content[:-1])
        with pytest.raises(DataError) as caught:
            check(name, folder)
        said, known = str(caught.value), catalogue.SUMS[name][file]
        kind = known.partition(":")[0]
        assert said.startswith(f"{path} has the sum {kind}:{hashlib.new(kind, content[:-1]).hexdigest()}, expected")
        assert f"expected {known}; delete it, then " in said and "\n" not in said
        path.unlink()
        with pytest.raises(DataError) as caught:
            check(name, folder)
        said = str(caught.value)
        assert said.startswith(f"{path} ({known}) is missing") and "\n" not in said
        assert "CONTRASTIVE_DATA names another folder" in said
        path.write_bytes(content)


@pytest.mark.parametrize("load", [mnist, cifar10, functools.partial(cifar10, name="cifar10-exact")])
def test_a_file_with_another_sum_is_not_parsed(folder, monkeypatch, load):
    for reader in ("read_idx", "read_batch", "read_npz"):
        monkeypatch.setattr(catalogue, reader, lambda *args: pytest.fail("parsed"))
    for path in folder.rglob("*.*"):
        if path.is_file():
            path.write_bytes(b"x" + path.read_bytes())
    for path in (folder / "cifar10" / "cifar-10-batches-py").iterdir():
        path.write_bytes(b"x")
    with pytest.raises(DataError, match="has the sum"):
        load("train", folder)


@pytest.mark.parametrize(
    "name, file, content, message",
    [
        (
            "mnist",
            MNIST[0],
            idx(np.zeros((6, 28, 27), np.uint8)),
            r"images must be uint8 \(6, 28, 28\), got uint8 \(6, 28, 27\)",
        ),
        (
            "mnist",
            MNIST[0],
            idx(np.zeros((5, 28, 28), np.uint8)),
            r"images must be uint8 \(6, 28, 28\), got uint8 \(5, 28, 28\)",
        ),
        (
            "mnist",
            MNIST[0],
            idx(np.zeros((6, 28), np.uint8)),
            "train-images-idx3-ubyte.gz: magic number must be 2051, got 2050",
        ),
        ("mnist", MNIST[1], idx(np.full(6, 10, np.uint8)), "labels must be 0 to 9 .*, got labels up to 10"),
        ("cifar10", "cifar10/cifar-10-batches-py/data_batch_3", b"cos\nsystem\n.", "data_batch_3: .*got os.system"),
        ("cifar10-jpeg", "cifar10/cifar10_train.npz", npz(images=np.zeros(3)), "cifar10_train.npz: not the npz file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes may differ from process to process
)
def test_a_file_with_its_sum_but_other_content_is_refused_by_name(
    files, folder, monkeypatch, name, file, content, message
):
    (folder / file).write_bytes(content)
    files[name][file] = content
    monkeypatch.setattr(catalogue, "SUMS", sums_of(files))
    with pytest.raises(DataError, match=message):
        mnist("train", folder) if name == "mnist" else cifar10("train", folder, name=name)


def test_what_is_unknown_is_refused(folder):
    with pytest.raises(DataError, match="data set must be one of generated, digits, .*, got 'cifar'"):
        check("cifar", folder)
    with pytest.raises(DataError, match="split must be train or test, got 'val'"):
        mnist("val", folder)
    with pytest.raises(DataError, match="name must be cifar10, cifar10-jpeg or cifar10-exact, got 'mnist'"):
        cifar10("train", folder, name="mnist")


def test_the_folder_is_the_given_one_then_the_variable_s_then_the_user_s_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path))
    assert data_folder("x").name == "x" and data_folder() == tmp_path
    monkeypatch.setenv("CONTRASTIVE_DATA", "data")
    with pytest.raises(DataError, match="CONTRASTIVE_DATA: got 'data', allowed is an absolute path"):
        data_folder()
    monkeypatch.setenv("CONTRASTIVE_DATA", "")
    assert data_folder().is_absolute() and "contrastive-dynamics" in data_folder().parts
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match="CONTRASTIVE_DATA is not set: set it to a folder for data sets, or install"):
        data_folder()


def test_a_missing_file_without_a_network_is_one_error_and_leaves_nothing(files, tmp_path):
    with pytest.raises(DataError) as caught:
        mnist("train", tmp_path / "new" / "data")
    said, known = str(caught.value), catalogue.SUMS["mnist"][MNIST[0]]
    assert said.startswith(f"{tmp_path / 'new' / 'data' / MNIST[0]} ({known}) is missing and could not be downloaded (")
    assert said.count(NOWHERE) == 3 and "ConnectionError" in said and "\n" not in said
    assert not any(tmp_path.iterdir())


def test_without_the_package_that_downloads_the_error_says_so(files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"could not be downloaded \(pooch is not installed\)"):
        check("mnist", tmp_path)


@pytest.fixture
def mirror(tmp_path):
    """The address of a server on this machine and the folder that it serves."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    (tmp_path / "served").mkdir()
    handler = functools.partial(Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", tmp_path / "served"
        server.shutdown()


def test_missing_files_are_downloaded_from_the_first_mirror_that_serves(files, mirror, tmp_path, monkeypatch, capfd):
    address, served = mirror
    for file, content in files["mnist"].items():
        (served / file.removeprefix("mnist/")).write_bytes(content)
    monkeypatch.setattr(catalogue, "MNIST_MIRRORS", (NOWHERE, address))
    assert mnist("test", tmp_path / "data").labels.tolist() == list(range(6))
    assert sorted(p.name for p in (tmp_path / "data" / "mnist").iterdir()) == sorted(MNIST[k][6:] for k in (2, 3))
    check("mnist", tmp_path / "data")
    monkeypatch.setattr(catalogue, "MNIST_MIRRORS", ())
    check("mnist", tmp_path / "data")
    assert capfd.readouterr().err == ""


def test_a_download_with_another_sum_is_not_put_into_place(files, mirror, tmp_path, monkeypatch):
    address, served = mirror
    (served / MNIST[0].removeprefix("mnist/")).write_bytes(b"a page that says sorry")
    monkeypatch.setattr(catalogue, "MNIST_MIRRORS", (address, address + "none/"))
    with pytest.raises(DataError, match=r"could not be downloaded \(\S+: wrong sum; \S+none/: HTTPError\)"):
        check("mnist", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_the_page_on_data_names_every_data_set_and_lists_every_sum():
    page = (ROOT / "book" / "data.md").read_text(encoding="utf-8")
    assert "{include} _generated/data-files.md" in page
    assert [name for name in SUMS if f"\n| `{name}` |" not in page] == []
    table = data_files()
    for file, known in (item for files in SUMS.values() for item in files.items()):
        assert f"| `{file}` | {known.replace(':', ' | `')}` |" in table


def real(name):
    """The folder of real data, or skip with the reason."""
    if not os.environ.get("CONTRASTIVE_DATA"):
        pytest.skip("CONTRASTIVE_DATA is not set: real files were not read")
    lacking = [file for file in SUMS[name] if not (data_folder() / file).is_file()]
    if lacking:
        pytest.skip(f"CONTRASTIVE_DATA holds no {lacking[0]}: real files of {name} were not read")


@pytest.mark.parametrize("split, count", [("train", 60000), ("test", 10000)])
def test_real_mnist(split, count):
    real("mnist")
    found = mnist(split)
    assert found.images.shape == (count, 28, 28)
    assert found.labels[:5].tolist() == {"train": [5, 0, 4, 1, 9], "test": [7, 2, 1, 0, 4]}[split]
    assert found.images[:, 0, 0].max() == 0 and found.images.max() == 255


@pytest.mark.parametrize("split, count", [("train", 50000), ("test", 10000)])
def test_real_cifar10(split, count):
    real("cifar10")
    found = cifar10(split)
    assert found.images.shape == (count, 32, 32, 3)
    assert np.bincount(found.labels).tolist() == [CLASS_COUNTS[split]] * 10


@pytest.mark.parametrize("split", ["train", "test"])
def test_real_compact_copies_show_the_same_images(split):
    real("cifar10-jpeg")
    real("cifar10-exact")
    jpeg, exact = cifar10(split, name="cifar10-jpeg"), cifar10(split, name="cifar10-exact")
    both = exact.index < len(jpeg.labels)
    assert both.sum() == {"train": 5017, "test": 1017}[split]
    assert np.array_equal(exact.labels[both], jpeg.labels[exact.index[both]])

    def decibel(shift):
        apart = exact.images[both].astype(float) - jpeg.images[exact.index[both] + shift]
        return 10 * np.log10(255**2 / (apart**2).mean(axis=(1, 2, 3)))

    assert decibel(0).min() > 20 and decibel(1).mean() < 15
