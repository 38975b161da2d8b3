"""Parameters: read from the source, checked by name, type and range before anything runs."""

import re

import pytest
from one_line_error import one_line_error

from clbook.common.errors import BookError
from clbook.common.parameters import effective, read_parameters, read_profile
from clbook.common.sources import Cell, parse_cells
from contrastive_dynamics.losses.named_losses import LOSSES

SOURCE = """# %% tags=["parameters"]
# sizes
seeds: int = 10  # independent runs, 2..100
rate: float = 1e-2  # step size, 1e-4..1.5
shift: float = 0.0  # from where, -1..1
beta: list[int] = [1, 2]  # over-parameterisation M/P, 1..64
device: str = "auto"  # where it runs, auto|cpu|cuda
name: str = "any"  # what it is called
fast: bool = True  # whether to hurry
"""


def known(source=SOURCE):
    return read_parameters(parse_cells(source), "chapter.py")


def test_a_line_gives_name_type_default_range_and_meaning():
    found = known()
    seeds, beta, device = found["seeds"], found["beta"], found["device"]
    assert list(found) == ["seeds", "rate", "shift", "beta", "device", "name", "fast"]
    assert (seeds.type, seeds.default, seeds.range, seeds.meaning) == ("int", 10, "2..100", "independent runs")
    assert (found["rate"].low, found["rate"].high, found["shift"].low) == (1e-4, 1.5, -1.0)
    assert (beta.item_type, beta.default, beta.meaning) == (int, [1, 2], "over-parameterisation M/P")
    assert device.choices == ("auto", "cpu", "cuda") and device.range == "auto|cpu|cuda"
    assert found["name"].range == "" and found["fast"].default is True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seeds", "5"),
        ("seeds", 5.0),
        ("seeds", True),
        ("seeds", 1),
        ("seeds", 101),
        ("rate", "1e-3"),
        ("rate", float("nan")),
        ("beta", 1),
        ("beta", []),
        ("beta", [1, 65]),
        ("beta", [1, 2.0]),
        ("beta", "[1, 2]"),
        ("device", "tpu"),
        ("name", 3),
        ("fast", 1),
        ("fast", None),
    ],
)
def test_a_wrong_value_is_refused_saying_what_was_given_and_what_is_allowed(name, value):
    with pytest.raises(BookError) as caught:
        effective(known(), {name: value}, "run")
    said = str(caught.value)
    assert said.startswith(f"run: {name}: must be {known()[name].type}") and said.endswith(f", got {value!r}")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "text", "got"),
    [
        ("seeds", "9" * 5000, "'9{59}…9{59}'"),
        ("seeds", "9" * 4000, "9{60}…9{60}"),
        ("rate", "9" * 4000, "9{60}…9{60}"),
        ("rate", "1e999999", "inf"),
        ("beta", "[" * 5000, r"'\[{59}…\[{59}'"),
        ("beta", "x," * 20000, r"'\[x,x,.*x,\]'"),
    ],
)
def test_a_value_of_any_length_is_refused_in_a_short_line(name, text, got):
    with one_line_error(BookError, f"{name}: must be .*, got {got}$"):
        known()[name].from_text(text)


@pytest.mark.parametrize(
    ("line", "taken", "refused"),
    [
        ("ratios: list[int] = [8]  # of the map, 2|4|8", {"2,4": [2, 4], "[8.]": [8]}, ["3", "[2, 3]", "16", "true"]),
        ("level: float = 0.5  # of the test, 0.05|0.5|1", {".5": 0.5, "1": 1.0}, ["0.1", "half"]),
        ("mode: str = '1'  # how, 1|2", {"2": "2"}, ["3"]),
    ],
)
def test_a_number_may_be_one_of_a_few(line, taken, refused):
    (parameter,) = known(f'# %% tags=["parameters"]\n{line}\n').values()
    for text, value in taken.items():
        assert repr(parameter.from_text(text)) == repr(value)
    for text in refused:
        with one_line_error(BookError, rf"{parameter.name}: must be .* {re.escape(parameter.range)}, got"):
            parameter.from_text(text)


def test_a_list_has_no_more_values_than_anyone_can_wait_for():
    assert len(known()["beta"].from_text(",".join(["1"] * 1000))) == 1000
    with one_line_error(BookError, "beta: must have at most 1000 values, got 20000"):
        known()["beta"].from_text(",".join(["1"] * 20000))


def test_the_ends_of_a_range_are_allowed_and_a_whole_number_is_a_float():
    given = {"seeds": 2, "rate": 1, "beta": (1, 64), "shift": -1}
    values = effective(known(), given, "run")
    assert values | {"seeds": 2, "rate": 1.0, "beta": [1, 64], "shift": -1.0} == values
    assert type(values["rate"]) is float and values["device"] == "auto"


