"""The abstract syntax of statements.

    statement   Select | Insert | Update | Delete | Exists
    Where       the conjuncts of the WHERE clause, trees of faradisc.language.expressions.syntax
    value       a Template: a value of the text, a parameter, or a container that holds parameters

Values in the trees are `Constant`s, or `ValueRef`s by the number of a template of the statement when they
have parameters (`template_ref`). So one parsed statement serves every request with the same text, and the
binder only fills in the parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from faradisc.language.expressions.syntax import Action, Condition, Constant, Path, ValueRef
from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.path import Path as ResolvedPath
from faradisc.records import dataclass, field

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


Template: TypeAlias = Constant | Parameter | ListOf | MapOf

Value: TypeAlias = Constant | ValueRef
"""A value inside a tree."""


def template_ref(index: int) -> ValueRef:
    return ValueRef(str(index))


# --- WHERE ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """A conjunct that could select by key: `name operator values`.

    IN has several values or none, as one is an equality; "IN ?" has one value that is a list of them.
    """

    name: str
    operator: Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with", "IN", "IN ?"]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the conditions that AND joins at the top of a WHERE clause."""

    program: tuple[Condition, ...]
    """The nodes of its tree, each after its parts. May have predicates "IN ?", whose second operand is a
    list; the binder replaces them with IN."""
    paths: tuple[Path, ...]
    clause: Clause | None


@dataclass(frozen=True, slots=True)
class Where:
    """A WHERE clause; without conjuncts when there is none."""

    conjuncts: tuple[Conjunct, ...]
    equalities: dict[str, int] = field(init=False)
    """By attribute: the position of the first conjunct `attribute = value`."""
    to_check: tuple[int, ...] = field(init=False)
    """Positions of the conjuncts in which binding can find errors: all but `attribute = value`."""

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
        """Returns the clause of a conjunct. Requires: it has one."""
        clause = self.conjuncts[at].clause
        assert clause is not None
        return clause

    def others(self, positions: Collection[int | None]) -> tuple[int, ...]:
        """Returns the positions of all other conjuncts."""
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
class UpdateStatement:
    source: Source
    actions: tuple[Action, ...]
    set_values: tuple[tuple[Value, str, str], ...]
    """Second arguments of set_add and set_delete, with the function and the location for an error text."""
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


Body: TypeAlias = Select | Insert | UpdateStatement | Delete | Exists


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed text."""

    body: Body
    source: Source
    where: Where
    templates: tuple[Template, ...]
    parameters: int
    """How many `?` the text has."""
    unsupported: str | None
    """Error text of the first part that is well formed and not supported."""

    @property
    def reads(self) -> bool:
        return isinstance(self.body, Select)


def constant_value(value: Value, values: Mapping[str, AttributeValue]) -> AttributeValue:
    """Returns the value of a constant, or of a reference into the bound templates."""
    return value.value if isinstance(value, Constant) else values[value.name]
