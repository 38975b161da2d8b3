"""The arithmetic of the live picture "masks": the library makes the test vectors, and the script meets them."""

import itertools
import json

import pytest
import torch
from mask_vectors import ACTIVE, ATOMS, DIM, LONG, PATH, model, moment, vectors
from script_engine import Engine, flat, truths

from contrastive_dynamics.feature_decoupling import (
    SparseCoding,
    contrastive_gradient,
    cross_moment,
    growth_rates,
    linear_share,
)
from contrastive_dynamics.feature_decoupling.view_correlation import second_moment

STORED = json.loads(PATH.read_text(encoding="utf-8"))
NAMES = [f"{row['both']} in both, noise {row['noise']}" for row in STORED["rows"]]
each_row = pytest.mark.parametrize("row", STORED["rows"], ids=NAMES)


@pytest.fixture(scope="module")
def engine():
    return Engine("masks.math.js")


def settings(row: dict) -> dict:
    return {"both": row["both"], "noise": row["noise"]}


def test_the_stored_vectors_are_the_librarys():
    stored, made = flat(STORED), flat(json.loads(json.dumps(vectors())))
    assert len(stored) > 150 and stored.keys() == made.keys()
    assert {p: (v, made[p]) for p, v in stored.items() if v != pytest.approx(made[p], rel=1e-9, abs=1e-12)} == {}


def test_the_dictionary_is_the_librarys(engine):
    atoms = f"Array.from({{length: {DIM}}}, (_, i) => [0, 1, 2, 3].map(j => explorables.masksMath.atom(i, j)))"
    found = torch.tensor(engine.value(atoms), dtype=torch.float64)
    torch.testing.assert_close(found, model(1).dictionary[0], rtol=1e-14, atol=0)


@each_row
def test_every_entry_of_the_moment_is_the_librarys(engine, row):
    given = json.dumps(settings(row))
    entry = f"(({{signal, noise}}) => signal + noise)(explorables.masksMath.moment({given}, i, k))"
    found = engine.value(f"explorables.masksMath.begin.rest.map((_, i, all) => all.map((_, k) => {entry}))")
    want = moment(model(row["noise"]), row["both"])
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), want, rtol=1e-12, atol=1e-15)
    assert [found[0][k] for k in (0, 1, 8)] == pytest.approx(row["moment"], rel=1e-12, abs=1e-15)


@each_row
def test_the_neuron_is_that_of_the_matrix_exponential(engine, row):
    half = engine("masksMath.size", settings(row), row["time"] / 2)
    assert half["length"] == pytest.approx(row["half"]["length"], rel=1e-10)
    assert half["share"] == pytest.approx(row["half"]["share"], rel=1e-10)
    parts = engine("masksMath.weights", settings(row), row["time"] / 2)
    w = [a + b for a, b in zip(parts["signal"], parts["rest"], strict=True)]
    assert w[::9] == pytest.approx(row["half"]["weights"], rel=1e-9, abs=1e-12)


@each_row
def test_the_end_of_the_stage_is_the_librarys(engine, row):
    end = engine("masksMath.grown", settings(row))
    assert engine("masksMath.grownAt", settings(row)) == pytest.approx(row["time"], rel=1e-10)
    assert end["share"] == pytest.approx(row["end"], rel=1e-9) and end["length"] == pytest.approx(LONG, rel=1e-12)


