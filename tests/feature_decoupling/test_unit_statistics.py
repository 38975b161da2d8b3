"""Statistics of units against plain Python, made-up networks with known partners and colours, and other libraries."""

import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.unit_statistics import (
    active_share,
    best_match,
    colour_selectivity,
    hoyer_sparsity,
    neighbour_accuracy,
    planar_embedding,
    shuffled_match,
    silhouette,
)
from contrastive_dynamics.numerics.random_streams import stream

RUNS, N, F = 2, 60, 7


def draw(*shape, purpose="numbers"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def test_shares_and_sparsity_unit_by_unit():
    a = draw(RUNS, N, F).relu()
    for row, share, sparsity in zip(
        a.flatten(0, 1).tolist(), active_share(a).flatten(), hoyer_sparsity(a).flatten(), strict=True
    ):
        assert float(share) == pytest.approx(sum(x > 0 for x in row) / F, abs=1e-15)
        ratio = sum(row) / math.hypot(*row) if any(row) else 1
        assert float(sparsity) == pytest.approx((math.sqrt(F) - ratio) / (math.sqrt(F) - 1), rel=1e-12, abs=1e-12)
    limits = torch.stack([torch.ones(F), torch.eye(F)[0], torch.zeros(F)])
    torch.testing.assert_close(hoyer_sparsity(limits), torch.tensor([0.0, 1.0, 1.0]), atol=1e-6, rtol=0)
    with pytest.raises(ValueError, match="units must be ≥ 2, got 1"):
        hoyer_sparsity(a[..., :1])


def test_colour_selectivity_of_filters_whose_loss_of_response_is_known():
    kept = torch.tensor([1.0, 0.25, 0.0, 1.5], dtype=torch.float64)
    colour = draw(RUNS, N, 4).abs() + 0.1
    expected = torch.tensor([0.0, 0.75, 1.0, 0.0], dtype=torch.float64).expand(RUNS, 4)
    torch.testing.assert_close(colour_selectivity(colour, kept * colour, 9), expected, rtol=1e-12, atol=1e-12)
    # the images to which a filter hardly responds do not count
    grey = torch.where(colour >= colour.topk(9, -2).values[:, -1:], 0.5 * colour, 100.0)
    torch.testing.assert_close(colour_selectivity(colour, grey, 9), torch.full_like(expected, 0.5))
    assert colour_selectivity(torch.zeros(5, 1), torch.ones(5, 1), 3).isnan().all()
    for top in (0, N + 1):
        with pytest.raises(ValueError, match=rf"both responses and top must be of one shape .*, got .*top={top}"):
            colour_selectivity(colour, grey, top)


def test_best_match_pair_by_pair_and_of_scaled_copies():
    a, b = draw(RUNS, N, F, purpose="a"), draw(RUNS, N, 5, purpose="b")
    found = best_match(a, b)
    for run in range(RUNS):
        table = torch.corrcoef(torch.cat([a[run], b[run]], -1).mT)[:F, F:]
        torch.testing.assert_close(found[run], table.max(-1).values, rtol=1e-10, atol=1e-12)
    copies = 3 * a[..., torch.arange(F - 1, -1, -1)] + 2
    torch.testing.assert_close(best_match(a, copies), torch.ones(RUNS, F, dtype=torch.float64))
    dead = torch.cat([a[..., :1], torch.full_like(a[..., :1], 0.3)], -1)
    assert best_match(dead, copies)[:, 1].tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"must be \[..., n, f\] and \[..., n, g\], got \("):
        best_match(a, b[:, :-1])


def test_shuffled_images_leave_chance_and_within_classes_what_classes_explain():
    labels = torch.arange(N) % 5
    means = draw(5, F, purpose="means")
    a = means[labels].expand(RUNS, -1, -1) + 0.3 * draw(RUNS, N, F, purpose="own")
    streams = [stream(0, run, "order") for run in range(RUNS)]
    assert best_match(a, a).mean() > 0.999
    chance = shuffled_match(a, a, streams).mean()
    within = shuffled_match(a, a, streams, labels).mean()
    assert chance < 0.4 and 0.75 < within < 0.99
    only_class = means[labels].expand(RUNS, -1, -1)  # what is the same for a class is not moved within it
    torch.testing.assert_close(shuffled_match(a, only_class, streams, labels), best_match(a, only_class))
    order = labels.argsort(stable=True)  # images of a class side by side or not: no difference
    torch.testing.assert_close(
        shuffled_match(a[:, order], only_class[:, order], streams, labels[order]), best_match(a, only_class)
    )
    alone = shuffled_match(a[1:], a[1:], [stream(0, 1, "order")])
    both = shuffled_match(a, a, [stream(0, run, "order") for run in range(RUNS)])
    torch.testing.assert_close(alone[0], both[1])
    with pytest.raises(ValueError, match="generators must be one per run, 2, got 1"):
        shuffled_match(a, a, streams[:1])


