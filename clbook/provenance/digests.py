"""A digest of everything that a result depends on.

It is a Merkle digest of the cells behind the result, the library definitions that they reach, the values of the
parameters that they read, and the checksums of the data set. The rule by which a reading is judged has a digest of its
own. `ALGORITHM` is hashed with everything. A digest of each definition's own text serves to name what has changed.
"""

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from ..claims.claim_table import Claim, Claims
from .library import joined, sha
from .slices import ChapterCode
from .spelling import BLOCK, Closed, Global, Writer, draws, opens_chapter
from .syntax import Definition, Speller, Tokens
from .units import Unit

ALGORITHM = 1
STATE_NAME = "the state of the process"
SHORT = 16  # characters of a digest in a table of definitions


@dataclass(frozen=True)
class Provenance:
    """What one unit's result depends on: the digest, name → digest of the text of what it reaches, and parameters."""

    digest: str
    reaches: dict[str, str]
    parameters: frozenset[str]
    units: tuple[int, ...]


def rule_digest(claim: Claim) -> str:
    """The digest of a claim's rule and of how it is applied, without its wording."""
    return sha(str(ALGORITHM), json.dumps(claim.verdict_key()))


def code_digest(code: ChapterCode, claims: Claims) -> str:
    """One digest of all that a chapter's readings and verdicts depend on, with every parameter at its default."""
    digests = ChapterDigests(code, {})
    rules = [rule_digest(claim) for claim in claims.rows.values()]
    return sha(*(digests.digest(index, claim) for claim, index in code.claims.items()), *rules)


