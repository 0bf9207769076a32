"""The design of a table as a drawing, and the access patterns that its traffic shows. Pure.

A drawing is cards in columns with arrows between them (diagram.js): here entities, and the table and its
indexes that they are found by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.records import asdict, dataclass, field
from faradisc.tools.console.entities import ConsoleEntity, colour_of, entities
from faradisc.tools.console.queries import choices, indexes_of, schema_of, types_of
from faradisc.tools.console.values import Item, text_of, type_of, visible


@dataclass(frozen=True, slots=True)
class Card:
    id: str
    title: str
    count: str = ""
    style: str = ""
    """Classes of the style sheet: the colour of an entity, or a state."""
    chip: bool = False
    lines: Sequence[tuple[str, str]] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    start: str
    end: str
    label: str = ""
    style: str = ""


@dataclass(slots=True)
class Drawing:
    columns: dict[str, list[Card]] = field(default_factory=dict)
    """Cards by the title of their column, from the left."""
    arrows: list[Arrow] = field(default_factory=list)

    def props(self) -> dict[str, Any]:
        """Returns the drawing as diagram.js takes it."""
        return {
            "columns": [
                {"title": t, "cards": [asdict(c) for c in cards]} for t, cards in self.columns.items()
            ],
            "arrows": [
                {"from": a.start, "to": a.end, "label": a.label, "style": a.style} for a in self.arrows
            ],
        }


@dataclass(frozen=True, slots=True)
class Placed:
    """An entity in the table or in an index."""

    entity: ConsoleEntity
    index: str
    keys: Sequence[str]

    @property
    def template(self) -> str:
        """The key as the entity has it: `ORDER#… / LINE#…`."""
        return visible(" / ".join(self.entity.patterns.get(name, "–") for name in self.keys))


def placed(described: Mapping[str, Any], items: Sequence[Item]) -> list[Placed]:
    """Returns each entity with the table and the indexes that its items are in."""
    types, base = types_of(described), schema_of(described, "")
    spaces = [(choice.index, list(choice.keys)) for choice in choices(described)]
    seen_by = [name for _, keys in spaces for name in keys]
    return [
        Placed(entity, index, keys)
        for entity in entities(items, base, seen_by)
        for index, keys in spaces
        if all(type_of(entity.example.get(name, {"": ""})) == types[name] for name in keys)
    ]


def drawing_of(
    described: Mapping[str, Any], found: Sequence[Placed], colours: dict[str, int], most: int
) -> Drawing:
    """Returns the drawing of a table. most: entities that are drawn."""
    drawing = Drawing({"Entities": [], "Found by": []})
    shown: dict[str, ConsoleEntity] = {}
    for each in found:
        shown.setdefault(each.entity.name, each.entity)
    base = schema_of(described, "")
    for entity in list(shown.values())[:most]:
        others = sorted(entity.attributes - {name for each in found for name in each.keys})
        drawing.columns["Entities"].append(
            Card(
                f"e:{entity.name}",
                visible(entity.name),
                f"{entity.items:,}",
                f"c-e{colour_of(entity.name, colours)}",
                True,
                [(visible(name), visible(entity.patterns.get(name, "–"))) for name in base],
                visible(", ".join(others)[:120]),
            )
        )
    projections = {each["IndexName"]: each.get("Projection", {}) for each in indexes_of(described)}
    for choice in choices(described):
        kind = projections.get(choice.index, {}).get("ProjectionType", "")
        words = {"ALL": "all attributes", "KEYS_ONLY": "keys only", "INCLUDE": "some attributes"}
        title = f"Index {choice.index}" if choice.index else f"Table {described['TableName']}"
        keys = list(zip(("partition", "sort"), map(visible, choice.keys), strict=False))
        drawing.columns["Found by"].append(
            Card(f"i:{choice.index}", visible(title), lines=keys, note=words.get(kind, ""))
        )
    names = set(list(shown)[:most])
    drawing.arrows = [
        Arrow(
            f"e:{each.entity.name}",
            f"i:{each.index}",
            each.template[:34] if each.index else "",
            f"c-e{colour_of(each.entity.name, colours)}",
        )
        for each in found
        if each.entity.name in names
    ]
    return drawing


@dataclass(frozen=True, slots=True)
class TableReads:
    """What was read of a table in some hours, by clients other than this console."""

    hours: int
    requests: Mapping[str, float]
    """By operation."""
    index_units: Mapping[str, float]
    """Read units of each global index."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An access pattern that traffic shows, with a query that is an example of it."""

    text: str
    evidence: str
    index: str
    partition: str
    sort: str = ""


def proposals(reads: TableReads, found: Sequence[Placed], described: Mapping[str, Any]) -> list[Proposal]:
    """Returns the access patterns that the traffic of a table shows, as far as metrics tell them apart.

    Metrics name the operation, and of an index the units; which entity was read they do not say. So each
    entity that is found there is one proposal.
    """
    proposed: list[Proposal] = []
    keys = schema_of(described, "")
    in_table = [each for each in found if not each.index]
    single = sum(reads.requests.get(name, 0) for name in ("GetItem", "BatchGetItem", "TransactGetItems"))
    queries, hours = reads.requests.get("Query", 0), f"in {reads.hours} hours"
    if single:
        for each in in_table:
            text = f"One {each.entity.name} by {' and '.join(keys)}"
            proposed.append(_proposal(text, f"{single:,.0f} reads of single items {hours}", each, whole=True))
    if queries and len(keys) > 1:
        groups: dict[str, list[Placed]] = {}
        for each in in_table:
            groups.setdefault(each.entity.patterns.get(keys[0], "…"), []).append(each)
        for pattern, members in groups.items():
            names = ", ".join(each.entity.name for each in members)
            proposed.append(
                _proposal(f"{names} of one {pattern}", f"{queries:,.0f} queries {hours}", members[0])
            )
    for each in found:
        units = reads.index_units.get(each.index, 0) if each.index else 0
        if units:
            text = f"{each.entity.name} by {each.keys[0]} ({each.entity.patterns.get(each.keys[0], '…')})"
            proposed.append(_proposal(text, f"{units:,.0f} units of {each.index} {hours}", each))
    if reads.requests.get("Scan", 0) >= 1:
        counted = f"{reads.requests['Scan']:,.0f} pages of Scans {hours}"
        proposed.append(Proposal("Everything: a Scan, which no key serves", counted, "", ""))
    return proposed


def _proposal(text: str, evidence: str, each: Placed, *, whole: bool = False) -> Proposal:
    """whole: with the sort key too, where there is one."""
    values = [text_of(each.entity.example[name]) for name in each.keys]
    sort = values[1] if whole and len(values) > 1 else ""
    return Proposal(visible(text), evidence, each.index, values[0], sort)
