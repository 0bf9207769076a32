"""Several entities in one table: items grouped by the prefixes of their keys, such as `ORDER#`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from faradisc.records import dataclass, field
from faradisc.tools.console.values import Item, text_of

_PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*[#:|/])")


def prefix(text: str) -> str:
    """Returns the prefix of a key value with its separator; the empty text when there is none."""
    found = _PREFIX.match(text)
    return found[1] if found else ""


@dataclass(slots=True)
class ConsoleEntity:
    """Items of one kind. What an item is, the keys of the table say, through whatever index it is seen."""

    name: str
    patterns: dict[str, str]
    """Templates of the key attributes, such as `ORDER#…`."""
    items: int = 0
    attributes: set[str] = field(default_factory=set)
    example: Item = field(default_factory=dict)


@dataclass(slots=True)
class CollectionEntity:
    """The items of one partition key, in order of their sort keys."""

    key: str
    items: list[Item] = field(default_factory=list)


def entities(items: Iterable[Item], keys: Sequence[str], seen_by: Sequence[str] = ()) -> list[ConsoleEntity]:
    """Returns the entities of a table's items, the most frequent first.

    keys: of the table, which every item has. seen_by: further key attributes whose templates are wanted.
    """
    found: dict[str, ConsoleEntity] = {}
    for item in items:
        name = entity_name(item, keys)
        entity = found.setdefault(name, ConsoleEntity(name, {}, example=item))
        for attribute in (*keys, *seen_by):
            if attribute in item:
                pattern = _pattern(item, attribute)
                if entity.patterns.setdefault(attribute, pattern) != pattern:
                    entity.patterns[attribute] = "…"
        entity.items += 1
        entity.attributes |= item.keys()
    return sorted(found.values(), key=lambda entity: (-entity.items, entity.name))


def _pattern(item: Item, name: str) -> str:
    text = text_of(item[name])
    start = prefix(text)
    return (
        f"{start}…" if start and len(text) > len(start) else text if re.fullmatch(r"[A-Z_#]+", text) else "…"
    )


def entity_name(item: Item, keys: Sequence[str]) -> str:
    """Returns the name of the entity that an item belongs to, from its sort key or its partition key.

    keys: those of the table.
    """
    for name in reversed(keys):
        start = prefix(text_of(item[name])) if name in item else ""
        if start:
            return start.rstrip("#:|/").capitalize()
    return UNNAMED


UNNAMED: Final = "Item"
COLOURS: Final = 10
"""Classes e0 to e9 of the style sheet."""


def colour_of(name: str, known: dict[str, int]) -> int:
    """Returns the number of an entity's colour, and remembers it in `known`; another than those in use."""
    if name not in known:
        wanted = sum(ord(letter) * (at + 1) for at, letter in enumerate(name)) % COLOURS
        free = [at % COLOURS for at in range(wanted, wanted + COLOURS) if at % COLOURS not in known.values()]
        known[name] = free[0] if free else wanted
    return known[name]


def collections(items: Iterable[Item], keys: Sequence[str]) -> list[CollectionEntity]:
    """Returns items grouped by partition key, in the order of their first items."""
    found: dict[str, CollectionEntity] = {}
    for item in items:
        key = text_of(item[keys[0]]) if keys[0] in item else ""
        found.setdefault(key, CollectionEntity(key)).items.append(item)
    return list(found.values())
