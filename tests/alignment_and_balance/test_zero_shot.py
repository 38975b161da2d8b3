import itertools

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance import zero_shot
from contrastive_dynamics.alignment_and_balance.zero_shot import (
    alignment_by_distance,
    alignment_score,
    best_constant_answer,
    macro_recall,
    output_balance,
    output_condition_number,
    predictions,
    zero_shot_accuracy,
)
from contrastive_dynamics.numerics.random_streams import stream

RUNS, N, L, OUT = 2, 9, 5, 4


def draw(purpose, *shape):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def outputs():
    return (
        draw("images", RUNS, N, OUT),
        draw("texts", RUNS, N, OUT),
        draw("prompts", RUNS, L, OUT),
        draw("labels", N, L) > 0.3,
    )


def test_hits_and_recalls_one_image_at_a_time():
    images, _, prompts, labels = outputs()
    for run in range(RUNS):
        hits, found = 0, [0] * L
        for i in range(N):
            cosines = [torch.cosine_similarity(images[run, i], prompts[run, k], dim=0).item() for k in range(L)]
            answer = cosines.index(max(cosines))
            hits += labels[i, answer].item()
            found[answer] += labels[i, answer].item()
        recalls = [f / c for f, c in zip(found, labels.sum(0).tolist(), strict=True) if c]
        assert zero_shot_accuracy(images, prompts, labels)[run].item() == pytest.approx(hits / N, rel=1e-12)
        assert macro_recall(images, prompts, labels)[run].item() == pytest.approx(
            sum(recalls) / len(recalls), rel=1e-12
        )


def test_lengths_of_outputs_do_not_move_the_answer():
    images, _, prompts, _ = outputs()
    scales = torch.linspace(0.1, 9, L, dtype=torch.float64).unsqueeze(-1)
    assert torch.equal(predictions(images, prompts), predictions(7.0 * images, scales * prompts))


def test_ties_share_alike_and_a_constant_answer_scores_one_over_the_labels():
    images, _, prompts, labels = outputs()
    labels[:, 2] = False
    labels[:, 4] = torch.arange(N) < 7
    tied = zero_shot_accuracy(0 * images, prompts, labels)
    torch.testing.assert_close(tied, labels.double().mean().expand(RUNS), rtol=1e-12, atol=0)
    constant = torch.zeros(1, N, OUT, dtype=torch.float64)
    constant[..., 0] = 1
    answers = -torch.eye(L, OUT, dtype=torch.float64).unsqueeze(0)
    answers[0, 4, 0] = 1  # label 4, whatever the image
    assert zero_shot_accuracy(constant, answers, labels).item() == pytest.approx(7 / 9)
    assert best_constant_answer(labels).item() == pytest.approx(7 / 9)
    assert macro_recall(constant, answers, labels).item() == pytest.approx(1 / 4)  # label 2 does not occur


@pytest.mark.parametrize("entries", [1, 40, 2**24])
def test_alignment_pair_by_pair(entries, monkeypatch):
    monkeypatch.setattr(zero_shot, "_ENTRIES", entries)
    images, texts, _, labels = outputs()
    labels[5], labels[1] = labels[3], labels[0]
    for run in range(RUNS):
        for given in (None, labels):
            wins = []
            for i, j in itertools.permutations(range(N), 2):
                if given is None or not torch.equal(given[i], given[j]):
                    wins.append(images[run, i] @ texts[run, i] > images[run, i] @ texts[run, j])
            found = alignment_score(images, texts, given)[run].item()
            assert found == pytest.approx(sum(wins).item() / len(wins), rel=1e-12)


def test_limits_of_alignment():
    one = draw("one", 1, 4000, 1) * torch.tensor([0.6, 0.8], dtype=torch.float64)
    assert alignment_score(one, one).item() == pytest.approx(0.75, abs=0.01)  # one direction: 3/4, not 1
    assert alignment_score(torch.ones_like(one), torch.ones_like(one)).item() == 0  # all alike: ties
    sphere = torch.nn.functional.normalize(draw("sphere", 1, 100, 5), dim=-1)
    assert alignment_score(sphere, sphere).item() == 1 and alignment_score(sphere, -sphere).item() == 0