class ChapterDigests:
    """The digests of a chapter's units for a run with these parameters; a missing parameter has its default."""

    def __init__(self, code: ChapterCode, parameters: dict[str, object]):
        defaults = {p.name: p.default for p in code.parameters.values()}
        self._parts: dict[tuple[int, str | None, bool], _Part] = {}
        self._labels: dict[int, str] = {}
        self.code, self.parameters = code, {k: parameters.get(k, v) for k, v in defaults.items()}
        self.library = code.library.digests(str(self.parameters.get("data", "generated")))
        self.kept = code.kept.of(self.parameters)

    @cached_property
    def closed(self) -> "dict[int, dict[str, Closed]]":
        """Notebook → the closed functions of its set-up, by name; for all runs of the code."""
        if not self.code.closed:
            self.code.closed |= self._closed_functions()
        return self.code.closed

    def _closed_functions(self) -> "dict[int, dict[str, Closed]]":
        """Notebook → the closed functions of its set-up, by name."""
        found: dict[int, dict[str, Closed]] = {unit.part: {} for unit in self.code.units}
        for unit in self.code.units:
            if unit.setup and self.is_closed(unit):
                found[unit.part][unit.body[0].name] = self._closed_function(unit)
        return found

    def is_closed(self, unit: Unit) -> bool:
        """Whether a unit is a function of the set-up whose only global names are imported, as in the library."""
        (statement,), names = unit.body, unit.names
        if not isinstance(statement, ast.FunctionDef):
            return False
        if (names.read | names.late) & self.bound[unit.part] - {statement.name}:
            return False
        return sum(statement.name in other.names.bound for other in self.code.units if other.part == unit.part) == 1

    def _closed_function(self, unit: Unit) -> "Closed":
        code, (function,) = self.code, unit.body

        def resolve(name: str, attributes: tuple[str, ...]) -> tuple[Tokens, int] | None:
            if name == function.name:
                return ["itself"], 0
            return code.library.refer(code.imports[name], attributes) if name in code.imports else None

        return Closed(function.name, tuple(Speller(resolve).spell(function)))

    @cached_property
    def bound(self) -> dict[int, set[str]]:
        """Notebook → the names that it binds, as parameters or later, except by an import."""
        result = {unit.part: set(self.parameters) for unit in self.code.units}
        for unit in self.code.units:
            result[unit.part] |= set() if unit.imports else unit.names.bound
        return result

    def claim(self, claim: str) -> Provenance:
        """What the reading of a claim depends on; raises BookError if no cell judges it."""
        return self.provenance(self.code.judging(claim), claim)

    def provenance(self, last: int, claim: str | None = None) -> Provenance:
        """What a unit's result depends on: the reading of a claim that it judges, or (None) everything it shows."""
        parts = self._parts_of(last, claim)
        reaches: dict[str, str] = {}
        state = [t for at, part in parts.items() if at in self.code.state for t in part.tokens]
        for at, part in parts.items():
            if at not in self.code.state:
                reaches[_free(self._label(at), reaches)] = part.own
        reaches |= {STATE_NAME: sha(*map(str, state))[:SHORT]} if state else {}
        for node in sorted(frozenset().union(*(part.reached for part in parts.values())), key=str):
            own = sha(*map(str, node.tokens)) if isinstance(node, Closed) else self.library.text_digest(node)
            reaches[str(node)] = own[:SHORT]
        read = frozenset().union(*(part.parameters for part in parts.values()))
        return Provenance(self.digest(last, claim), reaches, read, tuple(self.code.needed(last)))

    def reads(self, claim: str) -> frozenset[str]:
        """The parameters that the reading of a claim reads."""
        at, key = self.code.judging(claim), f"{claim} reads"
        if key not in self.kept:
            read = frozenset().union(*(part.parameters for part in self._parts_of(at, claim).values()))
            self.code.kept.put(self.kept, key, sorted(read))
        return frozenset(self.kept[key])

    def calls(self, claim: str, external: str) -> bool:
        """Whether the library definitions that a claim's reading reaches name a function of another package."""
        parts = self._parts_of(self.code.judging(claim), claim).values()
        reached = frozenset().union(*(part.reached for part in parts))
        definitions = (item for item in reached if isinstance(item, Definition))
        return any(f"external {external}" in self.library.library.spelled(item) for item in definitions)

    def digest(self, last: int, claim: str | None = None) -> str:
        """The digest of `provenance` alone."""
        return self._kept_digest(f"{last} {claim}", last, claim, self.code.needed(last))

    def picture(self, last: int) -> tuple[str, str]:
        """The short digest of a picture that a unit draws, and that of all before it whose names the unit reuses.

        What a run stores is the first. Pictures of earlier runs have the second, which is as good as long as it fits,
        since the first slice is a part of the second.
        """
        own = self._kept_digest(f"{last} picture", last, None, self.code.needed(last, picture=True))
        return own[:SHORT], self.digest(last)[:SHORT]

    def _kept_digest(self, key: str, last: int, claim: str | None, units: list[int]) -> str:
        """The digest of some units, the last one's with the verdict on one claim, or (None) with all that it shows."""
        if key not in self.kept:
            numbers: dict[str, str] = {}  # the chapter's own names are numbered in order of appearance
            texts = [t for part in self._parts_of(last, claim, units).values() for t in part.texts]
            named = [self.closure_digest(text, numbers) for text in texts]
            drawn = claim is None and any(draws(self.code.units[at]) for at in units)
            digest = sha(str(ALGORITHM), *named, *([self.code.library.style] if drawn else []))
            self.code.kept.put(self.kept, key, digest)
        return self.kept[key]

    def _parts_of(self, last: int, claim: str | None, units: list[int] | None = None) -> "dict[int, _Part]":
        """The tokens of each needed unit, or of these units, without those that have none."""
        with_colours = claim is None  # a picture depends on its colours, a reading does not
        needed = self.code.needed(last) if units is None else units
        parts = {at: self._part(at, claim if at == last else "", with_colours) for at in needed}
        return {at: part for at, part in parts.items() if part.tokens}

    def _part(self, at: int, claim: str | None, with_colours: bool) -> "_Part":
        """A unit's tokens: with the verdict on one claim, on none (empty), or (None) with everything it shows."""
        key = at, claim, with_colours
        if key not in self._parts:
            known = self.code.spelled.setdefault(key, {})
            found = next((part for part in known.values() if self._values(part) in known), None)
            part = known[self._values(found)] if found else self._spelled(at, claim, with_colours)
            self._parts[key] = known[self._values(part)] = part
        return self._parts[key]

    def _values(self, part: "_Part") -> tuple:
        """What a unit's tokens depend on besides the code: the data and the values of the parameters that it reads."""
        names = sorted(part.parameters - {BLOCK}) + ["first_seed", "seeds"] * (BLOCK in part.parameters)
        return self.library.data, *(repr(self.parameters[name]) for name in names)

    def _spelled(self, at: int, claim: str | None, with_colours: bool) -> "_Part":
        unit = self.code.units[at]
        writer = Writer(self.code, self.parameters, self.bound[unit.part], self.closed[unit.part], with_colours)
        silent = unit.imports or opens_chapter(unit) or unit.setup and self.is_closed(unit)
        tokens = [] if silent else writer.unit(unit, claim)
        own, read = sha(*map(str, tokens))[:SHORT], frozenset(writer.parameters)
        return _Part(tuple(tokens), own, read, self._texts(tokens), self._reached(tokens))

    def _texts(self, tokens: Tokens) -> tuple:
        """Tokens as texts for a digest; those between two of the chapter's own names are joined into one."""
        runs = [list(run) for _, run in groupby(tokens, key=lambda token: isinstance(token, Global))]
        return tuple(
            text
            for run in runs
            for text in (
                run if isinstance(run[0], Global) else [joined(*(self.closure_digest(token, {}) for token in run))]
            )
        )

    def _label(self, at: int) -> str:
        if at not in self._labels:
            self._labels[at] = label(self.code, at)
        return self._labels[at]

    def closure_digest(self, token: "str | Definition | Closed | Global", numbers: dict[str, str]) -> str:
        """The text of a token in a digest; of a definition the digest of its tokens and of all that they reach."""
        if isinstance(token, str):
            return token
        if isinstance(token, Global):
            return numbers.setdefault(token.name, f"name {len(numbers)}")
        if isinstance(token, Closed):
            return sha(*(self.closure_digest(inner, {}) for inner in token.tokens))
        return self.library.closure_digest(token)

    def _reached(self, tokens: Iterable) -> frozenset:
        nodes = [t for t in set(tokens) if isinstance(t, Definition | Closed)]
        below = [self._reached(t.tokens) | {t} if isinstance(t, Closed) else self.library.reached(t) for t in nodes]
        return frozenset().union(*below)


@dataclass(frozen=True)
class _Part:
    """A unit's part of a digest."""

    tokens: tuple
    own: str
    parameters: frozenset[str]
    texts: tuple
    reached: frozenset


def label(code: ChapterCode, index: int) -> str:
    """A unit in words: the claims that it judges, otherwise the first names that it binds."""
    unit = code.units[index]
    if claims := unit.judges:
        return f"the cell that judges {', '.join(claims)}"
    bound = sorted(unit.names.bound, key=lambda name: (unit.source.find(name), name))[:3]
    return f"the cell of {', '.join(bound)}" if bound else f"the cell `{unit.source.strip()[:40]}`"


def _free(name: str, taken: dict) -> str:
    """The name, with a number appended if it is already taken."""
    names = [name, *(f"{name} ({n})" for n in range(2, len(taken) + 3))]
    return next(n for n in names if n not in taken)
