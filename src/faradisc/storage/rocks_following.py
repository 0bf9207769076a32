"""A store that follows another one: it has no writer but the commits of that store, as they come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocksdict import WriteBatch

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Corruption
from faradisc.storage.format import unwritable
from faradisc.storage.rocks import RocksStore
from faradisc.storage.rocks_files import open_files, translated
from faradisc.storage.rocks_log import Commit, keys_of, replay
from faradisc.storage.rocks_view import ROW
from faradisc.storage.sync_record import SyncRecord

_SYSTEM = bytes(4)
"""First bytes of the names of the system's parts."""


class Following(StorageError):
    """A write to a store that follows another one."""


class FollowingStore(RocksStore):
    """Reads of a copy. Open it with `open_following`."""

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        raise Following("This server follows a copy: writes go to its primary.")

    def apply(self, commits: Sequence[Commit]) -> bool:
        """Applies commits as they were made, and syncs. Returns whether rows of the system changed, which
        others keep in memory. Raises StorageError.

        Requires: the first one continues this store's sequence numbers.
        """
        self._seen.clear()
        self._parts.clear()
        system = False
        try:
            for commit in commits:
                write = WriteBatch(raw_mode=True)
                replay(commit, write)
                self._db.write(write)
                system = system or any(key[:1] == ROW and key[2:6] == _SYSTEM for key in keys_of(commit))
            if commits:
                last = commits[-1].last
                if self._db.latest_sequence_number() != last:
                    raise Corruption("the store does not continue where its copy does")
                self.disk.follow(last)
        except Exception as error:
            raise translated(error) from error
        return system


def open_following(directory: Path) -> FollowingStore:
    """Opens the store that `restore` has made in a directory. Raises StorageError."""
    db = open_files(directory, keep_log=True)
    try:
        record = SyncRecord(directory)
    except OSError as error:
        db.close()
        raise unwritable(directory, error) from error
    return FollowingStore(db, "inline", record=record, log_all=True)
