"""Tables made from a backup, or from another table's past: begun by a request, filled by a job.

A table being restored is CREATING, and nobody's, until it is complete. It is filled through the one write
path, a block or a page at a time, so its indexes, counters and collections are what writes would have made
of the same items. How far it has come is stored in the commit of the items: after a crash the next step goes
on where the last one ended, and no item is written twice.

A backup is verified before anything of it is written: what shows at once before its table is begun, and all
of its data, step by step, before the first block; each block is verified again when it is read. What turns
out to be damaged leaves no table.

`TableState.restored` holds what clients are shown (`backup_arn`, `source_arn`, `at_ns`), and what the job
reads: `backup`, an id; or `source`, namespace and name of the table whose past it is, and `history`, the
number of the history that knows it: recovery that was switched off and on again has begun another one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from faradisc.engine.backups.backup import Backup
from faradisc.engine.backups.files import (
    HEAD_BYTES,
    MAGIC,
    Damaged,
    body_bytes,
    read_manifest,
    records_of,
)
from faradisc.engine.backups.history import Cursor, page_at
from faradisc.engine.backups.registry import Backups
from faradisc.engine.backups.storage import BackupStorage, BackupStorageError, aside
from faradisc.engine.backups.verifying import Verifying, look_at
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.change import Change, Image, evaluate
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.definition import TableDefinition
from faradisc.engine.tables.table import Table
from faradisc.errors import (
    LimitExceededException,
    PointInTimeRecoveryUnavailableException,
    ResourceInUseException,
    StorageError,
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
TRIES = 3
"""Steps of one restore that may end in an error nobody foresaw; with the last of them the table goes."""


class Target(NamedTuple):
    """The table to be made."""

    name: str
    region: str
    account: str


class Restores:
    def __init__(self, store: Store, catalog: Catalog, backups: Backups) -> None:
        self._store = store
        self._catalog = catalog
        self._backups = backups
        self._verifying: tuple[int, Verifying] | None = None
        """The resource of the table that is about to be filled, and its backup."""
        self._failures: dict[int, int] = {}
        """Of steps, in errors nobody foresaw, by the resource of the table."""

    # --- Beginning ---

    async def from_backup(self, target: Target, backup: Backup, definition: TableDefinition) -> Table:
        """Begin to make a table of a backup.

        Raises: TableAlreadyExistsException, TableInUseException; LimitExceededException when too many are
        under way or there is no room; ValidationException when the backup is seen to be damaged.
        """
        self._check_room(backup.size_bytes)
        try:
            await aside(self._backups.storage, look_at, self._backups.storage, backup.id)
        except (Damaged, BackupStorageError) as error:
            raise ValidationException(f"Backup {backup.arn} is damaged: {error}") from error
        restored = {
            "backup": backup.id,
            "backup_arn": backup.arn,
            "source_arn": backup.table_arn,
            "at_ns": backup.created_ns,
        }
        return await self._begin(target, definition, restored)

    async def from_past(
        self, target: Target, source: Table, at_ns: int, definition: TableDefinition
    ) -> Table:
        """Begin to make a table of the items that another one had at a moment.

        Requires: the source's history knows the moment. Raises what `from_backup` raises.
        """
        used = [await self._store.usage(part) for part in source.placement.parts]
        self._check_room(sum(size for _, size in used))
        self._catalog.moments.seal(at_ns)
        assert source.history is not None, "it knows the moment"
        restored = {
            "source": [source.state.namespace, source.name],
            "source_arn": source.arn,
            "at_ns": at_ns,
            "history": source.history.resource,
        }
        made = await self._begin(target, definition, restored)
        if self._source(restored) is None:
            # The history went while this waited for its turn. From here on it would stay.
            await self._catalog.delete(made, while_in_use=True)
            raise PointInTimeRecoveryUnavailableException(
                f"Point in time recovery is not enabled for table '{source.name}'"
            )
        return made

    def check_target(self, target: Target) -> None:
        """Raises TableAlreadyExistsException, TableInUseException unless a name is free."""
        present = self._catalog.find(*target)
        if present is None:
            return
        doing = {"CREATING": "created", "DELETING": "deleted"}.get(present.state.status)
        if doing is not None:
            raise TableInUseException(f"Table is being {doing}: {target.name}")
        raise TableAlreadyExistsException(f"Table already exists: {target.name}")

    def _check_room(self, size_bytes: int) -> None:
        """The rows are written twice: to the log of the store, and to its files."""
        free = self._backups.storage.free_bytes()
        if free is not None and free < 2 * size_bytes:
            raise LimitExceededException(
                f"No room for the table: its items have {size_bytes} bytes, the disk has {free} left"
            )

    async def _begin(self, target: Target, definition: TableDefinition, restored: dict[str, Any]) -> Table:
        if len(self._catalog.owned_by(OWNER_JOB)) >= RESTORES_AT_ONCE_MAX:
            raise LimitExceededException(
                f"Subscriber limit exceeded: Only {RESTORES_AT_ONCE_MAX} restores can run at a time"
            )
        settings = {"owner_job": OWNER_JOB, "restored": restored}
        try:
            return await self._catalog.create(*target, definition, settings)
        except ResourceInUseException:  # somebody was faster
            raise TableAlreadyExistsException(f"Table already exists: {target.name}") from None

    def reads_past_of(self, table: Table) -> bool:
        """Whether a table is being made from this one's past: then its history has to stay."""
        return self.oldest_needed_ns(table) is not None

    def oldest_needed_ns(self, table: Table) -> int | None:
        """The oldest moment of this table that a restore reads."""
        place = [table.state.namespace, table.name]
        moments = [
            each.state.restored["at_ns"]
            for each in self._catalog.owned_by(OWNER_JOB)
            if each.state.restored is not None and each.state.restored.get("source") == place
        ]
        return min(moments, default=None)

    # --- Filling ---

    async def step(self) -> bool:
        """Verify a piece of a backup, or write one block or page of a table. False when there is none."""
        for table in self._catalog.owned_by(OWNER_JOB):
            if table.version:
                await self._try_to_fill(table)
                return True
        return False

    async def _try_to_fill(self, table: Table) -> None:
        """A step, which may end in an error of ours: then it is tried again, TRIES times in all.

        How far a restore has come is stored with its items, so trying again writes nothing twice.
        Raises: StorageError.
        """
        try:
            await self._fill(table)
        except StorageError:
            raise
        except Exception as error:
            resource = table.state.resource
            failures = self._failures.pop(resource, 0) + 1
            log.error(
                "restore of %s: failure %d of %d: %s", table.name, failures, TRIES, error, exc_info=error
            )
            self._verifying = None
            if failures < TRIES:
                self._failures[resource] = failures
            elif table in self._catalog.owned_by(OWNER_JOB):
                await self._drop(table, f"an internal error: {type(error).__name__}: {error}")
        else:
            if table not in self._catalog.owned_by(OWNER_JOB):
                self._failures.pop(table.state.resource, None)

    async def _fill(self, table: Table) -> None:
        key = job_key(b"restore", table.state.resource)
        (row,) = await self._store.get(JOBS_PART, (key,), for_update=True)
        progress = _Progress.of(row[1] if row is not None else None)
        try:
            if row is None and not await self._is_verified(table):
                return
            records, following = await self._records(table, progress)
        except (Damaged, BackupStorageError) as error:
            await self._drop(table, str(error))
            return
        if table not in self._catalog.owned_by(OWNER_JOB):
            return  # dropped, or changed, while its records were read: the next step sees
        if following is not None:
            moved = Batch(
                JOBS_PART,
                checks=[(key, row[0] if row is not None else 0)],
                puts=[(key, following.stored())],
            )
            await write_new(self._store, table, records, also=moved)
            return
        await self._catalog.filled(table, also=Batch(JOBS_PART, deletes=[key]))
        log.info("table %s is restored: %d items", table.name, progress.items)

    async def _is_verified(self, table: Table) -> bool:
        """Whether all is read of the backup that a table is made of, after reading a piece more of it.

        A process that comes after a crash begins anew, until the first block is written.
        Raises: Damaged, BackupStorageError.
        """
        restored, storage = table.state.restored, self._backups.storage
        if restored is None or restored.get("backup") is None:
            return True
        resource = table.state.resource
        if self._verifying is None or self._verifying[0] != resource:
            self._verifying = resource, await aside(storage, Verifying, storage, restored["backup"])
        return await aside(storage, self._verifying[1].step)

    async def _records(self, table: Table, progress: _Progress) -> tuple[list[Record], _Progress | None]:
        """The next records, and what is to be read after them; None: the table is complete.

        Raises: Damaged, BackupStorageError.
        """
        restored = table.state.restored
        assert restored is not None, "a table being restored says from what"
        if restored.get("backup") is None:
            return await self._past_records(restored, progress)
        storage = self._backups.storage
        return await aside(storage, _block_at, storage, restored["backup"], progress)

    async def _past_records(
        self, restored: dict[str, Any], progress: _Progress
    ) -> tuple[list[Record], _Progress | None]:
        if progress.cursor is None:
            return [], None
        source = self._source(restored)
        if source is None:
            raise Damaged(f"the history of {restored['source_arn']} is gone")
        items, cursor = await page_at(self._store, source, restored["at_ns"], progress.cursor)
        return [item.record for item in items], _Progress(0, progress.items + len(items), cursor)

    def _source(self, restored: dict[str, Any]) -> Table | None:
        """The table whose past it is, as long as it has the history that knows it."""
        source = self._catalog.at(tuple(restored["source"]))
        if source is None or source.history is None:
            return None
        present = source.history.resource
        known: int = restored.get("history", present)  # an older release has begun it without saying which
        return source if known == present else None

    async def _drop(self, table: Table, reason: str) -> None:
        source = table.state.restored or {}
        of_what = source.get("backup_arn") or source.get("source_arn")
        log.error("table %s cannot be restored from %s, and is removed: %s", table.name, of_what, reason)
        self._verifying = None
        await self._catalog.delete(table, while_in_use=True)