def test_neighbours_and_silhouette_of_clusters_and_of_noise():
    labels = torch.arange(N) % 3
    centres = torch.eye(3, 8, dtype=torch.float64)[labels]
    h = torch.stack([centres + 0.01 * draw(N, 8), draw(N, 8, purpose="noise")])
    accuracy, score = neighbour_accuracy(h, labels, h.flip(1), labels.flip(0), 5), silhouette(h, labels)
    assert accuracy[0] == 1 and accuracy[1] < 0.8 and score[0] > 0.95 and abs(score[1]) < 0.1
    z = h / h.norm(dim=-1, keepdim=True)
    for run in range(2):  # the silhouette, image by image
        distance, total = 1 - z[run] @ z[run].mT, 0.0
        for i in range(N):
            means = [float(distance[i, (labels == c) & (torch.arange(N) != i)].mean()) for c in range(3)]
            own = means.pop(int(labels[i]))
            total += (min(means) - own) / max(own, min(means)) / N
        assert float(score[run]) == pytest.approx(total, rel=1e-8)
    with elsewhere():
        far = h.to(ELSEWHERE), labels.to(ELSEWHERE)
        assert torch.equal(neighbour_accuracy(*far, *far, 5).cpu(), neighbour_accuracy(h, labels, h, labels, 5))
        assert silhouette(*far).tolist() == pytest.approx(score.tolist())


def test_neighbours_do_not_depend_on_the_order_of_images_or_the_names_of_classes():
    levels = torch.randint(0, 3, (1, N, 4), generator=stream(0, 0, "levels")).double()  # many images at one distance
    labels = torch.randint(0, 4, (N,), generator=stream(0, 0, "labels"))
    order, renamed = (torch.randperm(k, generator=stream(0, 0, "order")) for k in (N, 4))
    for neighbours in (1, 2, 3, 8, N):
        found = neighbour_accuracy(levels, labels, levels, labels, neighbours)
        far = levels[:, order], renamed[labels[order]]
        torch.testing.assert_close(neighbour_accuracy(*far, levels, renamed[labels], neighbours), found)
        assert neighbour_accuracy(0.3 * far[0], far[1], 7 * levels, renamed[labels], neighbours) == pytest.approx(found)
    for neighbours in (0, N + 1):
        with pytest.raises(ValueError, match=f"neighbours must be 1 to n = {N}, got {neighbours}"):
            neighbour_accuracy(levels, labels, levels, labels, neighbours)


def test_neighbours_vote_by_vote():
    h, labels = draw(RUNS, N, 5), torch.arange(N) % 3
    test, truth = draw(RUNS, 20, 5, purpose="test"), torch.arange(20) % 3
    found = neighbour_accuracy(h, labels, test, truth, 4)
    for run in range(RUNS):
        total = 0.0
        for asked, answer in zip(test[run], truth.tolist(), strict=True):
            near = torch.cosine_similarity(h[run], asked[None]).topk(4).indices
            votes = torch.bincount(labels[near], minlength=3).tolist()
            total += (votes[answer] == max(votes)) / votes.count(max(votes)) / 20
        assert float(found[run]) == pytest.approx(total)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_collapsed_representations_score_what_chance_does(dtype):
    labels = torch.arange(N) % 3
    one = draw(13, purpose="one").to(dtype)
    point, line = one.expand(1, N, 13), one * (draw(1, N, 1).abs() + 0.1).to(dtype)
    for collapsed in (point, line, 0 * point):
        assert float(silhouette(collapsed, labels)) == 0
        assert float(neighbour_accuracy(collapsed, labels, collapsed, labels, 7)) == pytest.approx(1 / 3)
    shaken = 0.3 + torch.finfo(dtype).eps * draw(1, N, 2).to(dtype).clamp(-3, 3)  # constant but for rounding
    assert best_match(draw(1, N, F).to(dtype), shaken).tolist() == [[0] * F]
    kept = best_match(draw(1, N, F).to(dtype), 0.3 + 1e-3 * draw(1, N, F).to(dtype))
    torch.testing.assert_close(kept, torch.ones_like(kept), rtol=1e-4, atol=0)  # the control: a small signal counts


def test_colour_selectivity_does_not_depend_on_the_order_of_silent_images():
    colour = draw(RUNS, N, F).relu()  # silent on about half of the images
    grey, order = draw(RUNS, N, F, purpose="grey").relu() / 9, torch.randperm(N, generator=stream(0, 0, "order"))
    for top in (3, 45, N):
        found = colour_selectivity(colour, grey, top)
        torch.testing.assert_close(colour_selectivity(colour[:, order], grey[:, order], top), found)
    last = colour[0, :, 0] == 0
    silent = int(last.sum())
    share = (45 - (N - silent)) / silent * grey[0, last, 0].sum() + grey[0, ~last, 0].sum()
    assert float(colour_selectivity(colour, grey, 45)[0, 0]) == pytest.approx(1 - float(share / colour[0, :, 0].sum()))


def test_an_embedding_keeps_clusters_apart_and_repeats_itself():
    labels = torch.arange(N) % 3
    h = torch.eye(3, 8)[labels] + 0.02 * draw(N, 8).float()
    places = planar_embedding(h, 10)
    assert places.shape == (N, 2) and torch.equal(places, planar_embedding(h, 10))
    nearest = (places[:, None] - places).square().sum(-1).fill_diagonal_(math.inf).argmin(-1)
    assert torch.equal(labels[nearest], labels)
