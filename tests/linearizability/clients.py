"""Clients that read, write, replace and delete single items, and record their operations and results."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from history.clients import Lost, Site
from linearizability.register import ABSENT, Operation, by_key, is_linearizable, save

TABLE = "registers"
FOUND = Path(__file__).with_name("found")
KEYS_IN_USE = 5
OPERATIONS_PER_KEY = 400
"""Operations per key. Then another key is used, so that a history stays short enough to be checked
quickly."""


class Registers:
    """The items in use, and the values given out; shared by all clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values = itertools.count(1)
        self._names = itertools.count()
        self._in_use = [[f"r{next(self._names)}", OPERATIONS_PER_KEY] for _ in range(KEYS_IN_USE)]

    def key(self, chance: random.Random) -> str:
        with self._lock:
            slot = chance.choice(self._in_use)
            slot[1] -= 1  # type: ignore[operator]
            name = str(slot[0])
            if not slot[1]:
                slot[:] = [f"r{next(self._names)}", OPERATIONS_PER_KEY]
            return name

    def value(self) -> int:
        with self._lock:
            return next(self._values)


class Client:
    """Does random operations until there are none left. `history` and `errors` are what comes of it."""

    def __init__(self, number: int, seed: int, site: Site, registers: Registers) -> None:
        self._chance = random.Random(f"{seed}/{number}")
        self._site = site
        self._registers = registers
        self._connection = site.connection()
        self._seen: dict[str, int] = {}
        """What this client saw last; conditions ask for it."""
        self.history: list[Operation] = []
        self.errors: list[str] = []

    def run(self) -> None:
        kinds = ("get", "get", "put", "put if", "put if", "delete")
        while self._site.take():
            self._connection.open()
            self._do(self._registers.key(self._chance), self._chance.choice(kinds))
        self._connection.close()

    def _do(self, key: str, kind: str) -> None:
        value = self._registers.value() if kind.startswith("put") else ABSENT
        expected = self._seen.get(key, ABSENT) if kind == "put if" else ABSENT
        operation, request = request_of(key, kind, value, expected)
        start_ns = time.monotonic_ns()
        try:
            status, answer = self._connection.call(operation, request)
        except Lost:
            self.history.append(Operation(key, kind, start_ns, None, value, expected))
            return
        end_ns = time.monotonic_ns()
        refused = answer.get("__type", "").endswith("#ConditionalCheckFailedException")
        if status != 200 and not refused:
            self.errors.append(f"{operation} answered {status} {answer}")
            self.history.append(Operation(key, kind, start_ns, None, value, expected))
            return
        seen = value_of(
            answer.get("Attributes") if operation != "GetItem" and not refused else answer.get("Item")
        )
        if kind == "put if" and not refused and seen != expected:
            self.errors.append(f"{key}: {expected} was wanted, {seen} was replaced")
        self.history.append(Operation(key, kind, start_ns, end_ns, value, expected, seen, refused))
        self._seen[key] = seen if kind == "get" or refused else value


def verify(clients: Sequence[Client], name: str) -> list[Operation]:
    """Returns all operations. Fails the test, and stores the history, unless each item's is linearizable."""
    assert [error for client in clients for error in client.errors] == []
    history = [each for client in clients for each in client.history]
    for key, each in by_key(history).items():
        if not is_linearizable(each):
            path = FOUND / f"{name}-{key}.jsonl"
            save(each, path)
            pytest.fail(f"{name}: no order of the operations on {key} is possible, history in {path}")
    lost = sum(each.end_ns is None for each in history)
    print(f"{len(history)} operations, {lost} without an answer, {sum(e.refused for e in history)} refused")
    return history


def request_of(key: str, kind: str, value: int, expected: int) -> tuple[str, dict[str, Any]]:
    """Writes take turns between PutItem and UpdateItem."""
    named: dict[str, Any] = {"TableName": TABLE}
    at = {"Key": {"p": {"S": key}}}
    if kind == "get":
        return "GetItem", {**named, **at, "ConsistentRead": True}
    said = {**named, "ReturnValues": "ALL_OLD"}
    if kind == "delete":
        return "DeleteItem", {**said, **at}
    values: dict[str, Any] = {}
    if kind == "put if":
        said["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        said["ConditionExpression"] = "v = :expected" if expected else "attribute_not_exists(p)"
        values = {":expected": {"N": str(expected)}} if expected else {}
    if value % 2:
        said["Item"] = {"p": {"S": key}, "v": {"N": str(value)}}
        operation = "PutItem"
    else:
        said.update(at, UpdateExpression="SET v = :value")
        values[":value"] = {"N": str(value)}
        operation = "UpdateItem"
    if values:
        said["ExpressionAttributeValues"] = values
    return operation, said


def value_of(item: dict[str, Any] | None) -> int:
    return int(item["v"]["N"]) if item else ABSENT
