"""Requests, and the commits and answers that the model allows for them.

A request is sent once or several times (with the same token after a lost answer). It checks each commit made
for it, before the model applies the commit, and the answer at the end. Both checks return the error as a
sentence, or None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simulation.model import Model, Place
from simulation.writes import Item, Key, Write, key_item, key_of

TEMPORARY = "temporary"
"""A table that is created and deleted: requests for it may find it missing."""
THROTTLED = "throttled"
"""A table whose throughput is enforced: requests for it may be throttled."""
THROTTLES = {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"}
_MEMBER_THROTTLES = {"ProvisionedThroughputExceeded", "ThrottlingError"}
"""The same of one member of a batch or a transaction."""
TOKEN_WINDOW_NS = 600 * 1_000_000_000
Changes = dict[Place, Item | None]


def throttles_among(code: str, answer: dict[str, Any]) -> bool:
    """Returns whether a request was throttled, as a whole or in some of its actions."""
    reasons = answer.get("CancellationReasons", ()) if code == "TransactionCanceledException" else ()
    return code in THROTTLES or any(reason["Code"] in _MEMBER_THROTTLES for reason in reasons)


@dataclass(slots=True)
class Window:
    """The duration of a request, in versions and by the clock."""

    low: int
    """Newest version on disk when it was first sent: nothing older may be shown."""
    high: int
    """Newest version on disk when it was answered: nothing newer may be shown."""
    began_ns: int
    """When it was last sent."""


class Request(ABC):
    operation: str
    token: str | None = None

    def __init__(self) -> None:
        self.commits: list[int] = []
        """Versions of the commits made for the present sending."""

    @abstractmethod
    def body(self) -> dict[str, Any]: ...

    def committed(self, model: Model, version: int, changes: Changes, now_ns: int) -> str | None:
        return f"a {self.operation} has changed {changes}"

    def judge_rejection(self) -> str | None:
        """Checks that a throttled request had no effect."""
        if THROTTLED not in self.tables():
            return f"{self.operation} was throttled, in {self.tables()}"
        return f"{self.operation} was throttled, and done in {self.commits}" if self.commits else None

    @abstractmethod
    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        """Checks the answer. code: of the error; empty for a success."""

    @abstractmethod
    def tables(self) -> set[str]: ...

    def follow(self, answer: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the request for the next page, if there is one."""
        return None

    def _unexpected(self, code: str, answer: dict[str, Any]) -> str:
        return f"{self.operation} was answered {code or 'with'} {answer}"


def _expected(model: Model, writes: Sequence[Write]) -> Changes:
    """Returns the changes that these writes make now."""
    changes: Changes = {}
    for write in writes:
        old = model.newest(write.table, write.key)
        new = write.become(old)
        if new != old:
            changes[write.table, write.key] = new
    return changes


def _could_be_nothing(model: Model, window: Window, write: Write) -> bool:
    """Returns whether, at some moment, the write was allowed and changed nothing."""
    states = model.states(write.table, write.key, window.low, window.high)
    return any(write.holds(old) and write.become(old) == old for old in states)


