"""Clients that append to lists, read them, and record their operations and results.

Requests are raw HTTP: boto3 takes ten times as long as the request itself. Every item has the list `l` and a
counter `n` that every append increments, so `n` must equal the length of `l` in every read.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
from collections.abc import Iterable, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from fixtures.in_process import AUTHORIZATION
from history.checker import anomalies
from history.record import Transaction, save

TABLES = ("even", "odd")
FOUND = Path(__file__).with_name("found")
KEYS_IN_USE = 6
APPENDS_PER_KEY = 30
"""Appends per key. Then another key is used: lists stay short, and first appends to a key are frequent."""


class Lost(Exception):
    """A request was sent and its answer did not come."""


class Site:
    """Where the server is now; it moves when it is killed and started again."""

    lost = (503,)
    """Statuses of answers that say nothing of the outcome. 503: the server was going down."""

    def __init__(self, operations: int) -> None:
        self._changed = threading.Condition()
        self._left = operations
        self._url: str | None = None
        self._life = 0

    def moved(self, url: str) -> None:
        with self._changed:
            self._url = url
            self._life += 1
            self._changed.notify_all()

    def find(self, after_life: int) -> tuple[str, int]:
        """Waits for a life of the server later than `after_life`; its URL and number."""
        with self._changed:
            self._changed.wait_for(lambda: self._life > after_life)
            assert self._url is not None
            return self._url, self._life

    def connection(self) -> Connection:
        return Connection(self)

    def take(self) -> bool:
        """Whether there is one more operation to do."""
        with self._changed:
            self._left -= 1
            self._changed.notify_all()
            return self._left >= 0

    def wait_until_left(self, operations: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._left <= operations)


class Keys:
    """The keys in use, shared by all clients, and the numbers given out to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._names = itertools.count()
        self._appends: dict[str, int] = {}
        self.all: list[str] = []
        self._in_use = [self._new() for _ in range(KEYS_IN_USE)]

    def _new(self) -> str:
        self.all.append(f"k{next(self._names)}")
        return self.all[-1]

    def some(self, chance: random.Random, count: int) -> list[str]:
        with self._lock:
            return chance.sample(self._in_use, count)

    def element(self, key: str) -> int:
        """A new element to append to this key."""
        with self._lock:
            self._appends[key] = self._appends.get(key, 0) + 1
            if self._appends[key] >= APPENDS_PER_KEY and key in self._in_use:
                self._in_use[self._in_use.index(key)] = self._new()
            return next(self._numbers)


class Connection:
    """One client's way to the server, wherever that is."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.authorization = AUTHORIZATION
        """Names the region too."""
        self._life = 0
        self._http: HTTPConnection | None = None

    def open(self) -> None:
        """Connected to some life of the server; waits for the next one when this one has gone."""
        while self._http is None:
            url, self._life = self._site.find(self._life)
            parts = urlsplit(url)
            http = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
            with contextlib.suppress(OSError):
                http.connect()
                self._http = http

    def call(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and document of the answer. Raises Lost."""
        assert self._http is not None
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20261120T000000Z",
            "Authorization": self.authorization,
        }
        try:
            self._http.request("POST", "/", orjson.dumps(request), headers)
            answer = self._http.getresponse()
            body = answer.read()
            if answer.status in self._site.lost:
                raise HTTPException(str(answer.status))
            return answer.status, orjson.loads(body)
        except (OSError, HTTPException) as error:
            self.close()
            raise Lost from error

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None


