"""Restores tables from a backup, or from another table's past: a request begins, a job fills the table.

A table being restored is CREATING, and accepts no requests, until it is complete. It is filled through the
one write path, a block or a page at a time, so indexes, counters and collections are the same as after
ordinary writes. The progress is stored in the commit of the items: after a crash the next step continues
there, and no item is written twice.

A backup is verified before it is written: with quick checks before its table is created, and completely, step
by step, before the first block; each block is verified again when it is read. A damaged backup leaves no
table.

`TableState.restored` holds what clients see, and what the job reads: a backup's id; or the table of the past
with the resource of its history, because recovery that is disabled and enabled again begins another one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import orjson

from faradisc.clock import Clock
from faradisc.engine.backups.backup import Backup
from faradisc.engine.backups.files import (
    HEAD_BYTES,
    MAGIC,
    Damaged,
    block_location,
    body_bytes,
    read_manifest,
    records_of,
)
from faradisc.engine.backups.history import Cursor, page_at
from faradisc.engine.backups.registry import Backups, usage_of
from faradisc.engine.backups.storage import BackupStorage, BackupStorageError, run_blocking
from faradisc.engine.backups.verification import Verification, verify_quickly
from faradisc.engine.derived.history import history_of, recovery_is_off
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.sealing.sealer import KeyDenied, Sealer
from faradisc.engine.sealing.state import SealState
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.change import Change, Image, evaluate
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.definition import TableDefinition
from faradisc.engine.tables.state import Restored, TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import (
    LimitExceededException,
    ResourceInUseException,
    TableAlreadyExistsException,
    TableInUseException,
    ValidationException,
)
from faradisc.limits import RESTORES_AT_ONCE_MAX
from faradisc.model.codec import item_record
from faradisc.model.codec.item_record import Record
from faradisc.model.codec.keyspace import JOBS_PART, job_key
from faradisc.storage.api import Batch, Store

log = logging.getLogger("faradisc.engine.backups")

OWNER_JOB = "restore"


class RestoreTarget(NamedTuple):
    """The table to create."""

    name: str
    region: str
    account: str


class Restores:
    def __init__(self, store: Store, catalog: Catalog, clock: Clock, backups: Backups) -> None:
        self._store = store
        self._catalog = catalog
        self._backups = backups
        self._verification: tuple[int, Verification] | None = None
        """The resource of the table to be filled, and the verification of its backup."""
        self.attempts = Attempts(clock, one_at_a_time=True)

    # --- Beginning ---

    async def from_backup(
        self, target: RestoreTarget, backup: Backup, definition: TableDefinition, sealing: SealState | None
    ) -> Table:
        """Begins to restore a backup. sealing: encryption of the new table.

        Raises TableAlreadyExistsException, TableInUseException; LimitExceededException when too many restores
        run or the disk has too little space; ValidationException when quick checks find damage; KeyDenied
        when it cannot be opened.
        """
        self._check_room(backup.size_bytes)
        await self._backups.opener(backup)
        try:
            await run_blocking(self._backups.storage, verify_quickly, self._backups.storage, backup.id)
        except (Damaged, BackupStorageError) as error:
            raise ValidationException(f"Backup {backup.arn} is damaged: {error}") from error
        restored = Restored(backup.table_arn, backup.created_ns, backup.id, backup.arn)
        return await self._begin(target, definition, restored, sealing, backup.state)

    async def from_past(
        self,
        target: RestoreTarget,
        source: Table,
        at_ns: int,
        definition: TableDefinition,
        sealing: SealState | None,
    ) -> Table:
        """Begins to restore the items of another table at a time, which its history covers.

        Raises the errors of `from_backup`.
        """
        _, size_bytes = await usage_of(self._store, source)
        self._check_room(size_bytes)
        await self._catalog.end_past(source, at_ns)
        history = history_of(source)
        assert history is not None, "it covers the time"
        name = (source.state.namespace, source.name)
        restored = Restored(source.arn, at_ns, source=name, history=history.resource)
        made = await self._begin(target, definition, restored, sealing, source.state)
        if self._source(restored) is None:
            # The history was dropped before the table was created; from here on it would stay.
            await self._catalog.delete(made, while_in_use=True)
            raise recovery_is_off(source)
        return made

    def check_target(self, target: RestoreTarget) -> None:
        """Raises TableAlreadyExistsException, TableInUseException if the name is taken."""
        present = self._catalog.tables.find(*target)
        if present is None:
            return
        doing = {"CREATING": "created", "DELETING": "deleted"}.get(present.state.status)
        if doing is not None:
            raise TableInUseException(f"Table is being {doing}: {target.name}")
        raise TableAlreadyExistsException(f"Table already exists: {target.name}")

    def _check_room(self, size_bytes: int) -> None:
        """Checks the disk's space. Rows are written twice: to the log of the store, and to its files."""
        free = self._backups.storage.free_bytes()
        if free is not None and free < 2 * size_bytes:
            raise LimitExceededException(
                f"No room for the table: its items have {size_bytes} bytes, the disk has {free} left"
            )

    async def _begin(
        self,
        target: RestoreTarget,
        definition: TableDefinition,
        restored: Restored,
        sealing: SealState | None,
        source: TableState,
    ) -> Table:
        if len(self._catalog.tables.owned_by(OWNER_JOB)) >= RESTORES_AT_ONCE_MAX:
            raise LimitExceededException(
                f"Subscriber limit exceeded: Only {RESTORES_AT_ONCE_MAX} restores can run at a time"
            )
        settings = {
            "owner_job": OWNER_JOB,
            "restored": restored,
            "sealing": sealing,
            "features": self._catalog.kinds.restored(source),
        }
        try:
            return await self._catalog.create(*target, definition, settings)
        except ResourceInUseException:  # a concurrent request
            raise TableAlreadyExistsException(f"Table already exists: {target.name}") from None

    def reads_past_of(self, table: Table) -> bool:
        """Whether a restore reads this table's past, so its history has to stay."""
        return self.oldest_needed_ns(table) is not None

    def oldest_needed_ns(self, table: Table) -> int | None:
        """Returns the oldest time of this table that a restore reads."""
        name = (table.state.namespace, table.name)
        restoring = [each.state.restored for each in self._catalog.tables.owned_by(OWNER_JOB)]
        return min(
            (each.at_ns for each in restoring if each is not None and each.source == name), default=None
        )

    # --- Filling ---

    async def step(self) -> bool:
        """Verifies a piece of a backup, or writes one block or page of a table. Returns False if idle."""
        filled = [table for table in self._catalog.tables.owned_by(OWNER_JOB) if table.version]
        return await self.attempts.step(map(self._work, filled))

    def _work(self, table: Table) -> Work:
        async def undo() -> None:
            self._verification = None

        hopeless = (Damaged, BackupStorageError, KeyDenied)
        name = f"restore of {table.state.arn}"
        return Work(name, partial(self._fill, table), partial(self._drop, table), undo, hopeless, taken=undo)

    async def _fill(self, table: Table) -> None:
        key = job_key(b"restore", table.state.resource)
        (row,) = await self._store.get(JOBS_PART, (key,), for_update=True)
        progress = _Progress.of(row[1] if row is not None else None)
        if row is None and not await self._is_verified(table):
            return
        records, following = await self._records(table, progress)
        if table not in self._catalog.tables.owned_by(OWNER_JOB):
            return  # dropped or changed while its records were read; the next step reads it again
        if following is not None:
            moved = Batch(
                JOBS_PART,
                checks=[(key, row[0] if row is not None else 0)],
                puts=[(key, orjson.dumps(following, default=list))],
            )
            await write_new(self._store, table, records, also=moved)
            return
        await self._catalog.filled(table, also=Batch(JOBS_PART, deletes=[key]))
        self._release(table)
        log.info("table %s is restored: %d items", table.name, progress.items)

    async def _is_verified(self, table: Table) -> bool:
        """Verifies a further piece of the backup. Returns whether all is verified.

        After a crash it begins again, unless the first block was written. Raises Damaged, BackupStorageError.
        """
        restored, storage = table.state.restored, self._backups.storage
        if restored is None or restored.backup is None:
            return True
        resource = table.state.resource
        if self._verification is None or self._verification[0] != resource:
            self._verification = (
                resource,
                await run_blocking(storage, Verification, storage, restored.backup),
            )
        return await run_blocking(storage, self._verification[1].step)

    async def _records(self, table: Table, progress: _Progress) -> tuple[list[Record], _Progress | None]:
        """Returns the next records, and the progress after them; None: the table is complete.

        Raises Damaged, BackupStorageError.
        """
        restored = table.state.restored
        assert restored is not None, "a table being restored has a source"
        if restored.backup is None:
            return await self._past_records(restored, progress)
        storage = self._backups.storage
        opener = await self._backups.opener(self._backups.of_id(restored.backup))
        return await run_blocking(storage, block_at, storage, restored.backup, progress, opener)

    async def _past_records(
        self, restored: Restored, progress: _Progress
    ) -> tuple[list[Record], _Progress | None]:
        if progress.cursor is None:
            return [], None
        source = self._source(restored)
        if source is None:
            raise Damaged(f"the history of {restored.source_arn} is gone")
        items, cursor = await page_at(self._store, source, restored.at_ns, progress.cursor)
        return [item.record for item in items], _Progress(0, progress.items + len(items), cursor)

    def _source(self, restored: Restored) -> Table | None:
        """Returns the table of the past, if it still has the same history."""
        assert restored.source is not None
        source = self._catalog.tables.at(restored.source)
        history = None if source is None else history_of(source)
        if history is None:
            return None
        return source if restored.history in (None, history.resource) else None

    async def _drop(self, table: Table, reason: Exception) -> None:
        if table not in self._catalog.tables.owned_by(OWNER_JOB):
            return
        restored = table.state.restored
        of_what = None if restored is None else restored.backup_arn or restored.source_arn
        log.error("table %s cannot be restored from %s, and is removed: %s", table.name, of_what, reason)
        self._release(table)
        await self._catalog.delete(table, while_in_use=True)

    def _release(self, table: Table) -> None:
        restored = table.state.restored
        if restored is not None and restored.backup is not None:
            self._backups.release(self._backups.of_id(restored.backup))


