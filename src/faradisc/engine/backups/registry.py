"""All backups of a database: begins, finds, lists, deletes and, in a background job, writes them.

The backups' part of the store (resource 0) has a row per backup: its id and its state as JSON. All of them
are in memory too. The files are in a backup storage (engine/backups/storage.py).

A request for a backup takes a snapshot of the store, which stays open until the files are complete. After a
crash in between, the next start begins again, from the table's state at that time; the first attempt was
never visible. On a shared store the node that runs the job takes the snapshot, when it begins. The system
backup of a deleted table is made of the table's own rows, which stay in the store for it.

A deletion removes the files, then the row. A new backup writes a row, the files, and the row again. So the
files of an AVAILABLE row exist, unless another program removed them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from faradisc.clock import Clock, Entropy
from faradisc.engine.backups.backup import SYSTEM_SUFFIX, Backup, backup_id, id_of_arn
from faradisc.engine.backups.files import Damaged, read_manifest
from faradisc.engine.backups.storage import BackupStorage, BackupStorageError, NoBackupStorage, run_blocking
from faradisc.engine.backups.writing import BackupWriter
from faradisc.engine.cluster.followed import FollowedRows
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.sealing.sealer import KeyDenied, Sealer
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import SHORT_TRANSITION_MS_MAX
from faradisc.errors import (
    BackupInUseException,
    BackupNotFoundException,
    LimitExceededException,
    ValidationException,
)
from faradisc.limits import SYSTEM_BACKUP_LIFETIME_S
from faradisc.model.codec.keyspace import BACKUPS_PART
from faradisc.storage.api import Batch, ReadOnlyStore, Store

log = logging.getLogger("faradisc.engine.backups")


class Backups:
    """The backups of one database."""

    def __init__(
        self, store: Store, catalog: Catalog, clock: Clock, entropy: Entropy, storage: BackupStorage
    ) -> None:
        self.storage = storage
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._entropy = entropy
        self._rows = FollowedRows(store, BACKUPS_PART)
        self._backups: dict[str, Backup] = {}
        self._snapshots: dict[str, ReadOnlyStore] = {}
        """The sources of unfinished backups, by backup id."""
        self._writer: BackupWriter | None = None
        """Writes the backup that is being made."""
        self._attempts = Attempts(clock)

    # --- Start and end ---

    async def load(self) -> None:
        """Loads every backup."""
        for _, payload in await self._rows.load():
            self.put(Backup.from_json(orjson.loads(payload)))
        if not self._store.shared:
            await self._clean_storage()

    async def follow(self) -> None:
        """Takes over what other nodes have changed."""
        for key, payload in await self._rows.changed():
            if payload is None:
                self._backups.pop(key.decode(), None)
            else:
                self.put(Backup.from_json(orjson.loads(payload)))

    async def taken(self) -> None:
        """Begins to run the job on this node: what is unfinished is of nodes that are gone."""
        await self.follow()
        await self._clean_storage()

    async def lost(self) -> None:
        """Leaves the job to another node, which begins its unfinished backups again."""
        self._writer = None
        await self._close_snapshots()

    async def _clean_storage(self) -> None:
        """Adopts backups that were copied into the storage, and those whose files were complete when a crash
        prevented their row; removes unfinished ones."""
        try:
            await run_blocking(self.storage, self.storage.remove_unfinished)
            for name in await run_blocking(self.storage, self.storage.names):
                known = self._backups.get(name)
                if known is None or known.status == "CREATING":
                    await self._adopt(name, known)
        except (BackupStorageError, OSError) as error:
            log.error("the directory of backups cannot be read: %s", error)

    async def _adopt(self, name: str, known: Backup | None) -> None:
        """Adopts a finished backup without a row, or with a row that says CREATING."""
        try:
            backup = _backup_of(read_manifest(await run_blocking(self.storage, self.storage.manifest, name)))
            if backup.id != name:
                raise Damaged(f"manifest.json belongs to {backup.id}")
        except (Damaged, BackupStorageError) as error:
            log.error("backup %s is ignored: %s", name, error)
            return
        if known is not None:
            backup = replace(backup, holds_rows=known.holds_rows)
        await self._store_row(backup)
        log.info("backup %s of table %s was found in the storage", name, backup.table_name)

    async def close(self) -> None:
        self.storage.close()
        await self._close_snapshots()

    async def _close_snapshots(self) -> None:
        for snapshot in self._snapshots.values():
            await snapshot.close()
        self._snapshots.clear()

    async def drop_all(self) -> None:
        """Removes every backup at once."""
        backups, self._backups, self._writer = list(self._backups.values()), {}, None
        await self._close_snapshots()
        for backup in backups:
            await run_blocking(self.storage, self.storage.remove, backup.id)
            await self._clear_rows(backup)
        if backups:
            await self._rows.commit(self._rows.batch([], [each.key for each in backups]))

    # --- Finding ---

    def find(self, arn: str) -> Backup:
        """Returns a backup. Raises ValidationException, BackupNotFoundException."""
        backup = self._backups.get(id_of_arn(arn))
        if backup is None or backup.arn != arn:
            raise BackupNotFoundException(f"Backup not found: {arn}")
        return backup

    def of_id(self, backup_id: str) -> Backup:
        """Returns a backup that exists."""
        return self._backups[backup_id]

    def listed(self, namespace: str, table_name: str | None) -> list[Backup]:
        """Returns the backups of a namespace, or of the tables of one name, oldest first."""
        return sorted(
            (
                each
                for each in self._backups.values()
                if each.namespace == namespace and table_name in (None, each.table_name)
            ),
            key=lambda each: each.id,
        )

    def status(self, backup: Backup) -> str:
        """Returns the status now. Short transitions are skipped, as in the catalog."""
        transition_ns = self._catalog.tables.transition_ns
        skipped = transition_ns <= SHORT_TRANSITION_MS_MAX * 1_000_000
        if not skipped and self._clock.now_ns() < backup.created_ns + transition_ns:
            return "CREATING"
        return backup.status

    def done_bytes(self, backup: Backup) -> int | None:
        """Returns the progress of a backup that is being made; None: it is complete."""
        if backup.status == "AVAILABLE":
            return None
        writer = self._writer
        return writer.size_bytes if writer is not None and writer.backup.id == backup.id else 0

    # --- Beginning and deleting ---

    async def begin(self, table: Table, name: str) -> Backup:
        """Begins a backup of the table's present state.

        Raises BackupInUseException while another one of the table is being made; LimitExceededException when
        the disk has too little space; ValidationException without a place for backups.
        """
        if isinstance(self.storage, NoBackupStorage):
            raise ValidationException(self.storage.reason)
        for each in self._backups.values():
            if each.table["table_id"] == table.state.table_id and each.status == "CREATING":
                raise BackupInUseException(f"Backup is being created for the table: {table.name}")
        items, size_bytes = await usage_of(self._store, table)
        free = self.storage.free_bytes()
        if free is not None and free < size_bytes:
            raise LimitExceededException(
                f"No room for the backup: the table has {size_bytes} bytes, the disk has {free} left"
            )
        backup = replace(self._new(table, name, "USER"), items=items, size_bytes=size_bytes)
        if self._store.shared:  # the node that runs the job takes a snapshot
            await self._store_row(backup)
            return backup
        snapshot = await self._store.snapshot()
        self._snapshots[backup.id] = snapshot
        try:
            await self._store_row(backup)
        except BaseException:
            self._snapshots.pop(backup.id, None)
            await snapshot.close()
            raise
        return backup

    async def of_deleted(self, table: Table) -> Backup | None:
        """Returns the system backup of a table that is being deleted; None without a place for backups.

        `Catalog.delete` includes its `batch_of` in the commit, and then calls `put`.
        """
        if isinstance(self.storage, NoBackupStorage):
            log.warning("table %s is deleted without a system backup: %s", table.name, self.storage.reason)
            return None
        items, size_bytes = await usage_of(self._store, table)
        backup = self._new(table, table.name + SYSTEM_SUFFIX, "SYSTEM")
        expires_ns = backup.created_ns + SYSTEM_BACKUP_LIFETIME_S * 1_000_000_000
        return replace(backup, items=items, size_bytes=size_bytes, expires_ns=expires_ns, holds_rows=True)

    def _new(self, table: Table, name: str, kind: str) -> Backup:
        now_ns = self._clock.now_ns()
        return Backup(
            backup_id(now_ns, self._entropy.token_bytes(4)), name, kind, now_ns, table.state.to_json()
        )

    def batch_of(self, backup: Backup) -> Batch:
        """Returns the batch that stores a backup's row."""
        return self._rows.batch([(backup.key, orjson.dumps(backup.to_json()))])

    def put(self, backup: Backup) -> None:
        """Puts a stored backup into memory."""
        self._backups[backup.id] = backup
        sealing = backup.state.sealing
        if sealing is not None and backup.holds_rows:
            self._catalog.sealers.attach(_rows_owner(backup), sealing, (backup.state.resource,))

    async def opener(self, backup: Backup) -> Sealer | None:
        """Returns what seals and opens the blocks of a backup, until `release`; None: they are not sealed.

        Raises KeyDenied.
        """
        sealing = backup.state.sealing
        if sealing is None or not sealing.enabled:
            return None
        sealer = self._catalog.sealers.attach(_blocks_owner(backup), sealing, ())
        await self._catalog.sealers.ready(sealer)
        return sealer

    def release(self, backup: Backup) -> None:
        self._catalog.sealers.forget(_blocks_owner(backup))

    async def _store_row(self, backup: Backup) -> None:
        self.put(backup)
        await self._rows.commit(self.batch_of(backup))

    async def delete(self, backup: Backup) -> None:
        """Deletes a backup. Raises BackupInUseException, BackupStorageError."""
        if self.status(backup) == "CREATING" or self.being_restored(backup):
            doing = "used to restore table" if self.being_restored(backup) else "created"
            raise BackupInUseException(f"Backup is being {doing}: {backup.arn}")
        await self._forget(backup)

    def being_restored(self, backup: Backup) -> bool:
        return any(
            table.state.restored is not None and table.state.restored.backup == backup.id
            for table in self._catalog.tables.owned_by("restore")
        )

    async def _forget(self, backup: Backup) -> None:
        self._backups.pop(backup.id, None)
        await run_blocking(self.storage, self.storage.remove, backup.id)
        await self._rows.commit(self._rows.batch([], [backup.key]))

    # --- The background job ---

    async def step(self) -> bool:
        """Runs one bounded step: writes a backup, clears rows of a deleted table, deletes an expired one."""
        return await self._attempts.step(self._works())

    def _works(self) -> Iterator[Work]:
        """Yields what is to be done, first of the backup that is being written."""
        writing = None if self._writer is None else self._writer.backup.id
        now_ns = self._clock.now_ns()
        for backup in sorted(self._backups.values(), key=lambda each: each.id != writing):
            is_over = backup.expires_ns is not None and now_ns >= backup.expires_ns
            if backup.status == "CREATING":
                # The rows of a deleted table exist nowhere else, so its backup is never given up.
                give_up = None if backup.holds_rows else partial(self._abandon, backup)
                step, undo = partial(self._make, backup), partial(self._undo, backup)
                name = f"backup {backup.id} of table {backup.table_name}"
                yield Work(name, step, give_up, undo, (BackupStorageError, KeyDenied))
            elif backup.holds_rows:
                yield Work(f"rows of backup {backup.id}", partial(self._leave_rows, backup))
            elif is_over and not self.being_restored(backup):
                yield Work(f"end of backup {backup.id}", partial(self._forget, backup))

    async def _make(self, backup: Backup) -> None:
        """Begins to write a backup, or writes a piece of it."""
        writer = self._writer
        if writer is None or writer.backup.id != backup.id:
            self._writer = await self._writer_of(backup)
            return
        complete = await writer.step()
        if complete is None or self._writer is not writer:
            return
        self._writer = None
        self.release(backup)
        await self._close_snapshot(backup)
        await self._store_row(complete)
        log.info("backup %s of table %s has %d items", backup.id, backup.table_name, complete.items)

    async def _writer_of(self, backup: Backup) -> BackupWriter:
        """Raises KeyDenied."""
        source: ReadOnlyStore = self._store
        taken_ns = backup.created_ns
        if not backup.holds_rows:
            snapshot = self._snapshots.get(backup.id)
            if snapshot is None:  # lost in a crash
                snapshot = self._snapshots[backup.id] = await self._store.snapshot()
                taken_ns = self._clock.now_ns()
            source = snapshot
        return BackupWriter(self.storage, source, backup, taken_ns, await self.opener(backup))

    async def _undo(self, backup: Backup) -> None:
        """Ends a failed attempt."""
        self._writer = None
        self.release(backup)
        if self._store.shared:  # the snapshot may be lost with its connection
            await self._close_snapshot(backup)
        try:
            await run_blocking(self.storage, self.storage.remove, backup.id)
        except BackupStorageError as error:
            log.error("the files of an unfinished backup remain: %s", error)

    async def _abandon(self, backup: Backup, reason: Exception) -> None:
        log.error("the backup of table %s is abandoned: %s", backup.table_name, reason)
        await self._close_snapshot(backup)
        self._backups.pop(backup.id, None)
        await self._rows.commit(self._rows.batch([], [backup.key]))

    async def _leave_rows(self, backup: Backup) -> None:
        await self._clear_rows(backup)
        await self._store_row(replace(backup, holds_rows=False))

    async def _close_snapshot(self, backup: Backup) -> None:
        snapshot = self._snapshots.pop(backup.id, None)
        if snapshot is not None:
            await snapshot.close()

    async def _clear_rows(self, backup: Backup) -> None:
        if backup.holds_rows:
            for part in backup.parts:
                await self._store.clear(part)
            self._catalog.sealers.forget(_rows_owner(backup))


def _blocks_owner(backup: Backup) -> str:
    return f"backup {backup.id}"


def _rows_owner(backup: Backup) -> str:
    return f"rows of backup {backup.id}"


def _backup_of(manifest: Mapping[str, Any]) -> Backup:
    """Returns the backup of a manifest. Raises Damaged for one that this release cannot read."""
    try:
        backup = Backup.from_json(manifest["backup"])
        TableState.from_json(backup.table)
    except (KeyError, TypeError) as error:
        raise Damaged(f"manifest.json has content that this release does not know: {error}") from error
    return backup


async def usage_of(store: ReadOnlyStore, table: Table) -> tuple[int, int]:
    """Returns (items, bytes) of a table, as in DescribeTable."""
    used = [await store.usage(part) for part in table.placement.parts]
    return sum(items for items, _ in used), sum(size for _, size in used)