@pytest.mark.parametrize(("both", "views"), [(0, "masked"), (0.5, "independent"), (0.5, "plain")])
def test_rates_and_share_are_the_librarys(engine, both, views):
    data, rates = model(4), engine("masksMath.rates", {"both": both, "noise": 4})
    rest = torch.randn(1, DIM, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    rest = rest - data.dictionary @ (data.dictionary.mT @ rest)
    directions = torch.cat([data.dictionary[..., :1], rest / rest.norm()], -1)
    want = growth_rates(data, directions, views)[0].tolist()
    assert [rates["signal"], rates["rest"]] == pytest.approx(want, rel=1e-11)
    share = float(linear_share(ATOMS, DIM, *want, torch.tensor(9.0, dtype=torch.float64)))
    assert engine("masksMath.size", {"both": both, "noise": 4}, 9)["share"] == pytest.approx(share, rel=1e-11)


def every_pair(both: float) -> tuple[SparseCoding, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A small model, and all pairs of views with their probabilities: latents, noise at nodes, and masks."""
    dim, generator = 3, torch.Generator().manual_seed(2)
    atom = torch.randn(dim, 1, dtype=torch.float64, generator=generator)
    data = SparseCoding((atom / atom.norm())[None], 2 / 3, 0.7)
    nodes = 0.7 * dim**0.5 * torch.cat([torch.eye(dim), -torch.eye(dim)]).double()
    x = torch.stack([z * data.dictionary[0, :, 0] + node for z in (-1, 0, 1) for node in nodes])  # equally likely
    masks = torch.tensor(list(itertools.product([0.0, 1.0], repeat=dim)), dtype=torch.float64)
    first, second = masks.repeat_interleave(len(masks), 0), masks.repeat(len(masks), 1)
    alike = (first == second).double()
    chance = (alike * both / 2 + (1 - alike) * (1 - both) / 2).prod(-1)
    views = [2 * (mask[:, None] * x).flatten(0, 1) for mask in (first, second)]
    return data, *views, chance.repeat_interleave(len(x)) / len(x)


@pytest.mark.parametrize("both", [0, 0.2, 0.5, 0.85, 1])
def test_the_moment_is_that_of_all_masks_latents_and_noises(both):
    """Nothing is averaged by a formula here, and no atom is flat."""
    data, first, second, chance = every_pair(both)
    assert float(chance.sum()) == pytest.approx(1, abs=1e-12)
    torch.testing.assert_close((first * chance[:, None]).mT @ second, moment(data, both), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("both", [0, 0.25, 0.5, 1])
def test_the_population_gradient_is_minus_c_w(both):
    """At a huge temperature, over every pair as often as it is likely: -N / (N + 1) C w, whatever the negatives are."""
    data, first, second, chance = every_pair(both)
    often = (chance / chance[chance > 0].min()).round().long()
    torch.testing.assert_close(often.double() / often.sum(), chance, rtol=1e-12, atol=0)
    negatives = torch.randn(1, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    w = torch.tensor([[[0.3, -0.8, 0.5]]], dtype=torch.float64)
    views = [view.repeat_interleave(often, 0)[None] for view in (first, second)]
    found = contrastive_gradient(w, torch.zeros(1, 1, dtype=torch.float64), *views, negatives, 1e9).weights
    torch.testing.assert_close(found[0, 0], -7 / 8 * moment(data, both) @ w[0, 0], rtol=1e-7, atol=1e-8)


def test_independent_masks_share_what_bare_data_share():
    data = model(4)
    torch.testing.assert_close(moment(data, 0.5), cross_moment(data, "plain")[0], rtol=1e-12, atol=1e-16)
    torch.testing.assert_close(cross_moment(data, "independent"), cross_moment(data, "plain"))
    assert float((second_moment(data, "masked")[0] - moment(data, 1)).abs().max()) == 0


def test_disjoint_masks_share_none_of_any_noise(engine):
    ends = [engine("masksMath.grown", {"both": 0, "noise": noise})["share"] for noise in (0, 0.1, 4, 12, 1000)]
    assert ends == pytest.approx([ends[0]] * 5, rel=1e-12) and ends[0] > 0.999


def test_more_in_both_views_or_more_noise_is_less_signal(engine):
    ends = [
        [engine("masksMath.grown", {"both": b / 20, "noise": n})["share"] for b in range(21)] for n in (0.5, 1, 4, 12)
    ]
    assert all(a > b for row in ends for a, b in itertools.pairwise(row))
    assert all(a > b for low, high in itertools.pairwise(ends) for a, b in zip(low[1:], high[1:], strict=True))


def test_a_draw_of_the_masks_is_what_the_slider_says(engine):
    for both, common in ((0, 0), (0.25, 4), (0.5, 8), (1, 16)):
        first, second = (torch.tensor(engine("masksMath.masks", {"both": both})[name]) for name in ("first", "second"))
        assert (int(first.sum()), int(second.sum()), int((first & second).sum())) == (DIM // 2, DIM // 2, common)


def test_the_datum_is_a_signal_under_louder_noise(engine):
    parts = {name: torch.tensor(x) for name, x in engine("masksMath.datum", {"noise": 4}).items()}
    assert float(parts["signal"].norm()) == pytest.approx(1) and float(parts["noise"].norm()) > 1.5
    assert float(parts["noise"].square().mean()) == pytest.approx(4 * ACTIVE, rel=0.4)


def test_the_answers_are_the_librarys():
    ends = {(row["both"], row["noise"]): row["end"] for row in STORED["rows"]}
    assert ends[1, 4] < 0.5 and ends[0, 4] > 0.9 and ends[0.5, 4] < 0.5
    assert ends[0, 12] == pytest.approx(ends[0, 4], rel=1e-9)
    assert truths("masks") == ["turns", "none", "all"]