class _Progress:
    """How far a restore has come."""

    __slots__ = ("at", "cursor", "items")

    def __init__(self, at: int, items: int, cursor: Cursor | None) -> None:
        self.at = at
        """Bytes of the backup's rows that are done."""
        self.items = items
        self.cursor = cursor
        """Where the walk over the past goes on; None: it has ended."""

    @classmethod
    def of(cls, stored: bytes | None) -> _Progress:
        if stored is None:
            return cls(0, 0, Cursor())
        at, items, cursor = orjson.loads(stored)
        return cls(at, items, Cursor(*cursor) if cursor is not None else None)

    def stored(self) -> bytes:
        return orjson.dumps([self.at, self.items, None if self.cursor is None else list(self.cursor)])


async def write_new(store: Store, table: Table, records: Sequence[Record], *, also: Batch) -> bool:
    """Write items that are new to a table which is nobody's yet, in one commit with `also`.

    No capacity is charged. False: `also` was not as it was read, and nothing is written.
    """
    outcomes = []
    for payload in records:
        item = item_record.decode(payload)
        change = Change(table, table.key.key_of(item), lambda _, item=item: item)  # type: ignore[misc]
        outcomes.append(evaluate(change, Image(None)))
    return await commit_outcomes(store, outcomes, also=also)


# --- Reading a backup ----------------------------------------------------------------------------


def _block_at(
    storage: BackupStorage, name: str, progress: _Progress
) -> tuple[list[Record], _Progress | None]:
    """The records of the next block, and what comes after it; None: that was all. Raises Damaged."""
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
    records = records_of(head, storage.read(name, at + HEAD_BYTES, length))
    return records, _Progress(at + HEAD_BYTES + length, progress.items + len(records), None)
