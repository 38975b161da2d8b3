import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.alignment_and_balance import head_training
from contrastive_dynamics.alignment_and_balance.head_training import Recipe, pair_losses, train_heads
from contrastive_dynamics.alignment_and_balance.projection_heads import Heads, apply_heads, init_heads
from contrastive_dynamics.alignment_and_balance.zero_shot import alignment_score, output_balance
from contrastive_dynamics.numerics.random_streams import stream

N, C, P, Q, WIDTH, OUT = 23, 3, 6, 5, 8, 4
NONE, ONE, MANY = (False, 1.0, 1.0), (True, 1.0, 1.0), (True, 4.0, 7.0)


def draw(purpose, *shape):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def recipe(arms, **how):
    contrastive, tau_squared, negatives = zip(*arms, strict=True)
    numbers = (torch.tensor(part, dtype=torch.float64) for part in (tau_squared, negatives))
    return Recipe(torch.tensor(contrastive), *numbers, **{"batch": 8, "step_size": 1e-2, "weight_decay": 0.1} | how)


def start(arms, runs=None):
    runs = runs or [0] * len(arms)
    sizes = ("image", P), ("text", Q)
    return [init_heads([stream(0, k, what) for k in runs], size, WIDTH, OUT) for what, size in sizes]


def train(arms, record, runs=None, images=None, captions=None, **how):
    generators = [stream(0, k, "batches") for k in runs or [0] * len(arms)]
    images = draw("images", N, P) if images is None else images
    captions = draw("captions", N, C, Q) if captions is None else captions
    return list(train_heads(*start(arms, runs), images, captions, generators, recipe(arms, **how), record))


def test_losses_pair_by_pair():
    f_a, f_b, arms = draw("a", 3, 5, 4), draw("b", 3, 5, 4), [NONE, ONE, MANY]
    found = pair_losses(f_a, f_b, *recipe(arms)[:3])
    for run, (contrastive, tau_squared, k) in enumerate(arms):
        s = [[tau_squared * sum(a * b for a, b in zip(x, y, strict=True)) for y in f_b[run]] for x in f_a[run]]
        total = 0.0
        for i in range(5):
            others = [j for j in range(5) if j != i]
            by_row = math.exp(s[i][i]) / (math.exp(s[i][i]) + k * sum(math.exp(s[i][j]) for j in others) / 4)
            by_column = math.exp(s[i][i]) / (math.exp(s[i][i]) + k * sum(math.exp(s[j][i]) for j in others) / 4)
            total += -math.log(by_row * by_column) / tau_squared if contrastive else -s[i][i].item()
        assert found[run].item() == pytest.approx(total / 5, rel=1e-10)


def test_with_one_negative_for_each_other_pair_it_is_the_cross_entropy_of_clip():
    f_a, f_b = draw("a", 2, 6, 4), draw("b", 2, 6, 4)
    found = pair_losses(f_a, f_b, *recipe([(True, 3.0, 5.0)] * 2)[:3])
    for run in range(2):
        logits, target = 3.0 * f_a[run] @ f_b[run].mT, torch.arange(6)
        both = [torch.nn.functional.cross_entropy(part, target) for part in (logits, logits.mT)]
        assert found[run].item() == pytest.approx(sum(both).item() / 3.0, rel=1e-12)


def test_at_small_temperatures_the_gradient_is_that_of_the_loss_without_negatives():
    # 2K/(1 + K) times the gradient of −mean s_ii + mean_{j≠i} s_ij; for centred outputs the second is 1/(b − 1) of the
    # first
    k, b = 3.0, 6
    leaves = [x - x.mean(-2, keepdim=True) for x in (draw("a", 2, b, 4), draw("b", 2, b, 4))]
    leaves[0].requires_grad_()
    gradient = torch.autograd.grad(pair_losses(*leaves, *recipe([(True, 1e-7, k)] * 2)[:3]).sum(), leaves[0])[0]
    expected = torch.autograd.grad(pair_losses(*leaves, *recipe([NONE] * 2)[:3]).sum(), leaves[0])[0]
    torch.testing.assert_close(gradient, 2 * k / (1 + k) * b / (b - 1) * expected, rtol=1e-5, atol=1e-6)


