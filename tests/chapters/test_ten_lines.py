"""The ten lines that One testbed gives to users of CLIP, run as a reader copies them, on two files of known content."""

import subprocess
import sys
from pathlib import Path

import numpy as np

CHAPTER = Path(__file__).parents[2] / "chapters" / "one-testbed.py"


def ten_lines() -> str:
    text = CHAPTER.read_text(encoding="utf-8").partition("(ot-ten-lines)=")[2]
    fence = text.partition("# ```python\n")[2].partition("# ```\n")[0]
    return "".join(line[2:] or "\n" for line in fence.splitlines(keepends=True))


def test_ten_lines_say_what_two_towers_share(tmp_path):
    rng, rho, n = np.random.default_rng(0), np.array([0.9, 0.7, 0.5, 0.3]), 4000
    shared = rng.normal(size=(n, 4))
    for name, width in (("images", 12), ("texts", 8)):
        own = rng.normal(size=(n, width))
        own[:, :4] = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own[:, :4]
        np.save(tmp_path / f"{name}.npy", (own @ rng.normal(size=(width, width))).astype(np.float32))
    lines = ten_lines()
    assert len([line for line in lines.splitlines() if line.strip()]) == 10
    done = subprocess.run([sys.executable, "-c", lines], cwd=tmp_path, text=True, capture_output=True, check=True)
    found, total = (line.split(maxsplit=n)[-k:] for line, k in zip(done.stdout.splitlines(), (8, 1), strict=True))
    assert np.allclose([float(x.strip("[],")) for x in found[:4]], rho, atol=0.05)
    assert abs(float(total[0]) - rho.sum()) < 0.2