def rounded_alike(dtype, size, width):
    """Outputs of one value, or of one direction, each way of computing them."""
    point = draw("point", width).to(dtype)
    lengths = (draw("lengths", size, 1).abs() + 0.1).to(dtype)
    return point.expand(1, size, width), (point * lengths / lengths).unsqueeze(0), lengths


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("width", [1, 3, 5, 64, 300])
def test_collapsed_outputs_beat_nobody_and_share_every_answer(dtype, width):
    exact, shaken, lengths = rounded_alike(dtype, 41, width)
    other = draw("other", 41, width).to(dtype).unsqueeze(0)
    kinds = torch.arange(41).unsqueeze(-1) % 3 == torch.arange(3)
    half = dtype == torch.bfloat16  # another length is another direction there
    for texts in (exact,) if half else (exact, shaken):
        for images in (texts, other, lengths * other, 0 * other, 1e-15 * other):
            assert alignment_score(images, texts).item() == alignment_score(images, texts, kinds).item() == 0
        shares = predictions(other, texts[:, :7] * (1 if half else lengths[:7]))
        torch.testing.assert_close(shares, torch.full_like(shares, 1 / 7))
        assert macro_recall(other, texts[:, :3], kinds).item() == pytest.approx(1 / 3, rel=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_caption_of_several_images_beats_itself_for_none_of_them(dtype):
    images, texts = (draw(what, 1, 30, 17).to(dtype) for what in ("images", "texts"))
    for copies in (2, 3):
        n = 30 * copies
        for found in (
            alignment_score(images.repeat(1, copies, 1), texts.repeat(1, copies, 1)),
            alignment_score(images.repeat_interleave(copies, 1), texts.repeat_interleave(copies, 1)),
        ):  # of its n − 1 negatives an image meets its own caption copies − 1 times
            alone = alignment_score(images, texts)
            assert found.item() == pytest.approx(alone.item() * 29 * copies / (n - 1), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_prompts_that_are_equal_share_whatever_the_sizes(dtype):
    for count, n, width in itertools.product((2, 5, 7, 80), (1, 9, 16, 33), (5, 40)):
        images, row = draw("images", 1, n, width).to(dtype), draw("row", width).to(dtype)
        below = -0.5 * images.mean(1, keepdim=True)
        prompts = torch.cat([row * torch.linspace(0.3, 8, count, dtype=dtype).unsqueeze(-1), below[0]])
        shares = predictions(images, prompts[None])[0]
        assert (shares[:, :count] == shares[:, :1]).all() and torch.allclose(shares.sum(-1), torch.ones(n, dtype=dtype))


def test_small_differences_and_small_outputs_are_no_ties():
    images = torch.nn.functional.normalize(draw("images", 1, 40, 6), dim=-1)
    for size in (1.0, 1e-30, 1e30):
        assert alignment_score(size * images, images).item() == alignment_score(images, size * images).item() == 1
        assert torch.equal(predictions(size * images, images[:, :9]), predictions(images, size * images[:, :9]))
    near = images + 1e-9 * draw("near", 1, 40, 6)  # a caption a billionth away
    both, texts = torch.cat([images, images], 1), torch.cat([images, near], 1)
    gains = ((texts[0].unsqueeze(1) - texts[0]) * both[0].unsqueeze(1)).sum(-1)  # no difference of two products
    expected = (gains > 0).double().sum() / (80 * 79)
    assert alignment_score(both, texts).item() == pytest.approx(expected.item(), rel=1e-12)


def test_balance_and_condition_number_by_eigenvalues():
    f = draw("f", 3, 40, 6) * torch.tensor([3.0, 2.0, 1.0, 1.0, 0.5, 0.1], dtype=torch.float64) + 0.2
    for k in range(3):
        values = torch.linalg.eigvalsh(sum(torch.outer(row, row) for row in f[k]) / 40)
        assert output_balance(f)[k].item() == pytest.approx((values.square().sum() / values[-1] ** 2).item(), rel=1e-10)
        found = output_condition_number(f, 4)[k].item()
        assert found == pytest.approx((values[-1] / values[-4]).sqrt().item(), rel=1e-8)
    even = torch.eye(5, 7, dtype=torch.float64)
    assert output_balance(even).item() == pytest.approx(5) and output_condition_number(even, 5).item() == pytest.approx(
        1
    )
    assert output_balance(torch.ones(5, 7)).item() == pytest.approx(1)  # a point: one direction


def test_a_run_is_the_same_alone():
    images, texts, prompts, labels = outputs()
    for measure, others in ((zero_shot_accuracy, (prompts, labels)), (macro_recall, (prompts, labels))):
        assert torch.equal(measure(images, *others)[1:], measure(images[1:], others[0][1:], labels))
    assert torch.equal(alignment_score(images, texts)[1:], alignment_score(images[1:], texts[1:]))
    torch.testing.assert_close(output_balance(images)[1], output_balance(images[1]), rtol=1e-12, atol=0)


IMAGES, TEXTS, PROMPTS, LABELS = outputs()
ALL = torch.ones(N, L, dtype=torch.bool)


@pytest.mark.parametrize(
    ("measure", "arguments", "words"),
    [
        (predictions, (IMAGES, PROMPTS[..., :3]), r"must be \[run, n, o\] and .*, got \(2, 9, 4\), \(2, 5, 3\)"),
        *(
            (measure, (IMAGES, PROMPTS, *given), measure.__name__ + words)
            for measure in (zero_shot_accuracy, macro_recall)
            for given, words in (
                ((LABELS[1:],), r": labels must be torch.bool \[9, L\], got torch.bool \(8, 5\)"),
                ((LABELS.double(),), ": labels must be torch.bool .*, got torch.float64"),
            )
        ),
        (alignment_score, (IMAGES, TEXTS[:, 1:]), r"must be \[run, n, o\], n ≥ 2, got \(2, 9, 4\), \(2, 8, 4\)"),
        (alignment_score, (IMAGES, TEXTS, ALL), "labels must differ between two images"),
        (alignment_by_distance, (IMAGES, TEXTS[..., :2]), r"alignment_by_distance: .* n ≥ 2, got \(2, 9, 4\), "),
        (alignment_by_distance, (IMAGES, TEXTS, ALL), "labels must differ between two images"),
        (alignment_by_distance, (IMAGES, TEXTS, ALL[1:]), "alignment_by_distance: labels must be torch.bool"),
        (output_condition_number, (IMAGES, 0), "rank must be 1 to 4, got 0"),
        (output_condition_number, (IMAGES, 5), "rank must be 1 to 4, got 5"),
    ],
)
def test_bad_input_is_named(measure, arguments, words):
    with one_line_error(ValueError, words):
        measure(*arguments)


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        images, texts, prompts, labels = (part.to(ELSEWHERE) for part in outputs())
        found = [zero_shot_accuracy(images, prompts, labels), macro_recall(images, prompts, labels)]
        found += [alignment_score(images, texts, labels), best_constant_answer(labels)]
        found += [output_balance(images), output_condition_number(images, 2)]
        assert all(part.device == ELSEWHERE for part in found)


def test_alignment_by_distance_counts_pairs():
    images, texts = draw("images", 2, 30, 5), draw("images", 2, 30, 5) + 0.8 * draw("texts", 2, 30, 5)
    kinds = draw("kinds", 30, 2) > 0.8
    for labels in (None, kinds):
        wins = torch.zeros(2)
        pairs = [
            (i, j)
            for i in range(30)
            for j in range(30)
            if i != j and (labels is None or (labels[i] != labels[j]).any())
        ]
        for i, j in pairs:
            wins += (images[:, i] - texts[:, i]).norm(dim=-1) < (images[:, i] - texts[:, j]).norm(dim=-1)
        found = alignment_by_distance(images, texts, labels)
        torch.testing.assert_close(found, wins.double() / len(pairs))
        moved = alignment_by_distance(images + 3, texts + 3, labels)
        assert torch.equal(moved, found) and found.min() > 0.5


def test_one_direction_is_aligned_by_distance_but_equal_outputs_never():
    line = draw("line", 1, 300, 1) * draw("direction", 1, 1, 6)
    assert alignment_by_distance(line, line).item() == 1 and alignment_score(line, line).item() < 0.8
    unit = torch.nn.functional.normalize(draw("unit", 1, 50, 4), dim=-1)
    near = torch.nn.functional.normalize(unit + 0.3 * draw("near", 1, 50, 4), dim=-1)
    assert alignment_by_distance(unit, near) == alignment_score(unit, near)
    for dtype in (torch.float32, torch.float64):
        point = draw("point", 1, 1, 7).to(dtype)
        lengths = draw("lengths", 1, 40, 1).to(dtype).abs() + 0.1
        shaken, other = point * lengths / lengths, draw("other", 1, 40, 7).to(dtype)
        for images in (shaken, point.expand(1, 40, 7), other, 0 * other, 1e-20 * other):
            assert alignment_by_distance(images, shaken).item() == 0
    half = draw("half", 1, 40, 7).bfloat16()
    assert alignment_by_distance(half, half).item() == 1
    close = torch.cat([unit, unit + 1e-9 * draw("close", 1, 50, 4)], 1)  # a billionth is a difference
    assert alignment_by_distance(close, close).item() == 1
