"""Several entities in one table: items grouped by the prefixes of their keys, such as `ORDER#`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from faradisc.tools.console.values import Item, text_of

_PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*[#:|/])")


def prefix(text: str) -> str:
    """Returns the prefix of a key value with its separator; the empty text when there is none."""
    found = _PREFIX.match(text)
    return found[1] if found else ""


@dataclass(slots=True)
class Entity:
    """Items whose keys have the same prefixes."""

    name: str
    partition: str
    sort: str
    items: int = 0
    attributes: set[str] = field(default_factory=set)
    example: Item = field(default_factory=dict)


@dataclass(slots=True)
class Collection:
    """The items of one partition key, in order of their sort keys."""

    key: str
    items: list[Item] = field(default_factory=list)


def entities(items: Iterable[Item], keys: Sequence[str]) -> list[Entity]:
    """Returns the entities of a table's items, the most frequent first."""
    found: dict[tuple[str, str], Entity] = {}
    for item in items:
        patterns = [_pattern(item, name) for name in keys]
        partition, sort = patterns[0], patterns[1] if len(patterns) > 1 else ""
        entity = found.get((partition, sort))
        if entity is None:
            entity = found[partition, sort] = Entity(_name(item, keys), partition, sort, example=item)
        entity.items += 1
        entity.attributes |= item.keys()
    return sorted(found.values(), key=lambda entity: (-entity.items, entity.name))


def _pattern(item: Item, name: str) -> str:
    if name not in item:
        return ""
    text = text_of(item[name])
    start = prefix(text)
    return (
        f"{start}…" if start and len(text) > len(start) else text if re.fullmatch(r"[A-Z_#]+", text) else "…"
    )


def _name(item: Item, keys: Sequence[str]) -> str:
    for name in reversed(keys):
        start = prefix(text_of(item[name])) if name in item else ""
        if start:
            return start.rstrip("#:|/").capitalize()
    return "Item"


def entity_name(item: Item, keys: Sequence[str]) -> str:
    """Returns the name of the entity that an item belongs to, from its sort key or its partition key."""
    return _name(item, keys)


def collections(items: Iterable[Item], keys: Sequence[str]) -> list[Collection]:
    """Returns items grouped by partition key, in the order of their first items."""
    found: dict[str, Collection] = {}
    for item in items:
        key = text_of(item[keys[0]]) if keys[0] in item else ""
        found.setdefault(key, Collection(key)).items.append(item)
    return list(found.values())
