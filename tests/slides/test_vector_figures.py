"""`clbook run --figures`: the run's figures as SVG and PDF, beside the PNG that is stored."""

import hashlib

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402

from clbook.notebook import glue  # noqa: E402


def drawn():
    fig, ax = plt.subplots(layout="constrained")
    ax.plot([0, 1], [1, 0])
    ax.set(title="a line", xlabel="$x$")
    return fig


def test_a_figure_is_also_written_as_svg_and_pdf(tmp_path, monkeypatch):
    monkeypatch.delenv(glue.FIGURES, raising=False)
    plain = glue.as_png(drawn(), "line", 96)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv(glue.FIGURES, str(tmp_path))
    assert glue.as_png(drawn(), "line", 96) == plain, "the stored picture must not depend on it"
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(first) == {"line.svg", "line.pdf"}
    assert b"/Type3" not in first["line.pdf"] and b"/FontFile2" in first["line.pdf"] and b"a line" in first["line.svg"]
    assert b"<svg" in first["line.svg"] and first["line.pdf"].startswith(b"%PDF")
    glue.as_png(drawn(), "line", 96)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    assert glue.DRAWN.pop("line") == hashlib.sha256(plain).hexdigest()
