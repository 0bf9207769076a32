"""The storage interface: the contract between engines and the layers above.

An engine stores *rows* in *parts*. A part is a short opaque name (1 to 255 bytes) of one slot of a table or
an index, or of system data; inside a part, keys are ordered as unsigned bytes. Each part also has a *log*
(entries numbered 1, 2, 3, ... without a gap) and a *usage* (two running sums).

Every engine guarantees:

1. A commit is all or nothing over all its batches, whatever parts they name: checks, puts, deletes,
   log entries, usage and epochs. It returns once it will survive a crash.
2. Versions are unique, and rise in each part. All rows that one commit writes to one part have one version.
   A version is never given twice: not after a delete, not after a `clear`, not after a reopen. 0 stands for
   "absent" in checks and is no row's version. Callers only compare versions for equality.
3. What a read returns is still true after a crash: a read of something newer than the disk waits for the
   disk. `for_update` skips that wait, because the commit that follows waits anyway; a caller that then
   answers without a commit calls `wait_durable`.
4. One call sees one state: `get`, `range`, `log` and `read_many`, unless it is loose, are consistent views.
5. A log entry appears together with its commit, and never before the entries numbered below it.
6. Long jobs can commit without waiting for the disk (`durable=False`). After a crash every durable commit
   exists, and of the others those up to some moment: each whole, none without those before it. So nothing
   durable may rely on one that is not, until `flush` has returned. A part's usage and log are safe: when
   such a commit has changed them, the next durable commit that changes them also waits for it.
   Engines behind a network commit durably: there `flush` and `wait_durable` have nothing to wait for.

An engine is *shared* if several processes may use one store at a time. A shared engine guarantees as well:

7. Every part has an *epoch*, 0 at first, which `clear` keeps. A commit or a read that names an epoch for a
   part (`Batch.epoch`, `epoch=`) raises Stale, and does nothing, unless the part has it; a commit sets a new
   one with `Batch.fence`. So a process whose definition of a table is old can neither read nor write the
   table, from the moment of the commit that has changed it. Engines of one process ignore epochs.
8. A commit that raises Unknown may have been made, may still be made, or may not.

A store belongs to one thread (one event loop) at a time; coroutines of that thread may overlap freely.
`faradisc.storage.immediate.run` runs the coroutines of an engine that never suspends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict

from faradisc import errors
from faradisc.records import dataclass, field

Part = bytes
"""Name of a part: 1 to PART_BYTES_MAX bytes, opaque. No part contains another, whatever its name."""

Row = tuple[int, bytes]
"""(version, payload); the version is at least 1."""

PART_BYTES_MAX = 255

HOME_PREFIX = bytes(4)
"""A store can have several places, each of which can be away without the others. Parts whose names have the
same first 4 bytes are at one place, or by their fifth byte at several; those with this prefix are at the
first, except `companion` parts. Where a new part is put depends on the other parts of its first commit."""
COMPANION_PREFIX = HOME_PREFIX + b"\x01"


def companion(place: int) -> Part:
    """Returns the part for rows of the system that belong beside parts of a place."""
    return COMPANION_PREFIX + (bytes([place]) if place else b"")


EMBEDDED_SLOTS = 4
NETWORKED_SLOTS = 16
"""`Store.slots` of engines in this process, and behind a network. Tables keep the number they were made
with."""


Keys = Sequence[tuple[Part, bytes]]
Epochs = Mapping[Part, int] | None
"""That parts must have; a part that is missing may have any."""


@dataclass(slots=True)
class Batch:
    """The changes of one commit to one part.

    A key appears at most once among the puts and deletes of a part in one commit. Deleting an absent key does
    nothing. Checks compare with the state before the commit.
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
    epoch: int | None = None
    """The epoch that the part must have before the commit; None: any."""
    fence: int | None = None
    """The epoch that the part gets."""

    def check_bytes(self) -> None:
        """Raises TypeError for what RocksDB would not store, in the other engines too."""
        for key, payload in self.puts:
            if type(key) is not bytes or type(payload) is not bytes:
                raise TypeError("keys and payloads are bytes")
        for entry in self.log:
            if type(entry) is not bytes:
                raise TypeError("log entries are bytes")


class Batches(dict[Part, Batch]):
    """The batches of one commit by part; each is created when first needed."""

    __slots__ = ()

    def __missing__(self, part: Part) -> Batch:
        batch = self[part] = Batch(part)
        return batch

    def join(self, batch: Batch) -> None:
        """Adds a batch to what there is of its part. Requires: it has no epoch, and other keys."""
        if self.setdefault(batch.part, batch) is batch:
            return
        assert batch.epoch is None and batch.fence is None, "the part has its own"
        present = self[batch.part]
        for name in ("checks", "puts", "deletes", "log"):
            getattr(present, name).extend(getattr(batch, name))
        present.items_delta += batch.items_delta
        present.bytes_delta += batch.bytes_delta


@dataclass(slots=True, frozen=True)
class Conflict:
    """A commit without effect: the first check that failed, and the version found instead."""

    part: Part
    key: bytes
    found: int


class GetOptions(TypedDict, total=False):
    """How `RowReads.get` reads, for those that pass it on."""

    for_update: bool
    stale_ok: bool
    epoch: int | None


