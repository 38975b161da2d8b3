"""The tests of a border: one number that refutes a colleague's sentence, right to one part in a hundred, all hidden.

In a source of exercises a raw cell stands for them, between `# BEGIN TESTS` and `# END TESTS`:

    # BORDER
    name: ratio_border
    truth: 1 - 1 / np.pi
    hint: compare the two eigenvalues
    near: 0.5 | that is the variance without its mean

`truth` and what is before each `|` are expressions in the names of the solved notebook; there may be several lines
`near`, each a foreseen wrong number with what is to be said of it.
"""

from ..common.errors import BookError

MARK = "# BORDER\n"
POINTS = 3
_TESTS = (
    '''""" # BEGIN TEST CONFIG
points: 0
failure_message: 'one number, as exact as one part in a hundred'
"""  # END TEST CONFIG


def test_form({name}):
    import math

    assert math.isfinite({name}), "give a finite number"''',
    '''""" # BEGIN TEST CONFIG
points: {points}
hidden: true
failure_message: {hint!r}
"""  # END TEST CONFIG


def test_border({name}):
    truth, near = {truth}, {near}
    for number, said in near:
        assert abs({name} - number) > 0.01 * abs(number), said
    assert abs({name} - truth) <= 0.01 * abs(truth), "it is not within one part in a hundred"''',
)


def fill_solutions(cells: list, solved: dict) -> None:
    """Put each border, a number, where the source has `name = None  # SOLUTION`; BookError if it cannot be computed."""
    for source in [cell.source for cell in cells if cell.source.startswith(MARK)]:
        given = _given(source)
        for cell in cells:
            if cell.source.startswith(f"{given['name']} = None"):
                cell.source = f"{given['name']} = {_number(given['truth'], given, solved):.8g}  # SOLUTION"


def border_tests(source: str, solved: dict) -> list[str]:
    """The cells of tests that a raw cell stands for, with numbers from the names of the solved notebook.

    Raises BookError for lines that are missing, for a number that cannot be computed, and for a foreseen wrong number
    that is right.
    """
    given = _given(source)
    truth = _number(given["truth"], given, solved)
    pairs = [value.split(" | ", 1) for key, value in _rows(source) if key == "near"]
    near = [(_number(number, given, solved), said) for number, said in pairs]
    if any(abs(number - truth) <= 0.02 * abs(truth) for number, _ in near):
        raise BookError(f"{given['name']}: a wrong number is as good as right: {truth}, {near}")
    fields = {"name": given["name"], "hint": given["hint"], "points": POINTS, "truth": truth, "near": near}
    return [test.format(**fields) for test in _TESTS]


def _rows(source: str) -> list[tuple[str, str]]:
    return [line.partition(": ")[::2] for line in source.removeprefix(MARK).splitlines()]


def _given(source: str) -> dict[str, str]:
    """The fields of a border; of several lines `near` the last."""
    given = dict(_rows(source))
    if not {"name", "truth", "hint"} <= set(given) <= {"name", "truth", "hint", "near"}:
        raise BookError(f"a border must have name, truth, hint and may have near, got: {source!r}")
    return given


def _number(expression: str, given: dict[str, str], solved: dict) -> float:
    try:
        return float(eval(expression, dict(solved)))
    except Exception as error:  # of whatever kind an expression raises
        raise BookError(f"{given['name']}: its border cannot be computed: {type(error).__name__}: {error}") from None
