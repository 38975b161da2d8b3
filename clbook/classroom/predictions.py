"""The tests of a prediction, a number with an interval that is written down before a run: one point for each of three.

In a source of exercises a raw cell stands for them, between `# BEGIN TESTS` and `# END TESTS`:

    # PREDICTION
    name: ratio_prediction
    truth: ratio_for(10**6, 10.0, 4)
    scale: factor
    widest: 2
    far: 1.25
    near: 1.05

`truth` is an expression in the names of the solved notebook, so that a changed solution changes it; the student's
notebook holds its value. On the scale `difference` the widest interval and what is far and close
are differences, on the scale `factor` ratios of positive numbers.
"""

import re

from ..common.errors import BookError

MARK = "# PREDICTION\n"
FIELDS = {"name", "truth", "scale", "widest", "far", "near"}
_QUESTION = re.compile(r"# BEGIN QUESTION\nname: (\w+)")
_TRUTH = re.compile(r"^    truth = (\S+)$", re.MULTILINE)
# what an interval that is narrow enough keeps, how it is said to be too wide, how far a value is off, and its words
_SCALES = {
    "difference": ("high - low <= {0}", "high − low ≤ {0}", "abs(value - truth) <= {0}", "off by more than {0}"),
    "factor": (
        "0 < low and high <= {0} * low",
        "high/low ≤ {0}",
        "value > 0 and abs(math.log(value / truth)) <= math.log({0})",
        "off by a factor of more than {0}",
    ),
}


def prediction_tests(source: str, solved: dict) -> list[str]:
    """The cells of tests that a raw cell stands for, its truth computed from the names of the solved notebook.

    Raises BookError for fields that are missing or unknown, and for a truth that cannot be computed.
    """
    given = _fields(source)
    try:
        given["truth"] = repr(float(eval(given["truth"], dict(solved))))
    except Exception as error:  # of whatever kind the expression raises
        raise BookError(f"{given['name']}: its truth cannot be computed: {type(error).__name__}: {error}") from None
    narrow, width, close, off = _SCALES[given["scale"]]
    narrow, width = narrow.format(given["widest"]), width.format(given["widest"])
    wide = f"the interval is so wide that it says nothing: {width}"
    form = (
        'assert low <= value <= high, "give (value, low, high) with low ≤ value ≤ high"\n    '
        f'assert low < high, "an interval has two ends"\n    assert {narrow}, "{wide}"'
    )
    misses = "the interval misses what the run shows"
    holds = f'assert {narrow}, "{wide}"\n    assert low - 1e-9 <= truth <= high + 1e-9, "{misses}"'
    inside = 'assert low <= value <= high, "the value must lie in its own interval"\n    '
    far, near = (f'{inside}assert {close.format(given[k])}, "{off.format(given[k])}"' for k in ("far", "near"))
    return [
        _cell(given, "form", "a prediction is three numbers (value, low, high)", form, points=0),
        _cell(given, "interval", "the interval does not hold the truth", holds),
        _cell(given, "far", "the prediction is far from the truth", far),
        _cell(given, "near", "the prediction is not close to the truth", near),
    ]


def follow_truth(cells: list, solved: dict) -> None:
    """Let the guess of each solution hold the truth, which a seed has turned."""
    for source in [cell.source for cell in cells if cell.source.startswith(MARK)]:
        given = _fields(source)
        truth, near = float(eval(given["truth"], dict(solved))), float(given["near"])
        ends = (truth - near, truth + near) if given["scale"] == "difference" else (truth / near, truth * near)
        guess = f"{given['name']} = ({truth:.6g}, {ends[0]:.6g}, {ends[1]:.6g})  # SOLUTION"
        for cell in cells:
            if cell.source.startswith(f"{given['name']} = ") and "# SOLUTION" in cell.source:
                cell.source = guess


def asked(cells: list) -> dict[str, dict[str, str]]:
    """Question → variable of its prediction and the expression for its truth, of a source's cells."""
    found, question = {}, ""
    for cell in cells:
        if match := _QUESTION.match(cell.source):
            question = match[1]
        elif cell.source.startswith(MARK):
            given = _fields(cell.source)
            found[question] = {"variable": given["name"], "truth": given["truth"]}
    return found


def truth_in(tests: str) -> float | None:
    """What the tests of a prediction compare with, from their source text; None for other tests."""
    match = _TRUTH.search(tests)
    return float(match[1]) if match else None


def _fields(source: str) -> dict[str, str]:
    import yaml

    given = yaml.load(source.removeprefix(MARK), Loader=yaml.BaseLoader)  # all values as they are written
    if not isinstance(given, dict) or given.keys() != FIELDS or given["scale"] not in _SCALES:
        raise BookError(f"a prediction must have {', '.join(sorted(FIELDS))}, scale {' or '.join(_SCALES)}: {source!r}")
    return given


def _cell(given: dict, what: str, hint: str, body: str, points: int = 1) -> str:
    hidden = "hidden: true\n" if points else ""
    truth = f"    import math\n\n    truth = {given['truth']}\n" if points else ""
    return (
        f'""" # BEGIN TEST CONFIG\npoints: {points}\n{hidden}failure_message: \'{hint}\'\n"""  # END TEST CONFIG\n\n\n'
        f"def test_{what}({given['name']}):\n{truth}    value, low, high = {given['name']}\n    {body}"
    )
