"""The outputs that the kernels page shows are what it says; `tests/deep/test_whole_pages.py` runs its programs."""

from page_code import BOOK
from page_outputs import numbers, run, shown, with_outputs

TEXT = (BOOK / "kernels.md").read_text(encoding="utf-8")


def test_what_the_page_shows_is_what_it_says():
    towers, spectrum, growth, share, r2, optimum, clusters, spectra, learned = map(numbers, shown(TEXT))
    assert spectrum[2] > 5 * spectrum[3]  # three stand out
    (kept, noise), (_, unmasked_noise) = growth[:2], growth[2:]
    assert kept > 0.04 and noise < 0 < 0.08 < unmasked_noise
    assert abs(share[0] - 16 / 128) < 0.03 and share[0] < share[1] and share[2] > 0.7
    assert 0.1 < r2[0] < r2[1] and abs(r2[1] - 0.05 / 0.14) < 1e-3
    assert abs(optimum[0] - sum(optimum[1:])) < 2e-3
    assert clusters[0] > clusters[1] + 0.2
    assert max(abs(p - q) for p, q in zip(towers[:8], towers[8:16], strict=True)) < 0.03  # two towers have their own ρ
    assert abs(sum(towers[16:]) - 1) < 0.02
    assert sum(abs(p - q) for p, q in zip(spectra[:6], spectra[6:12], strict=True)) / 2 < 0.1
    at_most, trained = learned  # views of digits are not Gaussian: the sum of correlations is no prediction
    assert trained < 0.9 * at_most


def test_outputs_are_put_below_their_programs_and_replaced():
    page = "Say it.\n\n```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\nold\n```\n\nDone.\n"
    assert run(page) == ["", "1\n"] and shown(page) == ["", "old\n"]
    assert with_outputs(page, run(page)) == page.replace("old", "1")
    assert with_outputs(page.replace("\n```text\nold\n```\n", ""), run(page)) == page.replace("old", "1")