class _Progress(NamedTuple):
    """The progress of a restore, stored as a JSON list."""

    at: int = 0
    """Bytes of the backup's rows that are written."""
    items: int = 0
    cursor: Cursor | None = Cursor()
    """The position in the past; None: all is read."""

    @classmethod
    def of(cls, stored: bytes | None) -> _Progress:
        if stored is None:
            return cls()
        at, items, cursor = orjson.loads(stored)
        return cls(at, items, Cursor(*cursor) if cursor is not None else None)


async def write_new(store: Store, table: Table, records: Sequence[Record], *, also: Batch) -> bool:
    """Writes items to a table that has none of them and no clients, in one commit with `also`.

    Charges no capacity. Returns False when a version in `also` has changed; nothing is written then.
    """
    outcomes = []
    for payload in records:
        item = item_record.decode(payload)
        change = Change(table, table.key.key_of(item), item)
        outcomes.append(evaluate(change, Image(None)))
    return await commit_outcomes(store, outcomes, also=also)


# --- Reading a backup ----------------------------------------------------------------------------


def block_at(
    storage: BackupStorage, name: str, progress: _Progress, opener: Sealer | None
) -> tuple[list[Record], _Progress | None]:
    """Returns the records of the next block, and the progress after it; None at the end. Raises Damaged.

    opener: of a backup that is sealed.
    """
    promised = read_manifest(storage.manifest(name))["rows"]
    at = progress.at
    if at == 0:
        at = len(MAGIC)
        if storage.read(name, 0, at) != MAGIC:
            raise Damaged("rows does not begin as it should")
    if at == promised["bytes"]:
        if progress.items != promised["records"]:
            raise Damaged(f"rows has {progress.items} items instead of {promised['records']}")
        return [], None
    head = storage.read(name, at, HEAD_BYTES)
    length = body_bytes(head)
    body = storage.read(name, at + HEAD_BYTES, length)
    records = records_of(head, body, opener, block_location(name, at))
    return records, _Progress(at + HEAD_BYTES + length, progress.items + len(records), None)
