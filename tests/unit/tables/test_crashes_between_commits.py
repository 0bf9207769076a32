"""A change that takes several commits, interrupted after each of them.

What it proves: whichever commit was the last one to reach the disk, the database that is opened on it has no
parts or job rows without an owner, and works. Every state between two commits is tested in memory, where kill
-9 hits one by chance.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.database import Database
from faradisc.engine.backups.storage import BackupStorage
from faradisc.engine.check import Check
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.model.codec.keyspace import JOBS_PART
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.exchanging import recoverable
from fixtures.schemas import item, schema
from fixtures.stepped import Stepped

Act = Callable[[Stepped], None]


def switch_recovery_off(process: Stepped) -> None:
    specification = {"PointInTimeRecoveryEnabled": False}
    process.call("UpdateContinuousBackups", TableName="table", PointInTimeRecoverySpecification=specification)


def switch_recovery_off_and_on(process: Stepped) -> None:
    switch_recovery_off(process)
    recoverable(process, "table")
    process.call("PutItem", TableName="table", Item=item(p="new"))


def restore_a_backup(process: Stepped) -> None:
    begun = process.call("CreateBackup", TableName="table", BackupName="backup")["BackupDetails"]
    process.finish()
    process.call("RestoreTableFromBackup", TargetTableName="target", BackupArn=begun["BackupArn"])
    process.finish()


def restore_the_past(process: Stepped) -> None:
    request = {"SourceTableName": "table", "UseLatestRestorableTime": True}
    process.call("RestoreTableToPointInTime", TargetTableName="target", **request)
    process.finish()


def delete_the_table(process: Stepped) -> None:
    process.call("DeleteTable", TableName="table")
    process.finish()


def reset(process: Stepped) -> None:
    """Creates everything that has parts of its own: streams, indexes, expiry, history, rows of a backup."""
    streamed = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    members = schema("p:S", "r:N", gsi={"by-g": ("g:S", "", "ALL")}, lsi={"by-l": ("l:S", "ALL")})
    process.call("CreateTable", TableName="other", StreamSpecification=streamed, **members)
    specification = {"Enabled": True, "AttributeName": "exp"}
    process.call("UpdateTimeToLive", TableName="other", TimeToLiveSpecification=specification)
    process.call("PutItem", TableName="other", Item=item(p="a", r=1, g="g", l="l", exp=2_000_000_000))
    process.call("CreateBackup", TableName="other", BackupName="backup")
    process.call("DeleteTable", TableName="table")  # its system backup has its items
    process.local.reset()
    process.finish()


def twin_of(store: MemoryStore) -> MemoryStore:
    twin = MemoryStore()
    twin._place.parts.update({name: data.copy() for name, data in store._place.parts.items()})
    twin._place.epochs.update(store._place.epochs)
    twin._place.version = store._place.version
    return twin


def copies_after_each_write(process: Stepped, act: Act, patched: pytest.MonkeyPatch) -> list[MemoryStore]:
    """Returns the contents of the disk after each commit and each clearing by `act`."""
    store = process.store
    assert isinstance(store, SealedStore)
    engine = store.inner
    assert isinstance(engine, MemoryStore)
    copies: list[MemoryStore] = []
    for name in ("commit", "clear"):
        before = getattr(store, name)

        async def written(*args: Any, before: Any = before, **named: Any) -> Any:
            outcome = await before(*args, **named)
            copies.append(twin_of(engine))
            return outcome

        patched.setattr(store, name, written, raising=False)
    act(process)
    return copies


@pytest.mark.parametrize(
    "act",
    [
        switch_recovery_off,
        switch_recovery_off_and_on,
        restore_a_backup,
        restore_the_past,
        delete_the_table,
        reset,
    ],
)
def test_a_start_after_a_crash_between_commits_leaves_nothing_behind(
    act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    process = Stepped(clock=clock)
    process.call("CreateTable", TableName="table", **schema("p:S", gsi={"by-g": ("g:S", "", "ALL")}))
    recoverable(process, "table")
    for number in range(40):
        process.call("PutItem", TableName="table", Item=item(p=f"{number % 30}", g="g"))
    process.finish()
    storage = process.backend.backups.storage
    with monkeypatch.context() as patched:
        copies = copies_after_each_write(process, act, patched)
    process.close()
    assert len(copies) > 1
    for number, written in enumerate(copies):
        run(_check(written, storage, clock, f"after write {number} of {len(copies)}"))


async def _check(store: MemoryStore, storage: BackupStorage, clock: ManualClock, when: str) -> None:
    database = await Database.open(store, backup_storage=copy.deepcopy(storage), clock=clock)
    while await database.work():
        pass
    report = await Check(store, clock).finish()
    assert report.sentences() == [], when
    assert await store.range(JOBS_PART, None, None, limit=10) == [], when
    await database.close()
