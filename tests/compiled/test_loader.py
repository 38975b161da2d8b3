"""Where compiled functions cannot be had, both families say so once, with the reason, and torch trains."""

import importlib
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from contrastive_dynamics import compiled
from contrastive_dynamics.compiled import loader
from contrastive_dynamics.feature_decoupling import decoupled_training, fused_stream
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining
from contrastive_dynamics.nonlinearity.networks import ensemble_training, fused_training
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at
from contrastive_dynamics.numerics.random_streams import stream

resource = pytest.importorskip("resource", reason="a limit on files stands for a full disk")
config = pytest.importorskip("numba", reason="compiled functions need numba").core.config
TOKENS = TokenTraining(candidates=3, beta=1, places=5, tokens=6, generators=7, length=2, outputs=7, batch=13)


def train_tokens(by_torch: bool):
    if by_torch:
        return list(ensemble_training.train([(TOKENS, 1)], 2, "cpu"))[-1]
    (found,) = weights_at([2], [(TOKENS, 1)], "cpu")
    return found


def train_codes(by_torch: bool):
    model = SparseCoding(random_dictionary(12, 3, [stream(0, 0, "dictionary")]), 0.3, 0.5)
    start = torch.randn(1, 5, 12, generator=stream(0, 0, "weights")).to(model.dtype)
    training, draws = DecoupledTraining(batch=20, negatives=10), [stream(0, 0, "data")]
    return decoupled_training.train(model, start, training, draws, [2], fused=not by_torch)


FAMILIES = {"token networks are trained by torch": train_tokens, "sparse codes are trained by torch": train_codes}


def forget() -> None:
    """Nothing of the room but the loader is imported, and nothing said: no test sees what another one imported."""
    for name in (
        "exponentials",
        "fused_draws",
        "fused_gradient",
        "fused_loss",
        "fused_step",
        "kept_functions",
        "multiply_add",
        "register_tiles",
    ):
        sys.modules.pop(f"{compiled.__name__}.{name}", None)
        vars(compiled).pop(name, None)
    loader._loaded.cache_clear()
    loader._works.cache_clear()


@pytest.fixture
def fresh(monkeypatch):
    forget()
    yield monkeypatch
    forget()


def numba_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "numba", None)
    return "numba"


def the_compiler_is_switched_off(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return "numba compiles nothing here"


def the_compiler_fails(monkeypatch, tmp_path):
    from numba.core.compiler import CompilerBase

    def refuse(*_):
        raise ValueError("no such processor")

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(CompilerBase, "compile_extra", refuse)
    return "no such processor"


def one_function_of_a_family_is_refused(monkeypatch, tmp_path):
    """As by an LLVM that compiles the small functions of a family and not its largest."""
    from numba.core.compiler import CompilerBase
    from numba.core.errors import LoweringError

    compile_extra = CompilerBase.compile_extra

    def refuse(self, function):
        if function.__name__ in ("steps", "gradient"):
            raise LoweringError("no registers are left")
        return compile_extra(self, function)

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(CompilerBase, "compile_extra", refuse)
    return "no registers are left"


def no_folder_can_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "kept"))
    return "Not a directory"


def the_home_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "file" / "home"))
    return "Not a directory"


def the_disk_is_full(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    return "File too large"


CASES = [
    numba_is_missing, the_compiler_is_switched_off, the_compiler_fails, one_function_of_a_family_is_refused,
    no_folder_can_be_made, the_home_cannot_be_written, the_disk_is_full,
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_torch_trains_and_that_is_said_once(fresh, tmp_path, case, family):
    limit, train = resource.getrlimit(resource.RLIMIT_FSIZE), FAMILIES[family]
    reason = case(fresh, tmp_path)
    try:
        with warnings.catch_warnings(record=True) as said, ThreadPoolExecutor(2) as threads:
            warnings.simplefilter("always")
            found = [*threads.map(train, (False, False)), train(False)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    (message,) = [str(each.message) for each in said]
    assert message.startswith(family) and reason in message
    expected = train(True)
    assert all(torch.equal(a, b) for each in found for a, b in zip(each, expected, strict=True))


def test_nothing_is_said_where_all_is_well(fresh):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step, gradient = fused_training.compiled(), fused_stream.compiled()
        model = SparseCoding(random_dictionary(12, 3, [stream(0, 0, "dictionary")]), 0.3, 0.5)
        assert fused_training.can_be_fused([TOKENS], torch.device("cpu")) and fused_stream.can_be_fused(model)
    assert step is fused_training.compiled() and gradient is fused_stream.compiled()
    assert step.lanes == gradient.lanes == importlib.import_module(f"{compiled.__name__}.register_tiles").LANES