class RowReads(Protocol):
    """What has rows in parts."""

    async def get(
        self,
        part: Part,
        keys: Sequence[bytes],
        *,
        for_update: bool = False,
        stale_ok: bool = False,
        epoch: int | None = None,
    ) -> list[Row | None]:
        """Returns the rows of `keys`, in their order; None where absent. Raises Stale.

        for_update: a commit with checks on these rows follows; rows not yet on disk can be returned.
        stale_ok: an older state is sufficient; engines with replicas can use one, others ignore it.
        epoch: that the part must have; None: any.
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
        epoch: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        """Returns rows with lo <= key < hi (None: no bound), ascending, or descending when `reverse`.
        Raises Stale.

        Stops after `limit` rows (at least 1), or after the row that takes the sum of payload bytes above
        `max_bytes`; that row is included, so a page is empty only at the end of the range.
        """
        ...


class ReadOnlyStore(RowReads, Protocol):
    """One fixed state of a store, independent of later commits. Close it to free its space."""

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        """Returns rows of any parts, as one consistent view. Raises Stale.

        loose: on a store that `is_loose`, rows of different parts may be of different moments. For commits
        that check all of them.
        """
        ...

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Returns (sequence, entry) of the next `limit` entries numbered above `after`, ascending."""
        ...

    async def usage(self, part: Part) -> tuple[int, int]:
        """Returns (items, bytes): the sums of all deltas since the part was created or cleared."""
        ...

    async def parts(self) -> list[tuple[Part, int]]:
        """Returns every part that is not empty, by name, with the last number of its log (0: none).

        A part is empty without rows, log entries and numbers, and with a usage of zero. Costs some reads per
        part: for jobs that read a whole store, not for requests.
        """
        ...

    async def close(self) -> None:
        """Releases all resources. A second call does nothing; any other use then raises Closed."""
        ...


class Store(ReadOnlyStore, Protocol):
    @property
    def is_loose(self) -> bool:
        """Whether rows of many parts cost more if they have to be of one moment: read_many(loose=True)."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other processes may use this store at the same time."""
        ...

    @property
    def slots(self) -> int:
        """Number of parts for the rows of a new table or index: a power of two. Commits to one part wait for
        each other in engines that lock parts."""
        ...

    async def now_ns(self) -> int | None:
        """Returns the time of the store in nanoseconds since the epoch: one clock for all processes. None if
        it has no clock, because its processes have the same."""
        ...

    @property
    def failure(self) -> errors.StorageError | None:
        """Returns why the store rejects every write until it is opened again; None if it does not."""
        ...

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        """Applies all batches or, when a check fails, none. Returns when durable.

        durable: False returns at once, without the cost of a log; for a job that can repeat its work.

        Returns one number per batch: the last log sequence of its part after that batch (0 while the log was
        never written), so its k entries have the numbers last-k+1 .. last.

        Raises: Full, IOFailed, Closed, Stale, Unknown. After a failed write or sync the state of the files is
        unknown, so an engine with files rejects every further write until it is opened again.
        """
        ...

    async def flush(self) -> None:
        """Waits until every commit made so far is on disk, including those that were not durable.

        Can write megabytes: for the end of a job, not for requests. Raises: Full, IOFailed, Closed.
        """
        ...

    async def wait_durable(self, version: int) -> None:
        """Waits until every durable commit up to `version` is on disk; 0 means every one made so far.

        For answers from rows read `for_update` that no commit followed (0 for an absent row: its deletion
        may not be on disk yet).
        """
        ...

    async def trim(self, part: Part, before: int) -> None:
        """Deletes log entries numbered below `before`. Numbering continues.

        Does not wait for the disk: after a crash trimmed entries can exist again.
        """
        ...

    async def clear(self, part: Part) -> None:
        """Deletes a part: rows, log, usage. The cost is independent of its size. Returns when durable.

        Its log numbers start again from 1. Its epoch stays.
        """
        ...

    async def sweep(self) -> bool:
        """Deletes some rows of cleared parts, in engines whose `clear` leaves them to a background job.

        Returns whether there were any.
        """
        ...

    async def snapshot(self) -> ReadOnlyStore:
        """Returns the current state, all of it on disk. It is closed with the store at the latest.

        A shared engine may lose it, for example in a failover: reads then raise IOFailed, and the job that
        used it starts again.
        """
        ...


class Stale(errors.StorageError):
    """A part has another epoch than the caller's. Nothing was done: read the definition again and repeat."""


class Unknown(errors.StorageError):
    """A commit whose outcome is not known: the connection was lost before its answer."""


class Fenced(errors.StorageError):
    """This process may not acknowledge writes: another one has taken over, or may have."""


class Full(errors.StorageError):
    """No space left on the disk. Free some, then open the store again."""


class Corruption(errors.StorageError):
    """Stored bytes differ from what was written, or are no store. A retry does not help."""


class IOFailed(errors.StorageError):
    """A read, a write or a sync failed in the operating system. Open the store again to continue."""


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


async def all_rows(store: ReadOnlyStore, part: Part) -> list[tuple[bytes, Row]]:
    """Returns all rows of a part that is small enough to be in memory, by key."""
    found: list[tuple[bytes, Row]] = []
    while rows := await store.range(part, found[-1][0] + b"\x00" if found else None, None, limit=1000):
        found += rows
    return found
