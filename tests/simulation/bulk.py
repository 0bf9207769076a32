"""Bulk puts: their records, and the commits of the background work that follow from them.

A record is put once, whatever happens in between, after the records before it; or its condition was false at
some moment; or it is no item and is counted.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import orjson

from simulation.model import Model, Place
from simulation.writes import Item, Write

_NO_JSON = b"not JSON"
_BAD_LINES = (
    b'{"Item": {"p": {"S": "a"}}}',
    _NO_JSON,
    b'{"Put": {}}',
    b'{"Item": {"p": {"N": "1"}, "r": 1}}',
)
"""A key that is not whole, no JSON, no item, and values of the wrong types."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of an object. Without a write, it cannot be put."""

    line: bytes
    write: Write | None

    @property
    def ends_its_object(self) -> bool:
        """Whether an import reads no further record of the object: the line is no JSON."""
        return self.line == _NO_JSON

    @classmethod
    def of(cls, write: Write) -> Record:
        said = write.request()
        del said["TableName"]
        return cls(orjson.dumps(said), write)

    @classmethod
    def bad(cls, chance: random.Random) -> Record:
        return cls(chance.choice(_BAD_LINES), None)


def content_of(records: list[Record]) -> bytes:
    return b"".join(record.line + b"\n" for record in records)


@dataclass(slots=True)
class BulkPut:
    """One bulk operation, from its first request."""

    table: str
    token: str
    records: list[Record]
    low: int
    """Newest version on disk when it was first asked for."""
    arn: str | None = None
    """None until it was acknowledged."""
    done: dict[int, int] = field(default_factory=dict)
    """Version of the commit by position of the record."""

    def committed(self, model: Model, place: Place, new: Item, version: int) -> str | None:
        """Takes one item of a commit of the service. Returns what is wrong with it."""
        position = self.position_of(new)
        assert position is not None
        write = self.records[position].write
        assert write is not None
        if (write.table, write.key) != place or write.become(None) != new:
            return f"a bulk put made {new} of {write}"
        if position in self.done:
            return f"a bulk put has put {write} twice"
        if any(each > position and version > at for each, at in self.done.items()):
            return f"a bulk put has put {write} after a record behind it"
        if not write.holds(model.newest(*place)):
            return f"a bulk put has put {write} over {model.newest(*place)}, against its condition"
        self.done[position] = version
        return None

    def position_of(self, item: Item) -> int | None:
        """Returns the position of the record that puts this item; no two writes share a number."""
        for position, record in enumerate(self.records):
            if record.write is not None and {"N": str(record.write.number)} == item.get("w"):
                return position
        return None

    def judge(
        self, model: Model, high: int, shown: dict[str, Any], reported: dict[str, list[int]]
    ) -> str | None:
        """Checks an operation that has ended. reported: positions by kind of output."""
        bad = [at for at, record in enumerate(self.records) if record.write is None]
        if (shown["ProcessedItemCount"], shown["FailedItemCount"]) != (len(self.records), len(bad)):
            return f"a bulk put of {len(self.records)} records, {len(bad)} of them bad, counts {shown}"
        if reported["errors"] != bad:
            return f"a bulk put reports errors in {reported['errors']}, not {bad}"
        missing = [at for at in range(len(self.records)) if at not in self.done and at not in bad]
        if reported["condition_check_failures"] != missing:
            return f"records {missing} were not put, reported is {reported['condition_check_failures']}"
        for position in missing:
            write = self.records[position].write
            assert write is not None
            if all(map(write.holds, model.states(write.table, write.key, self.low, high))):
                return f"{write} of a bulk put was accepted and is not there"
        return None


class BulkBook:
    """All bulk operations of a run, for the auditor."""

    def __init__(self) -> None:
        self._operations: list[BulkPut] = []

    def add(self, operation: BulkPut) -> None:
        self._operations.append(operation)

    def committed(self, model: Model, place: Place, new: Item, version: int) -> str | None:
        for operation in self._operations:
            if operation.table == place[0] and operation.position_of(new) is not None:
                return operation.committed(model, place, new, version)
        return f"the service made {new}, which no request asked for"

    def roll_back(self, kept: int) -> None:
        for operation in self._operations:
            operation.done = {at: version for at, version in operation.done.items() if version <= kept}
