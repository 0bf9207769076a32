"""Makes backups, restores tables from backups and to points in time, and compares the results.

A backup has the state of a table at one moment between its request and its completion. A restored table must
have that state, also after crashes. A restore to a second has the state at that second.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from faradisc.clock import ManualClock
from fixtures.faulty_store import FaultyStore
from simulation.actors import pause
from simulation.auditor import RESTORED, Auditor
from simulation.consumers import Call
from simulation.drawing import TABLES
from simulation.writes import Item, Key, key_of

LOOKS_MAX = 3_000
"""At a table that is being restored, before it is called stuck."""
_REJECTIONS = {
    *("BackupInUseException", "LimitExceededException", "TableInUseException", "InvalidRestoreTimeException"),
    *("PointInTimeRecoveryUnavailableException", "ContinuousBackupsUnavailableException"),
    *("TableAlreadyExistsException", "BackupNotFoundException"),
}


@dataclass(slots=True)
class Made:
    """A backup: its table, and the versions between which its state was taken."""

    table: str
    low: int
    high: int | None = None
    """None until it was seen complete."""


@dataclass(slots=True)
class Restore:
    """A restore that runs, with the expected content of its table."""

    name: str
    source: str
    low: int
    high: int
    is_acknowledged: bool = False


class Archivist:
    def __init__(self, auditor: Auditor, clock: ManualClock, chance: random.Random) -> None:
        self._auditor = auditor
        self._clock = clock
        self._chance = chance
        self._backups: dict[str, Made] = {}
        self._restore: Restore | None = None
        self._count = 0
        self.is_resting = False

    async def run(self, call: Call, store: FaultyStore) -> None:
        """Runs until it is stopped. Raises StorageError when the store fails."""
        if self._restore is not None:
            await self._see_through(call, self._restore)
        while not self.is_resting:
            await pause(self._chance, 400)
            await self._look(call, store)
            act = self._chance.choice((self._back_up, self._from_backup, self._from_past))
            await act(call, store)

    async def _back_up(self, call: Call, store: FaultyStore) -> None:
        table, low = self._chance.choice(TABLES), store.synced_version
        code, answer = await call("CreateBackup", {"TableName": table, "BackupName": "backup"})
        if not self._is_refused("CreateBackup", code, answer):
            self._backups[answer["BackupDetails"]["BackupArn"]] = Made(table, low)

    async def _look(self, call: Call, store: FaultyStore) -> None:
        """Checks that acknowledged backups exist, and that they become complete."""
        for arn, made in self._backups.items():
            code, answer = await call("DescribeBackup", {"BackupArn": arn})
            if code:
                self._auditor.fail(f"backup {arn} was acknowledged, and now {code}")
            elif made.high is None:
                details = answer["BackupDescription"]["BackupDetails"]
                if details["BackupStatus"] == "AVAILABLE":
                    made.high = store.version
                    self._auditor.seen["backups"] += 1

    async def _from_backup(self, call: Call, store: FaultyStore) -> None:
        complete = [(arn, made) for arn, made in self._backups.items() if made.high is not None]
        if not complete:
            return
        arn, made = self._chance.choice(complete)
        assert made.high is not None
        restore = self._begin(made.table, made.low, made.high)
        request = {"BackupArn": arn, "TargetTableName": restore.name}
        await self._ask(call, restore, "RestoreTableFromBackup", request)

    async def _from_past(self, call: Call, store: FaultyStore) -> None:
        table = self._chance.choice(TABLES)
        second = self._clock.now_ns() // 1_000_000_000 - self._chance.randint(0, 3)
        low = self._auditor.version_at((second - 1) * 1_000_000_000)
        high = self._auditor.version_at((second + 1) * 1_000_000_000)
        restore = self._begin(table, low, high)
        request = {"SourceTableName": table, "TargetTableName": restore.name, "RestoreDateTime": second}
        await self._ask(call, restore, "RestoreTableToPointInTime", request)

    def _begin(self, source: str, low: int, high: int) -> Restore:
        self._count += 1
        self._restore = Restore(f"{RESTORED}{self._count}", source, low, high)
        return self._restore

    async def _ask(self, call: Call, restore: Restore, operation: str, request: dict[str, Any]) -> None:
        code, answer = await call(operation, request)
        if self._is_refused(operation, code, answer):
            self._restore = None
            return
        restore.is_acknowledged = True
        await self._see_through(call, restore)

    def _is_refused(self, operation: str, code: str, answer: dict[str, Any]) -> bool:
        if code and code not in _REJECTIONS:
            self._auditor.fail(f"{operation} was answered {code} {answer}")
        return bool(code)

    async def _see_through(self, call: Call, restore: Restore) -> None:
        """Waits for the table, compares it, and deletes it."""
        named = {"TableName": restore.name}
        for _ in range(LOOKS_MAX):
            code, answer = await call("DescribeTable", named)
            if code:
                if restore.is_acknowledged:
                    self._auditor.fail(f"{restore} was acknowledged, and now there is no table")
                self._restore = None
                return
            restore.is_acknowledged = True  # what was shown stays
            if answer["Table"]["TableStatus"] == "ACTIVE":
                break
            await pause(self._chance, 40)
        else:
            self._auditor.fail(f"{restore} does not come to an end")
            return
        found: dict[Key, Item] = {}
        body: dict[str, Any] | None = {**named, "Limit": 7}
        while body is not None:
            code, answer = await call("Scan", body)
            if code:
                self._auditor.fail(f"the scan of {restore.name} was answered {code}")
                return
            found.update((key_of(each), each) for each in answer["Items"])
            last = answer.get("LastEvaluatedKey")
            body = None if last is None else {**named, "ExclusiveStartKey": last}
        self._compare(restore, found)
        self._restore = None
        await call("DeleteTable", named)

    def _compare(self, restore: Restore, found: dict[Key, Item]) -> None:
        self._auditor.seen["restores"] += 1
        model = self._auditor.model
        places = [(restore.source, key) for key in model.keys(restore.source)]
        for version in model.moments(places, restore.low, restore.high):
            if model.table_at(version, restore.source) == found:
                return
        self._auditor.fail(f"{restore} holds {found}, which {restore.source} never did in that time")
