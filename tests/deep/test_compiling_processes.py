"""Processes that compile: a change of any source is seen, and of two that want the same one compiles."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from checkout import ROOT

pytest.importorskip("numba", reason="compiled functions need numba")

# A function of one file that calls a helper of another one, for each family; prints what it makes and what was kept.
TOKENS = """
import json
import numpy as np
from contrastive_dynamics.compiled.fused_step import Settings, activate
w, h, slope = (np.full((1, 8), 0.5, np.float32) for _ in range(3))
s = Settings(4, 8, 8, False, False, False, *map(np.float32, range(10)))
activate(w, np.ones(1, np.float32), s, h, slope)
print(json.dumps([float(h[0, 0]), sum(activate.stats.cache_hits.values())]))
"""
CODES = """
import json
import numpy as np
from contrastive_dynamics.compiled.exponentials import exponentiate
x = np.full(8, -0.5, np.float32)
exponentiate(x)
print(json.dumps([float(x[0]), sum(exponentiate.stats.cache_hits.values())]))
"""
ALONE = TOKENS.replace(
    "activate(w, np.ones(1, np.float32), s, h, slope)",
    """from contrastive_dynamics.compiled.loader import works
assert works(lambda: activate(w, np.ones(1, np.float32), s, h, slope), "torch trains")""",
)
CHANGES = {  # family → program, file of the helper, a piece of it, another one
    "token networks": (TOKENS, "exponentials.py", "32: (80.0,", "32: (0.25,"),
    "sparse codes": (CODES, "multiply_add.py", "builder.fadd(c,", "builder.fsub(c,"),
}


@pytest.fixture
def library(tmp_path):
    """A copy of the library, below the folder of numba's caches."""
    shutil.copytree(ROOT / "lib" / "contrastive_dynamics", tmp_path / "lib" / "contrastive_dynamics")
    return tmp_path


def start(program: str, folder) -> subprocess.Popen:
    env = os.environ | {"PYTHONPATH": str(folder / "lib"), "NUMBA_CACHE_DIR": str(folder / "kept")}
    return subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True)


def result(process: subprocess.Popen) -> list:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return json.loads(said)


@pytest.mark.parametrize("family", CHANGES)
def test_a_changed_helper_of_another_file_is_seen(library, family):
    program, file, old, new = CHANGES[family]
    before, hits = result(start(program, library))
    assert hits == 0 and result(start(program, library)) == [before, 1]
    path = library / "lib" / "contrastive_dynamics" / "compiled" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    after, hits = result(start(program, library))
    assert after != before and hits == 0


def test_two_processes_that_compile_at_once_make_the_same(library):
    both = [result(process) for process in [start(TOKENS, library) for _ in range(2)]]
    assert both[0][0] == both[1][0] and result(start(TOKENS, library)) == [both[0][0], 1]


def test_of_two_processes_that_try_a_family_at_once_one_compiles(library):
    both = [result(process) for process in [start(ALONE, library) for _ in range(2)]]
    assert both[0][0] == both[1][0] and sorted(hits for _, hits in both) == [0, 1]