def test_steps_are_those_of_torch_optim_on_each_run_alone():
    arms, runs = [NONE, ONE, MANY], [0, 1, 1]
    images, captions, steps = draw("images", N, P), draw("captions", N, C, Q), 5  # two epochs and a bit, b = 8 of 23
    together = train(arms, list(range(steps + 1)), runs)
    for run, (k, arm) in enumerate(zip(runs, arms, strict=True)):
        pair = [Heads(*(part.requires_grad_() for part in head)) for head in start([arm], [k])]
        matrices = [part for head in pair for part in (head.w1, head.w2, head.w3)]
        rest = [part for head in pair for part in head if not any(part is m for m in matrices)]
        groups = [{"params": matrices}, {"params": rest, "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.1)
        batches = head_training._batches(images, captions, [stream(0, k, "batches")], 8)
        for snapshot in together:
            x, y = next(batches)
            loss = pair_losses(apply_heads(pair[0], x)[0], apply_heads(pair[1], y)[0], *recipe([arm])[:3])
            assert snapshot.loss[run].item() == pytest.approx(loss.item(), rel=1e-8)
            for ours, theirs in zip((*snapshot.image, *snapshot.text), (*pair[0], *pair[1]), strict=True):
                torch.testing.assert_close(ours[run], theirs[0].detach(), rtol=1e-7, atol=1e-8)
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()


def test_a_run_is_the_same_alone_and_with_more_records():
    arms, runs = [NONE, MANY, ONE], [2, 0, 1]
    together = train(arms, [0, 3, 9], runs)
    assert [snapshot.step for snapshot in together] == [0, 3, 9]
    for run in range(3):
        alone = train(arms[run : run + 1], [9], runs[run : run + 1])[-1]
        for ours, theirs in zip(together[-1].image, alone.image, strict=True):
            torch.testing.assert_close(ours[run], theirs[0], rtol=1e-6, atol=1e-7)
    assert torch.equal(together[0].image.w1, start(arms, runs)[0].w1)  # no step taken, and the start is not changed


def test_an_epoch_takes_each_image_once_with_captions_of_its_own():
    ids = torch.arange(N, dtype=torch.float64)
    captions = torch.stack([ids, ids + 0.25, ids + 0.5], 1).unsqueeze(-1)
    batches = head_training._batches(ids.unsqueeze(-1), captions, [stream(0, k, "batches") for k in (0, 1, 0)], 5)
    epochs = [[next(batches) for _ in range(N // 5)] for _ in range(20)]
    for epoch in epochs:
        x, y = (torch.cat(part, 1).squeeze(-1) for part in zip(*epoch, strict=True))
        assert all(len(row.unique()) == 20 for row in x) and torch.equal(y.floor(), x)
        assert torch.equal(x[0], x[2]) and torch.equal(y[0], y[2]) and not torch.equal(x[0], x[1])
    x, y = (torch.cat([part for epoch in epochs for part in epoch_part(epoch, i)], 1) for i in (0, 1))
    shares = [((y - x)[1] == offset).double().mean().item() for offset in (0, 0.25, 0.5)]
    assert all(abs(share - 1 / 3) < 0.08 for share in shares)  # 400 draws, deviation 0.024
    assert not torch.equal(epochs[0][0][0], epochs[1][0][0])


def epoch_part(epoch, i):
    return [batch[i] for batch in epoch]


def test_negatives_keep_several_directions_of_which_one_is_left_without_them():
    # six signs, unlike in strength, seen through two random maps with noise
    signs = draw("signs", 600, 6).sign()
    strengths = torch.tensor([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], dtype=torch.float64)
    images = (signs * strengths) @ draw("map a", 6, 12) + 0.3 * draw("noise a", 600, 12)
    captions = ((signs * strengths) @ draw("map b", 6, 12) + 0.3 * draw("noise b", 600, 12)).unsqueeze(1)
    arms = [NONE, (True, 10.0, 63.0)]
    pair = [init_heads([stream(0, 0, what)] * 1 + [stream(0, 0, what)], 12, 32, 16) for what in ("image", "text")]
    how = recipe(arms, batch=64, step_size=3e-3)
    *_, first, last = train_heads(*pair, images, captions, [stream(0, 0, "b"), stream(0, 0, "b")], how, [0, 200])
    f_a, f_b = apply_heads(last.image, images)[0], apply_heads(last.text, captions[:, 0])[0]
    balance, alignment = output_balance(f_a), alignment_score(f_a, f_b)
    assert balance[0] < 1.1 and balance[1] > 4
    assert alignment[0] < 0.85 and alignment[1] > 0.97
    assert (last.loss < first.loss).all()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"and 2 to n, got images \(23, 6\), captions \(23, 3, 5\), batch=24"):
        train([ONE], [1], batch=24)
    with pytest.raises(ValueError, match=r"captions \(22, 3, 5\)"):
        train([ONE], [1], captions=draw("captions", 22, C, Q))
    with pytest.raises(ValueError, match=r"generators and recipe must be 2 and \[2\], got 2 and "):
        wrong = recipe([ONE])
        pair = start([ONE, ONE])
        train_heads(*pair, draw("i", N, P), draw("c", N, C, Q), [stream(0, 0, "b")] * 2, wrong, [1])
    for arm in ((True, 0.0, 1.0), (True, 1.0, -1.0)):
        with pytest.raises(ValueError, match="tau_squared, negatives and step_size must be > 0, got"):
            train([arm], [1])
    for record in ([], [-1, 2], [3, 3]):
        with pytest.raises(ValueError, match=r"record must be increasing steps, from 0 or later, got \["):
            train([ONE], record)


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        generators = [stream(0, k, "batches", ELSEWHERE) for k in range(2)]
        pair = [Heads(*(part.to(ELSEWHERE) for part in head)) for head in start([NONE, MANY], [0, 1])]
        how = recipe([NONE, MANY])
        how = how._replace(**{name: getattr(how, name).to(ELSEWHERE) for name in how._fields[:3]})
        features = draw("images", N, P).to(ELSEWHERE), draw("captions", N, C, Q).to(ELSEWHERE)
        *_, last = train_heads(*pair, *features, generators, how, [0, 4])
        assert last.loss.device == last.text.w3.device == ELSEWHERE
        near = train([NONE, MANY], [0, 4], [0, 1])[-1]
        assert (last.text.w3 - near.text.w3.to(ELSEWHERE)).abs().max().item() < 1e-6


def test_sgd_is_that_of_torch():
    first, second = train([MANY], [0, 1], optimiser="sgd")
    leaves = [p.clone().requires_grad_() for p in (*first.image, *first.text)]
    wanted = torch.optim.SGD(
        [
            {"params": leaves[0::8] + leaves[3::8] + leaves[6::8], "weight_decay": 0.1},
            {"params": leaves[1::8] + leaves[2::8] + leaves[4::8] + leaves[5::8] + leaves[7::8], "weight_decay": 0.0},
        ],
        lr=1e-2,
    )
    batches = head_training._batches(draw("images", N, P), draw("captions", N, C, Q), [stream(0, 0, "batches")], 8)
    heads = Heads(*leaves[:8]), Heads(*leaves[8:])
    outputs = [apply_heads(h, x)[0] for h, x in zip(heads, next(batches), strict=True)]
    pair_losses(*outputs, *recipe([MANY])[:3]).sum().backward()
    wanted.step()
    for ours, theirs in zip((*second.image, *second.text), leaves, strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-14)