class Single(Request):
    """One write of one item."""

    def __init__(self, write: Write, returns: str) -> None:
        super().__init__()
        self.write = write
        self.returns = returns
        kinds = {"put": "PutItem", "update": "UpdateItem", "delete": "DeleteItem"}
        self.operation = "ExecuteStatement" if write.as_statement else kinds[write.kind]
        self._before: Item | None = None
        self._after: Item | None = None

    def tables(self) -> set[str]:
        return {self.write.table}

    def body(self) -> dict[str, Any]:
        if self.write.as_statement:
            return self.write.statement()
        return {
            **self.write.request(),
            "ReturnValues": self.returns,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def committed(self, model: Model, version: int, changes: Changes, now_ns: int) -> str | None:
        old = model.newest(self.write.table, self.write.key)
        if self.commits:
            return f"{self.write} was done twice"
        if not self.write.holds(old):
            return f"{self.write} was done to {old} against its condition"
        if changes != _expected(model, [self.write]):
            return f"{self.write} made {changes} of {old}"
        self._before, self._after = old, self.write.become(old)
        return None

    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        if code in ("ConditionalCheckFailedException", "DuplicateItemException"):
            if self.commits:
                return f"{self.write} was refused and done"
            states = model.states(self.write.table, self.write.key, window.low, window.high)
            refusing = [old for old in states if not self.write.holds(old)]
            if not refusing:
                return f"{self.write} was refused though its item was {states}"
            if code == "ConditionalCheckFailedException" and not self.write.as_statement:
                shown = answer.get("Item")
                return None if shown in refusing else f"{self.write}: {shown} was shown, not {refusing}"
            return None
        if code:
            return self._unexpected(code, answer)
        if not self.commits:
            if not _could_be_nothing(model, window, self.write):
                return f"{self.write} was acknowledged and is not there"
            return None
        if self.commits[0] > window.high:
            return f"{self.write} was acknowledged before it was on disk"
        returned = {"ALL_OLD": self._before, "ALL_NEW": self._after}.get(self.returns)
        if not self.write.as_statement and answer.get("Attributes") != returned:
            return f"{self.write} returned {answer.get('Attributes')}, not {returned}"
        return None


class Batch(Request):
    """BatchWriteItem or BatchExecuteStatement: independent writes."""

    def __init__(self, writes: Sequence[Write]) -> None:
        super().__init__()
        self.writes = tuple(writes)
        self.by_statement = writes[0].as_statement
        self.operation = "BatchExecuteStatement" if self.by_statement else "BatchWriteItem"
        self._done: dict[Place, int] = {}

    def tables(self) -> set[str]:
        return {write.table for write in self.writes}

    def body(self) -> dict[str, Any]:
        self._done = {}
        if self.by_statement:
            return {"Statements": [write.statement() for write in self.writes]}
        items: dict[str, list[dict[str, Any]]] = {}
        for write in self.writes:
            said = write.request()
            if write.kind == "put":
                items.setdefault(write.table, []).append({"PutRequest": {"Item": said["Item"]}})
            else:
                items.setdefault(write.table, []).append({"DeleteRequest": {"Key": said["Key"]}})
        return {"RequestItems": items}

    def was_refused(self, write: Write, answer: dict[str, Any]) -> bool:
        """Returns whether a member was throttled."""
        if self.by_statement:
            error = answer["Responses"][self.writes.index(write)].get("Error", {})
            return error.get("Code") in _MEMBER_THROTTLES
        kind, member = ("PutRequest", "Item") if write.kind == "put" else ("DeleteRequest", "Key")
        wanted = {kind: {member: write.request()[member]}}
        return wanted in answer["UnprocessedItems"].get(write.table, ())

    def committed(self, model: Model, version: int, changes: Changes, now_ns: int) -> str | None:
        by_place = {(write.table, write.key): write for write in self.writes}
        for place, new in changes.items():
            write, old = by_place.get(place), model.newest(*place)
            if write is None or place in self._done:
                return f"a batch has changed {place}, which it does not hold, or again"
            if not write.holds(old) or write.become(old) != new:
                return f"{write} of a batch made {new} of {old}"
            self._done[place] = version
        return None

    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        if code:
            return self._unexpected(code, answer)
        errors = [response.get("Error") for response in answer.get("Responses", [])] or [None] * 25
        for write, error in zip(self.writes, errors, strict=False):
            done = self._done.get((write.table, write.key))
            if self.was_refused(write, answer):
                if done is not None or write.table != THROTTLED:
                    return f"{write} of a batch was throttled, and done in {done}"
            elif error is None:
                if done is None and not _could_be_nothing(model, window, write):
                    return f"{write} of a batch was acknowledged and is not there"
                if done is not None and done > window.high:
                    return f"{write} of a batch was acknowledged before it was on disk"
            elif error["Code"] == "ResourceNotFound" and write.table == TEMPORARY and done is None:
                continue
            elif error["Code"] not in ("ConditionalCheckFailed", "DuplicateItem") or done is not None:
                return f"{write} of a batch was answered {error}"
            elif all(map(write.holds, model.states(write.table, write.key, window.low, window.high))):
                return f"{write} of a batch was refused without a reason"
        return None


class Transaction(Request):
    """TransactWriteItems or ExecuteTransaction: all or nothing, and once per token."""

    def __init__(self, writes: Sequence[Write], token: str | None) -> None:
        super().__init__()
        self.writes = tuple(writes)
        self.token = token
        self.by_statement = writes[0].as_statement
        self.operation = "ExecuteTransaction" if self.by_statement else "TransactWriteItems"

    def tables(self) -> set[str]:
        return {write.table for write in self.writes}

    def body(self) -> dict[str, Any]:
        said: dict[str, Any]
        if self.by_statement:
            said = {"TransactStatements": [write.statement() for write in self.writes]}
        else:
            said = {"TransactItems": [write.action() for write in self.writes]}
        return said if self.token is None else {**said, "ClientRequestToken": self.token}

    def committed(self, model: Model, version: int, changes: Changes, now_ns: int) -> str | None:
        if self.commits:
            return f"a transaction was done in two pieces: {self.writes}"
        if self.token is not None:
            used = model.token(self.token)
            if used is not None and now_ns < used.expires_ns:
                return f"the transaction of token {self.token} was done twice: {self.writes}"
        for write in self.writes:
            if not write.holds(model.newest(write.table, write.key)):
                return f"{write} of a transaction was done against its condition"
        expected = _expected(model, self.writes)
        if changes != expected:
            return f"a transaction has changed {changes}, not {expected}"
        if self.token is not None:
            model.use_token(self.token, version, now_ns + TOKEN_WINDOW_NS)
        return None

    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        places = [(write.table, write.key) for write in self.writes]
        moments = model.moments(places, window.low, window.high)
        if code == "TransactionCanceledException":
            reported = [reason["Code"] != "None" for reason in answer["CancellationReasons"]]
            if self.commits:
                return f"a transaction was refused and done: {self.writes}"
            missing = {
                write.table
                for write, reason in zip(self.writes, answer["CancellationReasons"], strict=True)
                if reason["Code"] == "ResourceNotFound"  # which statements report so
            }
            if missing:
                return (
                    None if missing == {TEMPORARY} else f"a transaction did not find {missing}: {self.writes}"
                )
            if not any(self._failing(model, version) == reported for version in moments):
                return f"a transaction was refused for {answer['CancellationReasons']}: {self.writes}"
            return None
        if code:
            return self._unexpected(code, answer)
        if self.commits:
            if self.commits[0] > window.high:
                return f"a transaction was acknowledged before it was on disk: {self.writes}"
            return None
        used = model.token(self.token) if self.token is not None else None
        if used is not None and used.version <= window.high and used.expires_ns > window.began_ns:
            return None  # it was done before, and is only reported so again
        if not any(self._is_nothing(model, version) for version in moments):
            return f"a transaction was acknowledged and is not there: {self.writes}"
        if self.token is not None:
            model.use_token(self.token, window.high, window.began_ns + TOKEN_WINDOW_NS)
        return None

    def _failing(self, model: Model, version: int) -> list[bool]:
        return [not write.holds(model.at(version, write.table, write.key)) for write in self.writes]

    def _is_nothing(self, model: Model, version: int) -> bool:
        olds = [model.at(version, write.table, write.key) for write in self.writes]
        return all(w.holds(old) and w.become(old) == old for w, old in zip(self.writes, olds, strict=True))


# --- Reads ---------------------------------------------------------------------------------------


class Get(Request):
    """Reads items as of one moment: GetItem, TransactGetItems, or a SELECT of one key."""

    def __init__(self, places: Sequence[Place], operation: str) -> None:
        super().__init__()
        self.places = tuple(places)
        self.operation = operation

    def tables(self) -> set[str]:
        return {table for table, _ in self.places}

    def body(self) -> dict[str, Any]:
        gets = [{"TableName": table, "Key": key_item(key)} for table, key in self.places]
        if self.operation == "TransactGetItems":
            return {"TransactItems": [{"Get": get} for get in gets]}
        if self.operation == "ExecuteStatement":
            table, key = self.places[0]
            text = f'SELECT * FROM "{table}" WHERE p = ? AND r = ?'
            return {"Statement": text, "Parameters": list(key_item(key).values()), "ConsistentRead": True}
        return {**gets[0], "ConsistentRead": True}

    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        if code:
            return self._unexpected(code, answer)
        if self.operation == "TransactGetItems":
            shown = [response.get("Item") for response in answer["Responses"]]
        elif self.operation == "ExecuteStatement":
            shown = [next(iter(answer["Items"]), None)]
        else:
            shown = [answer.get("Item")]
        for version in model.moments(self.places, window.low, window.high):
            if [model.at(version, *place) for place in self.places] == shown:
                return None
        between = f"between versions {window.low} and {window.high}"
        return f"{self.operation} of {self.places} showed {shown}, which was never so {between}"


Shown = Callable[[Item | None], Item | None]


@dataclass(frozen=True, slots=True)
class Source:
    """A table or an index to be listed, and its view of an item: None where it has no entry."""

    table: str
    index: str | None
    key: str
    """The attribute that a Query names."""
    shows: Shown
    strong: bool
    may_be_refused: bool = False
    """It comes and goes."""


class Listing(Request):
    """All pages of a Query or Scan. Each item may be as of a different moment of the request's duration."""

    def __init__(self, source: Source, value: str | None, limit: int | None, *, backwards: bool) -> None:
        """value: of the partition key; None for a Scan."""
        super().__init__()
        self.source = source
        self.value = value
        self.limit = limit
        self.backwards = backwards
        self.operation = "Scan" if value is None else "Query"
        self._found: list[Item] = []

    def tables(self) -> set[str]:
        return {self.source.table}

    def body(self) -> dict[str, Any]:
        self._found = []
        said: dict[str, Any] = {"TableName": self.source.table}
        if self.source.index is not None:
            said["IndexName"] = self.source.index
        if self.source.strong:
            said["ConsistentRead"] = True
        if self.limit is not None:
            said["Limit"] = self.limit
        if self.value is not None:
            said["KeyConditionExpression"] = f"{self.source.key} = :value"
            said["ExpressionAttributeValues"] = {":value": {"S": self.value}}
            said["ScanIndexForward"] = not self.backwards
        return said

    def follow(self, answer: dict[str, Any]) -> dict[str, Any] | None:
        self._found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return None
        found, body = self._found, self.body()
        self._found = found
        return {**body, "ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def judge(self, model: Model, window: Window, code: str, answer: dict[str, Any]) -> str | None:
        if code == "ValidationException" and self.source.may_be_refused:
            return None
        if code:
            return self._unexpected(code, answer)
        found: dict[Key, Item] = {}
        for item in self._found:
            moved = (
                self.source.index is not None and key_of(item) in found
            )  # from behind to before the cursor
            if key_of(item) in found and not moved:
                return f"{self.operation} of {self.source.table} showed {key_of(item)} twice"
            found[key_of(item)] = item
        keys = model.keys(self.source.table)
        if found.keys() - set(keys):
            return f"{self.operation} of {self.source} showed {found}, whose keys were never written"
        for key in keys:
            states = model.states(self.source.table, key, window.low, window.high)
            allowed = [self._shown(item) for item in states]
            may_be_missed = self.source.index is not None and len(states) > 1
            if found.get(key) not in allowed and not (may_be_missed and key not in found):
                return (
                    f"{self.operation} of {self.source.table}/{self.source.index} ({self.value}) showed "
                    f"{found.get(key)} of {key}, which was {states} meanwhile"
                )
        return None

    def _shown(self, item: Item | None) -> Item | None:
        shown = self.source.shows(item)
        if shown is None or self.value is None:
            return shown
        return shown if shown.get(self.source.key) == {"S": self.value} else None
