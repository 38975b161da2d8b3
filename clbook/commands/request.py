"""Requests from the command line, checked before any work: parameters, device, data."""

import difflib
from collections.abc import Iterable

from ..claims.claim_table import Claims
from ..common import project
from ..common.environment import device_of
from ..common.errors import BookError, cut
from ..common.parameters import Parameter
from ..common.sources import ChapterFiles

SEED_STEP = 1000  # distance between the first seeds of two blocks


def known_parameter(name: str, known: dict[str, Parameter], where: str) -> Parameter:
    """The parameter of this name; raises BookError, with the nearest name, for an unknown one."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BookError(f"{where}: no parameter {cut(name, 100)!r}, allowed are {', '.join(known)}{hint}")
    return known[name]


def read_assignments(assignments: list[str], known: dict[str, Parameter], where: str) -> dict[str, object]:
    """Read `name=value` texts; raises BookError for a name that is given twice or unknown, with the nearest one."""
    values = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise BookError(f"-p {cut(text, 200)}: not of the form name=value")
        if name in values:
            raise BookError(f"-p {cut(text, 200)}: {cut(name, 100)} is given twice")
        values[name] = known_parameter(name, known, where).from_text(value)
    return values


def with_device(
    parameters: dict, known: dict[str, Parameter], device: str | None, where: str, elsewhere: bool = False
) -> dict:
    """The parameters with the requested device, which must exist here unless `elsewhere`. Raises BookError."""
    if device is not None:
        if "device" not in known and device != "cpu":
            raise BookError(f"{where}: the chapter has no parameter 'device'; it runs on the CPU")
        if "device" in known:
            parameters = parameters | {"device": known["device"].from_text(device)}
    if str(parameters.get("device", "cpu")).startswith("cuda") and not elsewhere:
        try:
            device_of(parameters["device"])
        except ImportError:
            raise BookError("torch is not installed: install the extra that runs chapters") from None
    return parameters


def named_profile(profile: str, base: dict, parameters: dict) -> str:
    """The profile's name if the parameters are its own, on any device; otherwise `custom`."""
    return profile if parameters | {"device": ""} == base | {"device": ""} else "custom"


def named_claims(files: ChapterFiles, names: Iterable[str], option: str) -> tuple[str, ...]:
    """Claims by their ids; raises BookError for one that the chapter does not have or does not run."""
    rows, claims = Claims.load(files.claims).rows, []
    for claim in (text.strip() for text in names):
        if claim not in rows:
            near = difflib.get_close_matches(claim, rows, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BookError(f"{option}: {files.name} has no claim {cut(claim, 100)!r}{hint}")
        if rows[claim].rule is None:
            raise BookError(f"{option}: {files.name}/{claim} has no cell because it is not run: {rows[claim].needs}")
        claims.append(claim)
    return tuple(dict.fromkeys(claims))


def check_data(parameters: dict, where: str) -> None:
    """Check that the data named by the parameters are here, downloading them if possible; raises BookError."""
    if name := parameters.get("data"):
        data_sets = project.data_sets()
        try:
            data_sets.check(name)
        except data_sets.DataError as error:
            raise BookError(f"{where}: data={name}: {error}") from None


def seed_blocks(
    files: ChapterFiles, known: dict[str, Parameter], parameters: dict, others: int, option: str, step: int = SEED_STEP
) -> list[dict]:
    """What differs between a run and `others` more, each with its own block of seeds; raises BookError."""
    if others and not {"first_seed", "seeds"} <= parameters.keys():
        raise BookError(f"{option}: {files.name} has no parameters first_seed and seeds")
    if others < 0 or others and parameters["seeds"] > step:
        raise BookError(f"{option}: must be ≥ 0, with seeds ≤ {step}, got {others}")
    if not others:
        return [{}]
    starts = (parameters["first_seed"] + step * k for k in range(others + 1))
    return [{"first_seed": known["first_seed"].check(start, f"{option}: ")} for start in starts]
