"""The gauge of a claim: places on its scale, and what it draws."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from clbook.claims.judging import Reading
from clbook.claims.rules import Rule
from clbook.notebook.gauge import WIDTH, Scale, gauge

LINEAR = Reading.of(observed={"a": [0.3, 0.302], "b": 0.6}, control=2.0, outside=1.5)


def drawn(rule: Rule, reading: Reading) -> ElementTree.Element:
    return ElementTree.fromstring(gauge(rule, reading))


def places(picture, name: str) -> list[float]:
    found = [part for part in picture if part.get("class") == name]
    return [float(part.get("cx") or re.search(r"M(-?[\d.]+)", part.get("d"))[1]) for part in found]


def test_what_meets_the_rule_lies_in_its_zone_and_the_control_outside():
    picture = drawn(Rule("at_most", (1.0,)), LINEAR)
    (zone,) = (part for part in picture if part.get("class") == "allowed")
    edge = float(zone.get("x")) + float(zone.get("width"))
    assert float(zone.get("x")) == 0 and max(places(picture, "measured")) < edge < min(places(picture, "control"))
    assert len(places(picture, "seed")) == 2 and len(places(picture, "interval")) == 1
    assert edge < places(picture, "outside")[0] < places(picture, "control")[0] + 4
    texts = [part.text for part in picture if part.text]
    assert texts == ["≤ 1", "0.60", "2 control"]


def test_the_words_of_the_control_stand_below_its_mark_inside_the_picture():
    words = "a second layer copied from columns of the first, with outputs of size √h at the start"
    rule = Rule("at_most", (1.0,))
    bare, picture = drawn(rule, LINEAR), ElementTree.fromstring(gauge(rule, LINEAR, words))
    lines = [part for part in picture if part.get("class") == "control-label"]
    assert " ".join(part.text for part in lines) == f"✕ {words}: 2" and len(lines) == 3
    assert [float(part.get("y")) for part in lines] == sorted(float(part.get("y")) for part in lines)
    assert float(bare.get("height")) < float(lines[-1].get("y")) < float(picture.get("height"))
    assert f"{words}: 2" in picture.get("aria-label")
    last = lines[-1]  # as near to its mark, at the right end, as it fits
    assert float(last.get("x")) + 6 * len(last.text) / 2 <= WIDTH


@pytest.mark.parametrize(
    ("rule", "measured", "control", "shown"),
    [
        (Rule("at_most", (0.1,)), 0.0572, 0.6403, ["0.057", "0.64"]),  # the control is no per cent beside a share
        (Rule("at_most", (1.001,)), 1.0000000000004, 1.0496, ["1.00", "1.05"]),  # two digits would put it on the edge
        (Rule("at_most", (1.0,)), 1.0000000000004, 1.0095, ["1.00", "1.01"]),
        (Rule("at_least", (0.9,)), 0.0, 0.0, ["0", "0"]),
        (Rule("at_most", (1.0,)), 0.41, math.inf, ["0.41", "∞"]),
    ],
)
@pytest.mark.parametrize("words", ["", "equal σ"])
def test_measured_and_control_are_numbers_of_one_format(rule, measured, control, shown, words):
    picture = ElementTree.fromstring(gauge(rule, Reading.of(observed=measured, control=control), words))
    first, at_mark = shown
    texts = {part.get("class"): part.text for part in picture if part.text}
    assert texts["measured-label"] == first
    named = f"✕ {words}: {at_mark}" if words else f"{at_mark} control"
    assert texts.get("control-label", named) == named
    assert f"measured {first};" in picture.get("aria-label") and picture.get("aria-label").endswith(at_mark)


def test_the_scale_is_logarithmic_where_values_span_more_than_two_decades():
    near, far = Scale.of([0.1, 5.0]), Scale.of([1e-16, 1e-10, 2.0])
    assert not near.log and far.log and not Scale.of([-1.0, 1e-9, 300.0]).log
    assert far(1e-13) - far(1e-16) == pytest.approx(far(1e-10) - far(1e-13))
    assert Scale.of([0.0, 1e-8, 1.0]).log and Scale.of([0.0, 1e-8, 1.0])(0.0) == 0
    assert far(math.inf) == WIDTH and far(-math.inf) == 0 and Scale.of([3.0])(3.0) == pytest.approx(WIDTH / 2)


@pytest.mark.parametrize("rule", [Rule("equals", (3.0,)), Rule("between", (0.9, 1.1)), Rule("at_least", (0.1,))])
@pytest.mark.parametrize("observed", [3.0, [0.1, 0.2, 0.7], {"hits": 3, "trials": 9}, {"x": 0.0, "y": math.inf}])
def test_every_kind_of_rule_and_statistic_is_drawn_inside_the_picture(rule, observed):
    picture = drawn(rule, Reading.of(observed=observed, control=-4.0))
    for name in ("seed", "measured", "interval", "control", "edge"):
        assert all(-4.1 <= x <= WIDTH for x in places(picture, name))


def test_a_reading_without_a_finite_number_has_no_picture():
    assert gauge(Rule("at_most", (1.0,)), Reading.of(observed=math.inf, control=2.0)) == ""