class Client:
    """Does random operations until there are none left. `history` and `errors` are what comes of it."""

    def __init__(self, number: int, seed: int, site: Site, keys: Keys) -> None:
        self._chance = random.Random(f"{seed}/{number}")
        self._number = number
        self._site = site
        self._keys = keys
        self._connection = site.connection()
        self._seen: dict[str, list[int]] = {}
        """What this client believes is there; others may have appended since."""
        self.history: list[Transaction] = []
        self.errors: list[str] = []

    def run(self) -> None:
        kinds = (self._append, self._append_if, self._put_if, self._get, self._query)
        while self._site.take():
            self._connection.open()
            draw = self._chance.random()
            if draw < 0.35:
                self._transact()
            elif draw < 0.5:
                self._transact_get()
            else:
                self._chance.choice(kinds)(*self._keys.some(self._chance, 1))
        self._connection.close()

    def read_all(self) -> dict[str, list[int]]:
        """Every key there ever was."""
        self._connection.open()
        for key in self._keys.all:
            self._get(key)
        self._connection.close()
        return {key: self._seen[key] for key in self._keys.all}

    # --- Operations ------------------------------------------------------------------------------

    def _append(self, key: str) -> None:
        each = self._new({key: self._keys.element(key)})
        status, answer = self._send(each, "UpdateItem", {**_update(key, each), "ReturnValues": "ALL_NEW"})
        if status == 200:
            seen = self._look(key, answer.get("Attributes"))
            if seen[-1:] != [each.appends[key]]:
                self.errors.append(f"{key}: an append of {each.appends[key]} answered {seen}")
            each.reads[key] = seen[:-1]

    def _append_if(self, key: str) -> None:
        each = self._new({key: self._keys.element(key)})
        self._single_if(key, each, "UpdateItem", _with_condition(_update(key, each), self._known(key)))

    def _put_if(self, key: str) -> None:
        each = self._new({key: self._keys.element(key)})
        self._single_if(key, each, "PutItem", _with_condition(self._put(key, each), self._known(key)))

    def _single_if(self, key: str, each: Transaction, operation: str, request: dict[str, Any]) -> None:
        each.lengths[key] = len(self._known(key))
        status, answer = self._send(each, operation, request)
        if status == 400:
            each.reads[key] = self._look(key, answer.get("Item"))
        elif status == 200:
            self._seen[key] = [*self._known(key), each.appends[key]]

    def _get(self, key: str) -> None:
        each = self._new({})
        status, answer = self._send(each, "GetItem", {**_key(key), "ConsistentRead": True})
        if status == 200:
            each.reads[key] = self._look(key, answer.get("Item"))

    def _query(self, key: str) -> None:
        each = self._new({})
        request = {
            "TableName": _table(key),
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": key}},
            "ConsistentRead": True,
        }
        status, answer = self._send(each, "Query", request)
        if status == 200:
            each.reads[key] = self._look(key, next(iter(answer["Items"]), None))

    def _transact_get(self) -> None:
        each = self._new({})
        keys = self._keys.some(self._chance, self._chance.randint(2, 4))
        status, answer = self._send(
            each, "TransactGetItems", {"TransactItems": [{"Get": _key(k)} for k in keys]}
        )
        if status == 200:
            for key, response in zip(keys, answer["Responses"], strict=True):
                each.reads[key] = self._look(key, response.get("Item"))

    def _transact(self) -> None:
        """Appends of several kinds, with and without conditions, and checks, as one."""
        each = self._new({})
        actions: list[dict[str, Any]] = []
        keys = self._keys.some(self._chance, self._chance.randint(2, 4))
        for key in keys:
            known = self._known(key)
            kind = self._chance.choice(("append", "append if", "put if", "check"))
            if kind != "append":
                each.lengths[key] = len(known)
            if kind == "check":
                actions.append({"ConditionCheck": _with_condition(_key(key), known)})
                continue
            each.appends[key] = self._keys.element(key)
            if kind == "put if":
                actions.append({"Put": _with_condition(self._put(key, each), known)})
            else:
                update = _update(key, each)
                actions.append({"Update": update if kind == "append" else _with_condition(update, known)})
        request: dict[str, Any] = {"TransactItems": actions}
        if self._chance.random() < 0.5:
            request["ClientRequestToken"] = f"{self._number}.{each.name}"
        status, answer = self._send(each, "TransactWriteItems", request)
        if status == 400:
            for key, reason in zip(keys, answer["CancellationReasons"], strict=True):
                if reason["Code"] == "ConditionalCheckFailed":
                    each.reads[key] = self._look(key, reason.get("Item"))

    # --- Sending and writing down ----------------------------------------------------------------

    def _new(self, appends: dict[str, int]) -> Transaction:
        name = self._number * 1_000_000 + len(self.history)
        each = Transaction(name, time.monotonic_ns(), None, "unknown", appends)
        self.history.append(each)
        return each

    def _send(self, each: Transaction, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Fills in how a transaction ended. Status 0 when its answer was lost.

        What has a token is sent again until it is answered, and must be done once all the same.
        """
        while True:
            try:
                status, answer = self._connection.call(operation, request)
                break
            except Lost:
                if "ClientRequestToken" not in request:
                    return 0, {}
                self._connection.open()
        each.end_ns = time.monotonic_ns()
        code = answer.get("__type", "").rpartition("#")[2]
        if status == 200:
            each.outcome = "ok"
        elif code in ("ConditionalCheckFailedException", "TransactionCanceledException"):
            each.outcome = "refused"
            each.lengths = {}  # not all of the conditions held
        else:
            self.errors.append(f"{operation} answered {status} {answer}")
            each.end_ns = None
            status = 0
        return status, answer

    def _known(self, key: str) -> list[int]:
        return self._seen.get(key, [])

    def _look(self, key: str, item: dict[str, Any] | None) -> list[int]:
        """The list of an item that was read; remembers it."""
        seen = [int(element["N"]) for element in item["l"]["L"]] if item is not None else []
        if item is not None and int(item["n"]["N"]) != len(seen):
            self.errors.append(f"{key}: the counter says {item['n']['N']}, the list is {seen}")
        self._seen[key] = seen
        return seen

    def _put(self, key: str, each: Transaction) -> dict[str, Any]:
        whole = [*self._known(key), each.appends[key]]
        item = {"p": {"S": key}, "l": _list(whole), "n": {"N": str(len(whole))}}
        return {"TableName": _table(key), "Item": item}


def verify(clients: Sequence[Client], final: dict[str, list[int]], name: str) -> dict[str, int]:
    """Returns how many transactions ended how.

    final: by key, the list at the end. Fails the test, and stores the history, unless it is strictly
    serialisable.
    """
    history = [each for client in clients for each in client.history]
    wrong = [error for client in clients for error in client.errors] + anomalies(history, final)
    if wrong:
        path = FOUND / f"{name}.jsonl"
        save([*history, Transaction(-1, 0, None, "ok", reads=final)], path)
        pytest.fail(f"{name}, history in {path}:\n" + "\n".join(wrong[:20]))
    counts = {
        outcome: sum(each.outcome == outcome for each in history) for outcome in ("ok", "refused", "unknown")
    }
    print(counts, f"{sum(map(len, final.values()))} appends on {len(final)} keys")
    return counts


def _table(key: str) -> str:
    return TABLES[int(key[1:]) % 2]


def _key(key: str) -> dict[str, Any]:
    return {"TableName": _table(key), "Key": {"p": {"S": key}}}


def _list(elements: Iterable[int]) -> dict[str, Any]:
    return {"L": [{"N": str(element)} for element in elements]}


def _update(key: str, each: Transaction) -> dict[str, Any]:
    return {
        **_key(key),
        "UpdateExpression": "SET l = list_append(if_not_exists(l, :none), :new) ADD n :one",
        "ExpressionAttributeValues": {
            ":none": _list(()),
            ":new": _list((each.appends[key],)),
            ":one": {"N": "1"},
        },
    }


def _with_condition(request: dict[str, Any], known: list[int]) -> dict[str, Any]:
    """Only if the list is as long as this one; the item comes back when it is not."""
    conditional = {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    if not known:
        conditional["ConditionExpression"] = "attribute_not_exists(p)"
        return conditional
    conditional["ConditionExpression"] = "size(l) = :length"
    values = {**request.get("ExpressionAttributeValues", {}), ":length": {"N": str(len(known))}}
    conditional["ExpressionAttributeValues"] = values
    return conditional
