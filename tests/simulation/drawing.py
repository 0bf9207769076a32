"""Random requests to few keys: every write operation, and reads of every kind."""

from __future__ import annotations

import itertools
import random
from typing import Any

from simulation.requests import (
    TEMPORARY,
    THROTTLED,
    Batch,
    Get,
    Listing,
    Request,
    Single,
    Source,
    Transaction,
)
from simulation.searches import VECTOR_ATTRIBUTE, Nearest, near_indexes, vector_value
from simulation.writes import Condition, Item, Key, Write

TABLES = ("with-local", "without-local")
PARTITIONS = ("a", "b", "c")
RANGES = ("1", "2", "30", "-4")
GROUPS = ("x", "y")
LATE_INDEX = "late"
TTL_ATTRIBUTE = "exp"


def _whole(item: Item | None) -> Item | None:
    return item


def _with(*names: str) -> Any:
    def shows(item: Item | None) -> Item | None:
        return item if item is not None and all(name in item for name in names) else None

    return shows


def _late(item: Item | None) -> Item | None:
    """Returns an entry of the late index, KEYS_ONLY: the keys of index and table."""
    if item is None or "h" not in item:
        return None
    return {name: item[name] for name in ("p", "r", "h")}


def sources(table: str, *, indexed: bool = True) -> list[Source]:
    """Returns what can be listed. indexed: whether the throttled table has its index."""
    if table == THROTTLED:
        both = [
            Source(table, None, "p", _whole, strong=True),
            Source(table, "by-group", "g", _with("g", "n"), strong=False),
        ]
        return both if indexed else both[:1]
    found = [
        Source(table, None, "p", _whole, strong=True),
        Source(table, "by-group", "g", _with("g", "n"), strong=False),
        Source(table, LATE_INDEX, "h", _late, strong=False, may_be_refused=True),
    ]
    if table == "with-local":
        found.append(Source(table, "by-number", "p", _with("n"), strong=True))
    return found


