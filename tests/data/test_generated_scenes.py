import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.data.generated_scenes import (
    NAMES,
    WORDS,
    draw_scenes,
    encode_pictures,
    encode_texts,
    scene_pairs,
)
from contrastive_dynamics.numerics.random_streams import stream


def scenes(n, run=0, **how):
    return draw_scenes(n, stream(0, run, "scenes"), **how)


def sentence(words):
    """A caption `[words]` as text."""
    return " ".join(WORDS[word] for word in words.tolist() if word >= 0)


def test_captions_are_sentences_about_what_is_there():
    found = scenes(400, captions=3)
    openings = {"there is", "we see", "here is", "this shows"}
    for captions, labels in zip(found.captions, found.labels, strict=True):
        there = {NAMES[k] for k in labels.nonzero()[:, 0]}
        for caption in captions:
            text = sentence(caption)
            opening, rest = text[: text.index(" a ")], text[text.index(" a ") + 1 :]
            parts = [part.split() for part in rest.split(" and ")]
            named = [part[-1] for part in parts]
            assert opening in openings and len(named) == len(set(named)) and set(named) <= there
            assert all(part[0] == "a" and part[1:-1] in ([], ["small"], ["large"]) for part in parts)
    complete = scenes(100, mention=1.0)
    named = torch.stack([(complete.captions == k).any(-1) for k in range(len(NAMES))], -1)
    assert torch.equal(named, complete.labels.unsqueeze(1).expand_as(named))
    single = (scenes(100, mention=0.0).captions[..., None] == torch.arange(len(NAMES))).sum((-2, -1))
    assert (single == 1).all()


def test_the_order_of_a_caption_is_random_and_sizes_are_true():
    found = scenes(4000, mention=1.0, captions=2, decay=1.0, noise=0.0)
    numbers = found.labels.sum(1)
    assert numbers.unique(return_counts=True)[1].div(4000).sub(0.25).abs().max() < 0.03
    first = found.captions[..., 4]  # two words of opening, "a", size, name
    pair = numbers == 2
    assert ((first[pair, 0] != first[pair, 1]).double().mean() - 0.5).abs() < 0.06
    alone = numbers == 1
    area = (found.pictures[alone].amax(1) > 0).sum((-2, -1)).double()
    said = (found.captions[alone] == WORDS.index("large")).any(-1).any(-1)
    denied = (found.captions[alone] == WORDS.index("small")).any(-1).any(-1)
    assert not (said & denied).any() and area[said].mean() > 1.5 * area[denied].mean()


def test_frequencies_fall_geometrically_or_not_at_all():
    even = scenes(4000, decay=1.0).labels.double().mean(0)
    assert (even - 2.5 / 12).abs().max() < 0.03
    found = scenes(4000).labels.double().mean(0)
    assert (found.diff() < 0.02).all() and 0.42 < found[0] < 0.52 and 0.03 < found[-1] < 0.07
    # a single object is drawn with probability ∝ decay^l
    single = scenes(5000, decay=0.7).labels
    shares = single[single.sum(1) == 1].double().mean(0)
    expected = 0.7 ** torch.arange(12, dtype=torch.float64)
    assert (shares - expected / expected.sum()).abs().max() < 0.035


def test_pictures_show_the_objects_and_nothing_else():
    found = scenes(2000, noise=0.0, decay=1.0)
    painted = found.pictures.amax(1) > 0
    assert (painted.flatten(1).sum(1) > 5).all() and found.pictures.min() >= 0 and found.pictures.max() <= 1
    alone = found.labels.sum(1) == 1
    hue = found.pictures.flatten(2).amax(-1)[alone]  # of the one object, up to brightness
    kind = found.labels[alone].double().argmax(1)
    for k in range(len(NAMES)):
        shades = torch.nn.functional.normalize(hue[kind == k], dim=-1)
        assert len(shades) > 10 and (shades @ shades.mT).min() > 1 - 1e-5
    noisy = scenes(2000, noise=0.3, decay=1.0)
    assert (noisy.pictures - found.pictures).std().item() == pytest.approx(0.3, rel=0.01)
    assert torch.equal(noisy.labels, found.labels) and torch.equal(noisy.captions, found.captions)


def test_encoders_are_the_same_for_all_and_see_no_order():
    first, second = (scene_pairs(30, stream(0, run, "scenes")) for run in (0, 1))
    assert torch.equal(first.prompts, second.prompts) and first.names == second.names == NAMES
    assert not torch.equal(first.images, second.images)
    drawn = scenes(30)
    torch.testing.assert_close(first.images, encode_pictures(drawn.pictures))
    torch.testing.assert_close(encode_pictures(drawn.pictures[3:4]), first.images[3:4], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(encode_texts(drawn.captions.flip(-1)), first.captions, rtol=1e-4, atol=1e-4)
    words = torch.tensor([WORDS.index(word) for word in "a this ring is".split()])
    torch.testing.assert_close(encode_texts(words), first.prompts[NAMES.index("ring")], rtol=1e-4, atol=1e-4)


def test_features_tell_the_objects_apart():
    train, test = scene_pairs(3000, stream(0, 0, "train")), scene_pairs(500, stream(0, 0, "test"))
    for x, y in ((train.images, test.images), (train.captions[:, 0], test.captions[:, 0])):
        assert x.mean().abs() < 0.05 and (x.std() - 1).abs() < 0.1
        design = x.double().mT @ x.double() + 30 * torch.eye(x.shape[-1], dtype=torch.float64)
        centred = train.labels.double() - train.labels.double().mean(0)
        scores = y.double() @ torch.linalg.solve(design, x.double().mT @ centred) + train.labels.double().mean(0)
        hit = test.labels.gather(1, scores.argmax(1, keepdim=True)).double().mean()
        assert hit > 0.9 > 0.6 > test.labels.double().mean(0).max()


def test_bad_input_is_named():
    bad = ({"count": 0}, {"captions": 0}, {"decay": 0.0}, {"decay": 1.1}, {"mention": -0.1}, {"noise": float("nan")})
    for how in bad:
        with pytest.raises(
            ValueError, match="draw_scenes must have count, captions of 1 or more, 0 < decay .*, got count="
        ):
            scene_pairs(**{"count": 5, "generator": stream(0, 0, "scenes")} | how)


def test_scenes_are_where_the_generator_is():
    with elsewhere():
        far = scene_pairs(20, stream(0, 0, "scenes", ELSEWHERE))
        assert far.images.device == far.captions.device == far.prompts.device == far.labels.device == ELSEWHERE
        near = scene_pairs(20, stream(0, 0, "scenes"))
        assert (far.prompts - near.prompts.to(ELSEWHERE)).abs().max().item() < 1e-4  # one encoder everywhere
