"""The storage seam: what an engine promises to everything above it.

An engine keeps *rows* in *parts*. A part is a short opaque name (1 to 255 bytes) of one slot of a table
or an index, or of a part of the system's own; inside a part, keys are ordered as unsigned bytes. Each
part also has a *log* (entries numbered 1, 2, 3, ... without a gap) and a *usage* (two running sums).

What holds for every engine:

1. A commit is all or nothing over all its batches, whatever parts they name: checks, puts, deletes,
   log entries and usage. It returns once it will survive a crash.
2. Versions rise store-wide. A row's version is the number of the commit that wrote it, so all rows of
   one commit share it. A version is never given twice: not after a delete, not after a reopen.
   0 stands for "absent" in checks and is no row's version.
3. What a read has shown stays true after a crash: a read that meets something newer than the disk
   waits for it. `for_update` skips that wait, because the commit that follows waits anyway; who then
   answers without a commit calls `wait_durable`.
4. One call sees one state: `get`, `range`, `read_many` and `log` are each a consistent view.
5. A log entry appears together with its commit, and never before the entries numbered below it.
6. Long jobs may commit without waiting for the disk (`durable=False`). After a crash every durable commit
   is there, and of the others those up to some moment: each whole, none without those before it. So nothing
   durable may rely on one that is not, until `flush` has returned. A part's usage and log never do: where
   such a commit has changed them, the next durable one to change them takes it along to the disk.

A store belongs to one thread (one event loop) at a time; coroutines of that thread may overlap freely.
Where an engine says that it never suspends, `faradisc.storage.immediate.run` drives its coroutines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from faradisc import errors

Part = bytes
"""Name of a part: 1 to PART_BYTES_MAX bytes, opaque. No part contains another, whatever its name."""

Row = tuple[int, bytes]
"""(version, payload); the version is at least 1."""

PART_BYTES_MAX = 255


@dataclass(slots=True)
class Batch:
    """What one commit does to one part.

    A key stands at most once among the puts and deletes of a part in one commit. Deleting an absent
    key does nothing. Checks compare with the state before the commit.
    """

    part: Part
    checks: list[tuple[bytes, int]] = field(default_factory=list)
    """(key, version it must have now; 0: it must be absent)."""
    puts: list[tuple[bytes, bytes]] = field(default_factory=list)
    deletes: list[bytes] = field(default_factory=list)
    log: list[bytes] = field(default_factory=list)
    """Appended to the part's log in this order."""
    items_delta: int = 0
    bytes_delta: int = 0
    """Added to the part's usage."""


@dataclass(slots=True, frozen=True)
class Conflict:
    """A commit that did nothing: the first check that failed, and the version found instead."""

    part: Part
    key: bytes
    found: int


class ReadOnlyStore(Protocol):
    """One fixed state of a store, unmoved by later commits. Close it: it holds back space."""

    async def get(
        self, part: Part, keys: Sequence[bytes], *, for_update: bool = False, stale_ok: bool = False
    ) -> list[Row | None]:
        """The rows of `keys`, in their order; None where absent.

        for_update: a commit with checks on these rows follows; may return rows not yet on disk.
        stale_ok: an older state will do; engines with replicas may use one, others ignore it.
        """
        ...

    async def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        """Rows with lo <= key < hi (None: no bound), ascending, or descending when `reverse`.

        Stops after `limit` rows (at least 1), or after the row that takes the sum of payload bytes
        above `max_bytes`; that row is included, so a page is empty only when nothing is left.
        """
        ...

    async def read_many(self, keys: Sequence[tuple[Part, bytes]]) -> list[Row | None]:
        """Rows of any parts, as one consistent view."""
        ...

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        """(sequence, entry) of the next `limit` entries numbered above `after`, ascending."""
        ...

    async def usage(self, part: Part) -> tuple[int, int]:
        """(items, bytes): the sums of all deltas since the part was created or cleared."""
        ...

    async def parts(self) -> list[tuple[Part, int]]:
        """Every part that holds anything, by name, with the last number its log ever gave (0: none).

        A part holds something when it has a row, a log entry, a number given, or a usage that is not zero.
        The cost is some reads per part; for whoever walks a whole store, not for requests.
        """
        ...

    async def close(self) -> None:
        """Release everything held. Closing twice is harmless; any other use then raises Closed."""
        ...


class Store(ReadOnlyStore, Protocol):
    @property
    def failure(self) -> errors.StorageError | None:
        """Why every further write is refused until the store is opened again; None while none is."""
        ...

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        """Apply all batches or, when a check fails, none. Returns when durable.

        durable: False returns at once, without the cost of a log; for a job that can do its work again.

        The answer holds one number per batch: the last log sequence of its part after that batch
        (0 while the log was never written), so its k entries got the numbers last-k+1 .. last.

        Raises: Full, IOFailed, Closed. After a failed write or sync the state of the files is
        unknown, so the store refuses every further write until it is opened again.
        """
        ...

    async def flush(self) -> None:
        """Return once every commit made so far is on disk, those that were not durable among them.

        May write megabytes; for the end of a job, not for requests. Raises: Full, IOFailed, Closed.
        """
        ...

    async def wait_durable(self, version: int) -> None:
        """Wait until every durable commit up to `version` is on disk; 0 means every one made so far.

        Called before answering from rows read `for_update` that no commit followed (0 for an absent
        row: its deletion may not be on disk yet).
        """
        ...

    async def trim(self, part: Part, before: int) -> None:
        """Forget log entries numbered below `before`. Numbering goes on as if they were there.

        Not waited for: after a crash trimmed entries may be back.
        """
        ...

    async def clear(self, part: Part) -> None:
        """Delete a part: rows, log, usage. Cost does not grow with its size. Returns when durable.

        The part is then as if never written, its log numbers start again from 1.
        """
        ...

    async def snapshot(self) -> ReadOnlyStore:
        """The state of this moment, all of it on disk. Closed with the store at the latest."""
        ...


class Full(errors.StorageError):
    """No space left where the data lives. Make room, then open the store again."""


class Corruption(errors.StorageError):
    """Stored bytes are not what was written, or not a store at all. A retry does not help."""


class IOFailed(errors.StorageError):
    """The operating system failed a read, a write or a sync. Open the store again to go on."""


class Closed(errors.StorageError):
    """The store (or the snapshot) was closed before this call. A retry does not help."""

    def __init__(self, message: str = "the store is closed") -> None:
        super().__init__(message)


class InUse(errors.StorageError):
    """Another process owns the directory; a retry helps once that one has ended."""


class NewerFormat(errors.StorageError):
    """The data was written by a later release, in a format this one does not know."""


class Unwritable(errors.StorageError):
    """The data directory cannot be created or written by this user."""
