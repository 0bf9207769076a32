"""Searches for the nearest vectors, compared with a brute-force search over the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simulation.model import Model
from simulation.requests import Request, Window
from simulation.writes import Item, Key, key_of

Vector = tuple[float, float]
VECTOR_ATTRIBUTE = "v"
LATE_NEAR = "late-near"
_SAME = 1e-9
"""How far two computations of one score may lie apart."""


def vector_value(vector: tuple[int, int]) -> dict[str, Any]:
    return {"L": [{"N": str(element)} for element in vector]}


def vector_of(item: Item) -> Vector | None:
    value = item.get(VECTOR_ATTRIBUTE)
    return None if value is None else (float(value["L"][0]["N"]), float(value["L"][1]["N"]))


def euclidean(query: Vector, vector: Vector) -> float:
    return math.hypot(query[0] - vector[0], query[1] - vector[1])


def cosine(query: Vector, vector: Vector) -> float:
    lengths = math.hypot(*query) * math.hypot(*vector)
    return 1 - (query[0] * vector[0] + query[1] * vector[1]) / lengths if lengths else 1.0


@dataclass(frozen=True, slots=True)
class Near:
    """A vector index: its entries, and requests to it."""

    table: str
    index: str
    distance: Callable[[Vector, Vector], float]
    chooses: str | None
    """The attribute of the search schema, which a condition compares."""
    always_chooses: bool = False
    """It is the HASH: no search without it, and no entry."""
    shown: frozenset[str] | None = None
    """Attributes that are projected; None: all."""
    may_be_refused: bool = False
    """It comes and goes."""

    def shows(self, item: Item | None) -> Item | None:
        """Returns the part of an item that a search returns; None for an item without an entry."""
        if item is None or VECTOR_ATTRIBUTE not in item:
            return None
        if self.always_chooses and self.chooses not in item:
            return None
        names = item.keys() if self.shown is None else self.shown
        return {name: item[name] for name in item if name in names and name != VECTOR_ATTRIBUTE}

    def definition(self) -> dict[str, Any]:
        """Returns the definition for CreateTable and UpdateTable."""
        defined: dict[str, Any] = {
            "IndexName": self.index,
            "VectorAttribute": {"AttributeName": VECTOR_ATTRIBUTE},
            "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN" if self.distance is euclidean else "COSINE",
            "Projection": {"ProjectionType": "ALL" if self.shown is None else "KEYS_ONLY"},
        }
        if self.chooses is not None:
            kind = "HASH" if self.always_chooses else "INLINE_FILTER"
            defined["SearchSchema"] = [
                {"AttributeName": self.chooses, "SearchSchemaElementType": kind},
            ]
        return defined


def near_indexes(table: str) -> list[Near]:
    """Returns the vector indexes of a table of the simulation, the late one last."""
    if table == "with-local":
        steady = Near(table, "near", euclidean, "g")
    else:
        shown = frozenset(("p", "r", "g"))
        steady = Near(table, "near", cosine, "g", always_chooses=True, shown=shown)
    return [steady, Near(table, LATE_NEAR, euclidean, None, may_be_refused=True)]


class Nearest(Request):
    """SearchVectors. An item that did not change meanwhile is found exactly if it is among the best."""

    operation = "SearchVectors"

    def __init__(self, near: Near, query: tuple[int, int], top_k: int, chosen: str | None) -> None:
        """chosen: value of the attribute that the search schema names; None for any."""
        super().__init__()
        self.near = near
        self.query = query
        self.top_k = top_k
        self.chosen = chosen

    def tables(self) -> set[str]:
        return {self.near.table}

    def body(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "TableName": self.near.table,
            "IndexName": self.near.index,
            "SearchVector": vector_value(self.query)["L"],
            "TopK": self.top_k,
        }
        if self.chosen is not None:
            said["SearchConditionExpression"] = f"{self.near.chooses} = :chosen"
            said["ExpressionAttributeValues"] = {":chosen": {"S": self.chosen}}
        return said

    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        if code == "ValidationException" and self.near.may_be_refused:
            return None
        if code:
            return self._unexpected(code, answer)
        found = [(each["Item"], each["Score"]) for each in answer["SearchResults"]]
        scores = [score for _, score in found]
        keys = [key_of(item) for item, _ in found]
        if len(found) > self.top_k or scores != sorted(scores) or len(set(keys)) != len(keys):
            return f"{self} was answered in the wrong order, twice or too much: {found}"
        worst = math.inf if len(found) < self.top_k else scores[-1]
        for key in model.keys(self.near.table):
            states = model.states(self.near.table, key, window.low, window.high)
            wrong = self._judge_item(key, states, dict(zip(keys, found, strict=True)), worst)
            if wrong is not None:
                return f"{self}: {wrong}, of {found}"
            if key in keys:
                keys.remove(key)
                found = [each for each in found if key_of(each[0]) != key]
        return f"{self} showed {keys}, which were never written" if keys else None

    def _judge_item(
        self, key: Key, states: list[Item | None], found: dict[Key, tuple[Item, float]], worst: float
    ) -> str | None:
        allowed = [self._result(state) for state in states]
        if key not in found:
            (*_, last) = allowed
            is_missed = len(states) == 1 and last is not None and last[1] < worst - _SAME
            return f"{last} of {key} is missing" if is_missed else None
        item, score = found[key]
        if any(each is not None and each[0] == item and abs(each[1] - score) < _SAME for each in allowed):
            return None
        return f"{found[key]} was shown of {key}, which was {states} meanwhile"

    def _result(self, state: Item | None) -> tuple[Item, float] | None:
        """Returns item and score as in a result; None where the item is not among those searched."""
        shown = self.near.shows(state)
        if state is None or shown is None:
            return None
        if self.chosen is not None and state.get(self.near.chooses or "") != {"S": self.chosen}:
            return None
        vector = vector_of(state)
        assert vector is not None
        return shown, self.near.distance(self.query, vector)

    def __str__(self) -> str:
        return f"the search for {self.top_k} near {self.query} in {self.near.index} ({self.chosen})"
