"""What makes a result, in one digest: the cells behind it, the library's definitions that they reach, the values of the
parameters that they read, the sums of the data set.

A reading has two digests: its own, and that of the rule it is held to. The algorithm has a number; another number makes
other digests. A table of each definition's own text tells later what has changed.
"""

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from ..claims.claim_table import Claim, Claims
from .library import Digests, joined, sha
from .slices import Story, Unit
from .spelling import Closed, Global, Writer, opens_chapter
from .syntax import Definition, Speller, Tokens

ALGORITHM = 1
STATE_NAME = "the state of the process"
SHORT = 16  # characters of a digest in a table of definitions


@dataclass(frozen=True)
class Made:
    """What one unit's result depends on: its digest, the own digest of each thing it reaches, parameters it reads."""

    digest: str
    reaches: dict[str, str]
    parameters: frozenset[str]
    units: tuple[int, ...]


def rule_digest(claim: Claim) -> str:
    """The digest of a claim's rule and of how it is applied; the wording around it does not count."""
    return sha(str(ALGORITHM), json.dumps(claim.rule_for_hash()))


def code_digest(story: Story, claims: Claims) -> str:
    """What the readings and verdicts of a whole chapter depend on besides parameters, in one digest."""
    digests = ChapterDigests(story, {})
    rules = [rule_digest(claim) for claim in claims.rows.values()]
    return sha(*(digests.digest(at, claim) for claim, at in story.claims.items()), *rules)


