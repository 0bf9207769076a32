"""The expected content at every version of the store: items by key, tokens, and the rows of the catalog.

A version is the number of a commit. Commits lost in a crash are rolled back here too, so the model always
ends at the newest commit that exists.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from simulation.writes import Item, Key

Place = tuple[str, Key]
"""Table and key."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step of one item's history. None: absent."""

    version: int
    old: Item | None
    new: Item | None


@dataclass(frozen=True, slots=True)
class UsedToken:
    version: int
    expires_ns: int


class Model:
    def __init__(self) -> None:
        self._versions: dict[Place, list[int]] = {}
        self._items: dict[Place, list[Item | None]] = {}
        self._order: list[tuple[int, Place]] = []
        """Every change, oldest first."""
        self._catalog: list[tuple[int, dict[str, dict[str, Any]]]] = [(0, {})]
        """The stored states of all tables, by name, from a version on."""
        self._tokens: dict[str, list[UsedToken]] = {}

    # --- Items -----------------------------------------------------------------------------------

    def put(self, version: int, table: str, changes: dict[Key, Item | None]) -> None:
        for key, item in changes.items():
            place = (table, key)
            self._versions.setdefault(place, [0]).append(version)
            self._items.setdefault(place, [None]).append(item)
            self._order.append((version, place))

    def at(self, version: int, table: str, key: Key) -> Item | None:
        versions = self._versions.get((table, key))
        if versions is None:
            return None
        return self._items[table, key][bisect_right(versions, version) - 1]

    def newest(self, table: str, key: Key) -> Item | None:
        items = self._items.get((table, key))
        return items[-1] if items else None

    def states(self, table: str, key: Key, low: int, high: int) -> list[Item | None]:
        """Returns all states of an item between two versions, both included."""
        versions = self._versions.get((table, key))
        if versions is None:
            return [None]
        first, end = bisect_right(versions, low) - 1, bisect_right(versions, high)
        return self._items[table, key][first:end]

    def moments(self, places: Iterable[Place], low: int, high: int) -> list[int]:
        """Returns the versions between the two that distinguish all states of these items."""
        found = {low}
        for place in places:
            found.update(v for v in self._versions.get(place, ()) if low < v <= high)
        return sorted(found)

    def keys(self, table: str) -> list[Key]:
        """Returns every key that the table ever had."""
        return sorted(key for name, key in self._versions if name == table)

    def table_at(self, version: int, table: str) -> dict[Key, Item]:
        found = {key: self.at(version, table, key) for key in self.keys(table)}
        return {key: item for key, item in found.items() if item is not None}

    def changes(self, table: str, key: Key) -> Iterator[Change]:
        versions, items = self._versions.get((table, key), []), self._items.get((table, key), [])
        for position in range(1, len(versions)):
            yield Change(versions[position], items[position - 1], items[position])

    # --- Tokens ----------------------------------------------------------------------------------

    def use_token(self, token: str, version: int, expires_ns: int) -> None:
        self._tokens.setdefault(token, []).append(UsedToken(version, expires_ns))

    def token(self, token: str) -> UsedToken | None:
        """Returns the last use of a token."""
        used = self._tokens.get(token)
        return used[-1] if used else None

    # --- The catalog -----------------------------------------------------------------------------

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        return self._catalog[-1][1]

    def put_catalog(self, version: int, tables: dict[str, dict[str, Any]]) -> None:
        self._catalog.append((version, tables))

    def catalogs(self) -> list[tuple[int, dict[str, dict[str, Any]]]]:
        return self._catalog

    # --- Crashes ---------------------------------------------------------------------------------

    def roll_back(self, version: int) -> int:
        """Forgets everything after a version. Returns the number of changes."""
        lost = 0
        while self._order and self._order[-1][0] > version:
            _, place = self._order.pop()
            self._versions[place].pop()
            self._items[place].pop()
            lost += 1
        while self._catalog[-1][0] > version:
            self._catalog.pop()
        for used in self._tokens.values():
            while used and used[-1].version > version:
                used.pop()
        return lost
