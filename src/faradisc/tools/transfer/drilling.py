"""Rehearses a recovery: a backup, a restore beside the table, a comparison of all items, and a removal.

A drill writes nothing to the table. It reads all its items once, strongly consistent, which takes read units.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from faradisc.clock import stopwatch_s
from faradisc.errors import RequestRejected
from faradisc.records import dataclass, field
from faradisc.tools.transfer.copying import count
from faradisc.tools.transfer.endpoints import Endpoint
from faradisc.tools.transfer.scanning import Page, State, scan
from faradisc.tools.transfer.tables import POLLS_MAX, describe, key_names_of

KEYS_PER_READ = 100
"""The most keys that BatchGetItem takes."""
SHOWN_MAX = 10

Item = dict[str, Any]
Follow = Callable[[Endpoint, str], object]
"""Waits until a backup (by its ARN) or a table (by its name) is available; raises or exits when it fails."""


@dataclass(slots=True)
class DrillReport:
    """What a drill found. The table may have been written meanwhile: then items differ for that reason."""

    table: str
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each step took, in the order of the steps."""
    backup_bytes: int = 0
    restored_items: int = 0
    table_items: int = 0
    """Counted after the comparison."""
    equal_items: int = 0
    differing_keys: list[Item] = field(default_factory=list)
    """Keys of restored items that the table has otherwise or not at all, at most `SHOWN_MAX`."""

    @property
    def differing_items(self) -> int:
        return self.restored_items - self.equal_items

    @property
    def additional_items(self) -> int:
        """How many more items the table has than the restored one."""
        return max(self.table_items - self.restored_items, 0)

    @property
    def passed(self) -> bool:
        return self.differing_items == 0 and self.table_items == self.restored_items

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        begun = stopwatch_s()
        yield
        self.seconds[step] = round(stopwatch_s() - begun, 3)


def drill(
    endpoint: Endpoint, table: str, name: str, *, backed_up: Follow, restored: Follow, keep: bool = False
) -> DrillReport:
    """Returns what restoring the table would give. name: of the backup and of the restored table.

    keep: leave both. Otherwise they are removed, also after an error. Raises RequestRejected, Unreachable.
    """
    report = DrillReport(table)
    arn = ""
    try:
        with report.timed("backup"):
            answer = endpoint.call("CreateBackup", {"TableName": table, "BackupName": name})
            arn = answer["BackupDetails"]["BackupArn"]
            backed_up(endpoint, arn)
        details = endpoint.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]["BackupDetails"]
        report.backup_bytes = details.get("BackupSizeBytes", 0)
        with report.timed("restore"):
            endpoint.call("RestoreTableFromBackup", {"TargetTableName": name, "BackupArn": arn})
            restored(endpoint, name)
        with report.timed("comparison"):
            _compare(endpoint, name, report)
            report.table_items = count(endpoint, table)
    finally:
        if not keep:
            with report.timed("removal"):
                _remove(endpoint, name, arn)
    return report


def _compare(endpoint: Endpoint, restored: str, report: DrillReport) -> None:
    """Reads every item of the restored table and the one with its key in the table."""
    names = key_names_of(describe(endpoint, report.table))
    lock = threading.Lock()

    def compare_page(_: int, page: Page) -> None:
        for start in range(0, len(page), KEYS_PER_READ):
            items = page[start : start + KEYS_PER_READ]
            keys = [{name: item[name] for name in names} for item in items]
            present = {_identity(item, names): item for item in _read(endpoint, report.table, keys)}
            different = [
                key
                for item, key in zip(items, keys, strict=True)
                if present.get(_identity(item, names)) != item
            ]
            with lock:
                report.restored_items += len(items)
                report.equal_items += len(items) - len(different)
                report.differing_keys += different[: SHOWN_MAX - len(report.differing_keys)]

    scan(endpoint, restored, endpoint.threads, compare_page, State(None, {}))


def _identity(item: Item, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(item[name]) for name in names)


def _read(endpoint: Endpoint, table: str, keys: list[Item]) -> list[Item]:
    """Returns the items with these keys. Asks again for those that an answer leaves out."""
    found: list[Item] = []
    while keys:
        request = {"RequestItems": {table: {"Keys": keys, "ConsistentRead": True}}}
        answer = endpoint.call("BatchGetItem", request)
        found += answer["Responses"].get(table, ())
        keys = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        if keys:
            endpoint.wait()
    return found


def _remove(endpoint: Endpoint, restored: str, arn: str) -> None:
    """Deletes the restored table and the backup, as far as they exist. Waits while a restore uses them."""
    _delete(endpoint, "DeleteTable", {"TableName": restored})
    if arn:
        _delete(endpoint, "DeleteBackup", {"BackupArn": arn})


def _delete(endpoint: Endpoint, operation: str, request: dict[str, Any]) -> None:
    for attempt in range(POLLS_MAX):
        try:
            endpoint.call(operation, request)
        except RequestRejected as rejection:
            if rejection.code in ("ResourceNotFoundException", "BackupNotFoundException"):
                return
            if rejection.code not in ("ResourceInUseException", "BackupInUseException"):
                raise
            if attempt == POLLS_MAX - 1:
                raise
            endpoint.wait()
        else:
            return
