"""The abstract syntax of statements.

    statement   Select | Insert | Update | Delete | Exists
    Where       the conjuncts of the WHERE clause, trees of faradisc.language.expressions.syntax
    value       a Template: a value of the text, a parameter, or a container that holds parameters

Values in the trees are `Constant`s where the text has them whole, otherwise `ValueRef`s by the number
of a template of the statement (`template_ref`). So one parsed statement serves every request with the same
text, and the binder only has to fill in what differs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from faradisc.language.expressions.syntax import Action, Condition, Constant, Path, ValueRef
from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.path import Path as ResolvedPath

# --- Values --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `?`, counted from 0 in textual order."""

    index: int


@dataclass(frozen=True, slots=True)
class ListOf:
    parts: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    parts: tuple[tuple[str, Template], ...]


@dataclass(frozen=True, slots=True)
class BagOf:
    """A set with parameters among its members. `at` is where it stands, for refusals."""

    parts: tuple[Template, ...]
    at: str


Template: TypeAlias = Constant | Parameter | ListOf | MapOf | BagOf

Value: TypeAlias = Constant | ValueRef
"""A value inside a tree."""


def template_ref(index: int) -> ValueRef:
    return ValueRef(str(index))


# --- WHERE ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """A conjunct that could select by key: `name operator values`.

    IN has any number of values, "IN ?" one that is a list of them. EITHER is `name = a OR name = b ...`,
    which selects as IN does.
    """

    name: str
    operator: Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with", "IN", "IN ?", "EITHER"]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the conditions that AND joins at the top of a WHERE clause."""

    tree: Condition
    """May hold predicates "IN ?", whose second operand stands for a list; the binder spreads them."""
    paths: tuple[Path, ...]
    clause: Clause | None
    has_refs: bool
    """Whether values have to be filled in."""


@dataclass(frozen=True, slots=True)
class Where:
    """A WHERE clause; without conjuncts when there is none."""

    conjuncts: tuple[Conjunct, ...]
    equalities: dict[str, int] = field(init=False)
    """Of each attribute that is set equal to a value, the first conjunct that does so."""
    to_check: tuple[int, ...] = field(init=False)
    """The conjuncts that binding could refuse. `path = value` never is, and most are of that form."""

    def __post_init__(self) -> None:
        equalities: dict[str, int] = {}
        to_check = []
        for at, conjunct in enumerate(self.conjuncts):
            if conjunct.clause is not None and conjunct.clause.operator == "=":
                equalities.setdefault(conjunct.clause.name, at)
            else:
                to_check.append(at)
        object.__setattr__(self, "equalities", equalities)
        object.__setattr__(self, "to_check", tuple(to_check))

    def clause(self, at: int) -> Clause:
        """Requires: the conjunct has one."""
        clause = self.conjuncts[at].clause
        assert clause is not None
        return clause

    def others(self, positions: Collection[int | None]) -> tuple[int, ...]:
        """The conjuncts that are not at these positions."""
        return tuple([at for at in range(len(self.conjuncts)) if at not in positions])


NO_WHERE = Where(())

# --- Statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """FROM, INTO, UPDATE: a table or one of its indexes."""

    table: str
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    name: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    source: Source
    paths: tuple[ResolvedPath, ...] | None
    """None is `*`."""
    where: Where
    order: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    source: Source
    item: Template


@dataclass(frozen=True, slots=True)
class Returning:
    whole: bool
    """ALL; otherwise MODIFIED."""
    new: bool
    """NEW; otherwise OLD."""


@dataclass(frozen=True, slots=True)
class Update:
    source: Source
    actions: tuple[Action, ...]
    set_values: tuple[tuple[Value, str, str], ...]
    """Second arguments of set_add and set_delete, with the function and the place for the refusal."""
    where: Where
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class Delete:
    source: Source
    where: Where
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class Exists:
    """A check of one item, in transactions only."""

    select: Select


Body: TypeAlias = Select | Insert | Update | Delete | Exists


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed text."""

    body: Body
    source: Source
    where: Where
    templates: tuple[Template, ...]
    parameters: int
    """How many `?` the text has."""
    refusal: str | None
    """The first thing in the text that is well formed and not supported."""

    @property
    def reads(self) -> bool:
        return isinstance(self.body, Select)


def constant_value(value: Value, values: list[AttributeValue]) -> AttributeValue:
    """The value behind a constant, or behind a reference into the filled-in templates."""
    return value.value if isinstance(value, Constant) else values[int(value.name)]