class Drawing:
    """Draws requests for all clients of a run, so that one refers to the writes of another."""

    def __init__(self, chance: random.Random, throttled: float = 0.0, *, indexed: bool = False) -> None:
        """throttled: share of accesses to the throttled table; indexed: whether it has an index."""
        self._chance = chance
        self._throttled = throttled
        self._indexed = indexed
        self._numbers = itertools.count(1)
        self._tokens = itertools.count(1)
        self._seen: list[int] = [0]
        """Numbers of the latest writes, whose items conditions are likely to meet."""

    def request(self, now_s: int) -> Request:
        chance = self._chance
        kind = chance.choices(
            ("single", "transaction", "batch", "get", "listing", "statement", "statements", "search"),
            (9, 5, 3, 3, 4, 3, 2, 2),
        )[0]
        match kind:
            case "single":
                return Single(self._write(now_s), chance.choice(("NONE", "ALL_OLD")))
            case "statement":
                return Single(self._write(now_s, as_statement=True), "NONE")
            case "transaction":
                by_statement = chance.random() < 0.3
                token = f"token-{next(self._tokens)}" if chance.random() < 0.6 else None
                return Transaction(self._writes(now_s, by_statement, check=not by_statement), token)
            case "batch":
                return Batch(self._writes(now_s, False, plain=True))
            case "statements":
                return Batch(self._writes(now_s, True))
            case "get":
                operation = chance.choice(("GetItem", "TransactGetItems", "ExecuteStatement"))
                count = chance.randint(2, 4) if operation == "TransactGetItems" else 1
                return Get([(self._table(), key) for key in self._keys(count)], operation)
            case "search":
                return self._search()
            case _:
                return self._listing()

    def _listing(self) -> Listing:
        chance = self._chance
        source = chance.choice(sources(self._table(), indexed=self._indexed))
        limit = chance.choice((None, None, 1, 3))
        values = PARTITIONS if source.key == "p" else GROUPS
        value = chance.choice(values) if chance.random() < 0.7 else None
        return Listing(source, value, limit, backwards=chance.random() < 0.3)

    def _search(self) -> Nearest:
        chance = self._chance
        near = chance.choice(near_indexes(chance.choice((*TABLES, *TABLES, TEMPORARY))))
        is_chosen = near.always_chooses or (near.chooses is not None and chance.random() < 0.4)
        query = (chance.randint(-3, 3), chance.randint(-3, 3))
        return Nearest(near, query, chance.choice((1, 3, 100)), chance.choice(GROUPS) if is_chosen else None)

    def _table(self) -> str:
        if self._throttled and self._chance.random() < self._throttled:
            return THROTTLED
        return TEMPORARY if self._chance.random() < 0.05 else self._chance.choice(TABLES)

    def _keys(self, count: int) -> list[Key]:
        every = [(p, r) for p in PARTITIONS for r in RANGES]
        return self._chance.sample(every, count)

    def _writes(
        self, now_s: int, by_statement: bool, *, check: bool = False, plain: bool = False
    ) -> list[Write]:
        return [
            self._write(now_s, key=key, as_statement=by_statement, check=check, plain=plain)
            for key in self._keys(self._chance.randint(1, 5))
        ]

    def _write(
        self,
        now_s: int,
        *,
        key: Key | None = None,
        as_statement: bool = False,
        check: bool = False,
        plain: bool = False,
    ) -> Write:
        """Draws a write. check: a condition check is allowed; plain: puts and deletes without conditions."""
        chance = self._chance
        if key is None:
            (key,) = self._keys(1)
        kinds = ["put", "put", "delete"] if plain else ["put", "put", "update", "update", "update", "delete"]
        kind = chance.choice([*kinds, "check"] if check else kinds)
        number = next(self._numbers)
        condition = None if plain else self._condition(as_statement and kind == "put", as_statement)
        if kind == "check" and condition is None:
            condition = Condition("exists")
        attributes: Item = {}
        removed: tuple[str, ...] = ()
        added = None
        if kind in ("put", "update"):
            attributes = self._attributes(now_s)
        if kind == "update":
            removed = tuple(
                name
                for name in ("exp", "g", "h", VECTOR_ATTRIBUTE)
                if name not in attributes and chance.random() < 0.2
            )
            if not as_statement and "n" not in attributes and chance.random() < 0.6:
                added = chance.randint(-2, 3)
        self._seen = [*self._seen[-8:], number]
        return Write(self._table(), key, kind, number, condition, attributes, removed, added, as_statement)

    def put(self, table: str, now_s: int, *, conditions: bool) -> Write:
        """Draws a put of one item, for the records of imports and bulk puts."""
        (key,) = self._keys(1)
        condition = self._condition(not conditions, False)
        if conditions and self._chance.random() < 0.3:
            condition = Condition("absent")  # false if it is put twice
        return Write(table, key, "put", next(self._numbers), condition, self._attributes(now_s))

    def _condition(self, none: bool, as_statement: bool) -> Condition | None:
        chance = self._chance
        if none or chance.random() < 0.55:
            return None
        kind = chance.choice(("seen", "below") if as_statement else ("exists", "absent", "seen", "below"))
        value = chance.choice(self._seen) if kind == "seen" else chance.randint(0, 6)
        return Condition(kind, value)

    def _attributes(self, now_s: int) -> Item:
        chance = self._chance
        found: Item = {}
        if chance.random() < 0.6:
            found["n"] = {"N": str(chance.randint(0, 9))}
        if chance.random() < 0.5:
            found["g"] = {"S": chance.choice(GROUPS)}
        if chance.random() < 0.5:
            found["h"] = {"S": chance.choice(GROUPS)}
        if chance.random() < 0.4:
            found[TTL_ATTRIBUTE] = {"N": str(now_s + chance.choice((-5, 0, 0, 1, 5, 40)))}
        if chance.random() < 0.5:
            found[VECTOR_ATTRIBUTE] = vector_value((chance.randint(-3, 3), chance.randint(-3, 3)))
        if chance.random() < 0.3:
            found["d"] = {"S": "x" * chance.choice((1, 30, 400, 2500))}
        return found