def test_a_range_is_a_registry_of_the_kernels():
    line = 'loss: str = "infonce"  # of yours, one of losses.named_losses.LOSSES'
    loss = known(f'# %% tags=["parameters"]\n{line}\n')["loss"]
    assert loss.choices == tuple(LOSSES) and loss.range == "|".join(LOSSES) and loss.meaning == "of yours"
    with pytest.raises(BookError, match=r"loss: must be str infonce\|.*, got 'gausian'; did you mean gaussian\?$"):
        loss.from_text("gausian")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("seeds", "5", 5),
        ("seeds", "+5", 5),
        ("seeds", "1e1", 10),
        ("seeds", "5.", 5),
        ("rate", ".5", 0.5),
        ("rate", "+0.5", 0.5),
        ("shift", "-.5", -0.5),
        ("beta", "1e1,+2,3.", [10, 2, 3]),
        ("rate", "1e-3", 1e-3),
        ("rate", "1", 1.0),
        ("beta", "1,2,5", [1, 2, 5]),
        ("beta", "[3]", [3]),
        ("beta", "4", [4]),
        ("name", "5", "5"),
        ("fast", "false", False),
        ("fast", "True", True),
        ("device", "cpu", "cpu"),
    ],
)
def test_typed_values_are_read_in_their_type(name, text, value):
    found = known()[name].from_text(text)
    assert found == value and type(found) is type(value)


def given(name, value):
    return effective(known(), {name: value}, "run")


def typed(name, text):
    return known()[name].from_text(text)


def line(text):
    return known(f'# %% tags=["parameters"]\n{text}\n')


@pytest.mark.parametrize(
    ("call", "arguments", "words"),
    [
        (given, ("sedes", 3), r"run: no parameter 'sedes', allowed are seeds, .*; did you mean seeds\?$"),
        (given, ("zzzzzz", 3), "allowed are [^?]*$"),
        (given, ("device", "cdua"), r"device: must be str auto\|cpu\|cuda, got 'cdua'; did you mean cuda\?$"),
        *(
            (typed, (name, text), f"{name}: must be .*, got")
            for name, text in (
                ("seeds", "many"), ("seeds", "1.5"), ("beta", "1;2"), ("fast", "yes"), ("device", "mps"),
            )
        ),
        (known, ("# %%\nseeds: int = 3\n",), "chapter.py: no cell is tagged 'parameters'"),
        (line, ("seeds = 3",), "not of the form 'name: type = default  # meaning, range': seeds = 3"),
        (line, ("seeds: int",), "not of the form"),
        (line, ("seeds: int = 1 + x",), "not of the form"),
        (line, ("a: int = 1; b: int = 2",), "not of the form"),
        (
            line,
            ("seeds: int | None = 3",),
            r"seeds: type must be int, float, str, bool or a list of these, got int \| None",
        ),
        (line, ("seeds: int = 300  # runs, 2..100",), r"chapter.py: seeds: must be int 2\.\.100, got 300"),
        (line, ("seeds: int = 1.5",), "must be int, got 1.5"),
        (
            line,
            ('loss: str = "a"  # one of losses.none.X',),
            "chapter.py: loss: contrastive_dynamics has no registry losses.none.X",
        ),
    ],
)  # fmt: skip
def test_what_is_off_is_named(call, arguments, words):
    with one_line_error(BookError, words):
        call(*arguments)


def test_a_profile_is_read(tmp_path):
    path = tmp_path / "a.smoke.yaml"
    path.write_text('# small\n\nseeds: 4  # few\nbeta: [1, 2]\ndevice: "cpu"\nrate: 1e-3\nfast: false\n')
    values = read_profile(path)
    assert values == {"seeds": 4, "beta": [1, 2], "device": "cpu", "rate": 1e-3, "fast": False}
    assert effective(known(), values, path.name)["rate"] == 1e-3


@pytest.mark.parametrize("line", ["seeds 4", "seeds: four", "seeds:", "device: cpu"])
def test_a_line_of_a_profile_that_is_off_is_named(tmp_path, line):
    path = tmp_path / "a.smoke.yaml"
    path.write_text(f"# small\n{line}\n")
    with pytest.raises(BookError, match="a.smoke.yaml, line 2: not 'name: value' with a JSON value"):
        read_profile(path)


def test_a_registry_of_an_older_notebook_may_be_gone():
    cells = [Cell('loss: str = "mine"  # which, one of losses.gone.NAMES', False, ("parameters",))]
    with pytest.raises(BookError, match="has no registry losses.gone.NAMES"):
        read_parameters(cells, "a.py")
    assert read_parameters(cells, "a.py", registries=False)["loss"].default == "mine"