class ChapterDigests:
    """The digests of a chapter's units for a run with these parameters; a missing one has its default."""

    def __init__(self, story: Story, parameters: dict[str, object]):
        defaults = {p.name: p.default for p in story.parameters.values()}
        self._parts: dict[tuple[int, str | None], _Part] = {}
        self._known: dict[tuple[int, str | None], str] = {}
        self._labels: dict[int, str] = {}
        self.story, self.parameters = story, {k: parameters.get(k, v) for k, v in defaults.items()}
        self.library = Digests(story.library, str(self.parameters.get("data", "generated")))
        self.closed = {u.body[0].name: self._closed_function(u) for u in story.units if u.setup and self.is_closed(u)}

    def is_closed(self, unit: Unit) -> bool:
        """Whether it is a function of the set-up that reads imported names alone: it could stand in the library."""
        (statement,), names = unit.body, unit.names
        if not isinstance(statement, ast.FunctionDef) or (names.read | names.late) & self.bound - {statement.name}:
            return False
        return sum(statement.name in other.names.bound for other in self.story.units) == 1

    def _closed_function(self, unit: Unit) -> "Closed":
        story, (function,) = self.story, unit.body

        def resolve(name: str, attributes: tuple[str, ...]) -> tuple[Tokens, int] | None:
            if name == function.name:
                return ["itself"], 0
            return story.library.refer(story.imports[name], attributes) if name in story.imports else None

        return Closed(function.name, tuple(Speller(resolve).spell(function)))

    @cached_property
    def bound(self) -> set[str]:
        """Names that the chapter binds itself, by its parameters or later, and not by an import."""
        found = {name for unit in self.story.units if not unit.imports for name in unit.names.bound}
        return found | self.parameters.keys()

    def claim(self, claim: str) -> Made:
        """What the reading of a claim depends on; raises BookError where no cell judges it."""
        return self.of(self.story.judging(claim), claim)

    def of(self, last: int, claim: str | None = None) -> Made:
        """What a unit's result depends on: the reading of a claim that it judges, or (None) all that it shows."""
        parts = self._parts_of(last, claim)
        reaches: dict[str, str] = {}
        state = [t for at, part in parts.items() if at in self.story.state for t in part.tokens]
        for at, part in parts.items():
            if at not in self.story.state:
                reaches[_free(self._label(at), reaches)] = part.own
        reaches |= {STATE_NAME: sha(*map(str, state))[:SHORT]} if state else {}
        for found in sorted(frozenset().union(*(part.reached for part in parts.values())), key=str):
            own = sha(*map(str, found.tokens)) if isinstance(found, Closed) else self.library.own(found)
            reaches[str(found)] = own[:SHORT]
        read = frozenset().union(*(part.parameters for part in parts.values()))
        return Made(self.digest(last, claim), reaches, read, tuple(self.story.needed(last)))

    def digest(self, last: int, claim: str | None = None) -> str:
        """The digest of `of` alone."""
        if (last, claim) not in self._known:
            numbers: dict[str, str] = {}  # the chapter's own names are numbered as they come
            texts = [t for part in self._parts_of(last, claim).values() for t in part.texts]
            named = [self.deep(text, numbers) for text in texts]
            self._known[last, claim] = sha(str(ALGORITHM), *named)
        return self._known[last, claim]

    def _parts_of(self, last: int, claim: str | None) -> "dict[int, _Part]":
        """What each unit that is needed brings, of those that bring something."""
        parts = {at: self._part(at, claim if at == last else "") for at in self.story.needed(last)}
        return {at: part for at, part in parts.items() if part.tokens}

    def _part(self, at: int, claim: str | None) -> "_Part":
        """A unit's tokens: with one claim's verdict, or none, or (claim None) all that it shows."""
        if (at, claim) not in self._parts:
            unit, writer = self.story.units[at], Writer(self.story, self.parameters, self.bound, self.closed)
            silent = unit.imports or opens_chapter(unit) or unit.setup and self.is_closed(unit)
            tokens = [] if silent else writer.unit(unit, claim)
            own, read = sha(*map(str, tokens))[:SHORT], frozenset(writer.parameters)
            self._parts[at, claim] = _Part(tuple(tokens), own, read, self._texts(tokens), self._reached(tokens))
        return self._parts[at, claim]

    def _texts(self, tokens: Tokens) -> tuple:
        """Tokens as texts of a digest, those between two names of the chapter as one."""
        runs = [list(run) for _, run in groupby(tokens, key=lambda token: isinstance(token, Global))]
        return tuple(
            text
            for run in runs
            for text in (run if isinstance(run[0], Global) else [joined(*(self.deep(token, {}) for token in run))])
        )

    def _label(self, at: int) -> str:
        if at not in self._labels:
            self._labels[at] = label(self.story, at)
        return self._labels[at]

    def deep(self, token: "str | Definition | Closed | Global", numbers: dict[str, str]) -> str:
        """A token in a digest: a definition is the digest of all that it says and reaches."""
        if isinstance(token, str):
            return token
        if isinstance(token, Global):
            return numbers.setdefault(token.name, f"name {len(numbers)}")
        if isinstance(token, Closed):
            return sha(*(self.deep(inner, {}) for inner in token.tokens))
        return self.library.deep(token)

    def _reached(self, tokens: Iterable) -> frozenset:
        found = [t for t in set(tokens) if isinstance(t, Definition | Closed)]
        below = [self._reached(t.tokens) | {t} if isinstance(t, Closed) else self.library.reached(t) for t in found]
        return frozenset().union(*below)


@dataclass(frozen=True)
class _Part:
    """What a unit brings to a digest."""

    tokens: tuple
    own: str
    parameters: frozenset[str]
    texts: tuple
    reached: frozenset


def label(story: Story, at: int) -> str:
    """A unit in words: the claim that it judges, else the first names that it binds."""
    unit = story.units[at]
    if claims := unit.judges:
        return f"the cell that judges {', '.join(claims)}"
    bound = sorted(unit.names.bound, key=lambda name: (unit.source.find(name), name))[:3]
    return f"the cell of {', '.join(bound)}" if bound else f"the cell `{unit.source.strip()[:40]}`"


def _free(name: str, taken: dict) -> str:
    """The name, with a number behind it if another thing has it."""
    names = [name, *(f"{name} ({n})" for n in range(2, len(taken) + 3))]
    return next(n for n in names if n not in taken)
