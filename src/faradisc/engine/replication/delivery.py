"""Applies what one replica has written to another, through the one write path.

The log of a slot (engine/derived/replication.py) is read from a cursor per target, which moves in the commit
that applies the writes: nothing is lost or applied twice. The last writer wins, so writes may arrive in any
order of regions. A write costs the target what a client's would; when the target has no throughput left, it
waits. A log is trimmed up to where all targets are.

The cursor of a source's slot is a row of the first part of the target's own replication, whose key is shorter
than any row key, and whose payload is the number of the last entry (8 bytes). What a target at another server
has said to have is a row of the source in the same way. Keys:

    source in this store      00, resource of its replication (4 bytes), slot (1 byte)
    at another server         01, hash of its region and table id (12 bytes), slot (1 byte)
    target there              02, hash of its region and when it was added (12 bytes), slot (1 byte)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from hashlib import sha256
from typing import NamedTuple

from faradisc.clock import Clock
from faradisc.engine.derived.replication import (
    Replication,
    Sent,
    Superseded,
    parse_sent,
    replication_of,
    stamp_of,
)
from faradisc.engine.replication.links import Link, Links
from faradisc.engine.tables.change import Change, CollectionsFull, evaluate
from faradisc.engine.tables.charging import charge_write, charges_of, note_replicated
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.images import read_images
from faradisc.engine.tables.replicas import Replica
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import ROUNDS_MAX, pause_after_conflict
from faradisc.metrics.metric_store import dimensions
from faradisc.model.codec.keyspace import key_of_row
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Store

ENTRIES_PER_STEP = 100
"""Writes of one commit; each may have an item of 400 KB."""
ROUNDS_OF_ARRIVALS = 3
"""Rounds of one commit. After them its cursors are read again: another node may have moved them."""
_EVERYWHERE = 1 << 62
"""Above the number of every log entry."""


class Arrival(NamedTuple):
    """A write of another replica. An empty record deletes the item."""

    key: Item
    record: bytes
    stamp: bytes
    row_key: bytes = b""
    """Of the item in the target, where it is known."""


class Applied(NamedTuple):
    done: int
    """The arrivals up to this one are done."""
    superseded: int
    """How many of them were older than the item."""


async def apply_arrivals(
    store: Store, table: Table, arrivals: Sequence[Arrival], also: Callable[[int], Batch], *, charged: bool
) -> Applied:
    """Applies writes to different items of a replica in one commit, in order, up to one that is throttled.

    also: returns what is committed with a number of them. charged: whether they use throughput.
    """
    paid = 0 if charged else len(arrivals)
    for _ in range(ROUNDS_OF_ARRIVALS):
        table = table.newest
        replication = replication_of(table)
        if replication is None or table.state.status == "DELETING":
            break
        changes = [
            Change(table, each.key, each.record or None, stamp=each.stamp, row_key=each.row_key)
            for each in arrivals
        ]
        locks = table.locks
        async with nullcontext() if locks is None else locks.held([each.location for each in changes]):
            rows = await replication.stamps(store, [change.row_key for change in changes])
            fresh = [
                at
                for at, (row, arrival) in enumerate(zip(rows, arrivals, strict=True))
                if row is None or row[1] < arrival.stamp
            ]
            images = await read_images(store, [changes[at] for at in fresh])
            outcomes = [evaluate(changes[at], old) for at, old in zip(fresh, images, strict=True)]
            count = len(arrivals)
            for at, outcome in zip(fresh, outcomes, strict=True):
                if at >= paid:
                    if charge_write(outcome) is not None:
                        count = at
                        break
                    note_replicated(charges_of(outcome))
                    paid = at + 1
            admitted = [outcome for at, outcome in zip(fresh, outcomes, strict=True) if at < count]
            if not count:
                break
            try:
                if await commit_outcomes(store, admitted, also=also(count), check_all=True):
                    return Applied(count, count - len(admitted))
            except Superseded:
                continue  # a client has written meanwhile, through another node
            except CollectionsFull:
                break  # as without throughput: it waits until there is room
    return Applied(0, 0)


class Origin(NamedTuple):
    """Where entries of a log come from, and the rows of the target that say which of them it has."""

    link: Link
    cursors: Sequence[bytes]
    """The key of the cursor of each slot."""


class SlotEntry(NamedTuple):
    """An entry of the log of one slot."""

    slot: int
    number: int
    sent: Sent


class Delivered(NamedTuple):
    """What one pass has done."""

    reached: list[int]
    """Per slot the number of the last entry that the target has."""
    late_ms: list[float]
    """Of each write that was applied: the time since it was made."""
    superseded: int


def _local(source: Replication, link: Link) -> Origin:
    resource = source.resource.to_bytes(4, "big")
    return Origin(link, [b"\x00" + resource + bytes([slot]) for slot in range(len(source.slot_parts))])


def distant_origin(link: Link, table_id: str, slots: int) -> Origin:
    """Returns the origin of entries that come from another server."""
    digest = sha256(f"{link[0]} {table_id}".encode()).digest()[:12]
    return Origin(link, [b"\x01" + digest + bytes([slot]) for slot in range(slots)])


def reported_by(replica: Replica, slots: int) -> list[bytes]:
    """Returns the keys of the rows of a source that say what a replica of another server has got."""
    digest = sha256(f"{replica.region} {replica.since_ns}".encode()).digest()[:12]
    return [b"\x02" + digest + bytes([slot]) for slot in range(slots)]


async def reported(store: Store, source: Replication, replica: Replica) -> list[int]:
    """Returns per slot the number of the last entry that a replica of another server has said to have."""
    rows = await store.get(source.slot_parts[0], reported_by(replica, len(source.slot_parts)))
    return [0 if row is None else int.from_bytes(row[1], "big") for row in rows]


async def positions(store: Store, origin: Origin, into: Replication) -> list[tuple[int, int]]:
    """Returns per slot the number of the last entry that a target has, and the version of its cursor."""
    rows = await store.get(into.slot_parts[0], origin.cursors, for_update=True)
    return [(0, 0) if row is None else (int.from_bytes(row[1], "big"), row[0]) for row in rows]


class ReplicaDelivery:
    def __init__(self, store: Store, clock: Clock, links: Links) -> None:
        self._store = store
        self._clock = clock
        self.links = links
        self._passing: dict[tuple[int, int], asyncio.Lock] = {}
        """By source and target. A request that catches up takes turns with the background job."""
        self._turn = 0
        """Which slot is the first one of a commit: so that none waits for ever."""

    async def step(
        self, table: Table, targets: Sequence[Table | None], elsewhere: Sequence[Replica] = ()
    ) -> bool:
        """Delivers some of what a replica has written; returns False if nothing could be done, or is left: a
        server then lets some writes come together before it delivers again.

        targets: the other replicas here; None for one that does not exist yet. elsewhere: those of other
        servers.
        """
        source = replication_of(table)
        if source is None or not any(source.pending):
            return False
        busy = False
        reached = [_EVERYWHERE] * len(source.slot_parts)
        for replica in elsewhere:
            reached = list(map(min, reached, await reported(self._store, source, replica)))
        for target in targets:
            into = None if target is None else replication_of(target)
            if target is None or into is None:
                reached = [0] * len(reached)
                continue
            has = await self.has(table, target)
            if not self.links.is_cut((table.state.region, target.state.region)):
                before, has = has, await self._pass(source, table, target, into)
                busy = busy or has != before
            reached = list(map(min, reached, has))
        for slot, part in enumerate(source.slot_parts):
            if not source.pending[slot]:
                continue
            if reached[slot] == _EVERYWHERE:  # nobody is to have it
                entries = await self._store.log(part, 0, ENTRIES_PER_STEP)
                reached[slot] = entries[-1][0] if entries else 0
            if reached[slot]:
                await self._store.trim(part, reached[slot] + 1)
            source.pending[slot] = source.shared
            if await self._store.log(part, reached[slot], 1):
                source.pending[slot] = True
        return busy and any(source.pending)

    async def has(self, table: Table, target: Table) -> list[int]:
        """Returns per slot the number of the last entry of a replica that another one has."""
        source, into = replication_of(table), replication_of(target)
        if source is None or into is None:
            return []
        origin = _local(source, (table.state.region, target.state.region))
        return [number for number, _ in await positions(self._store, origin, into)]

    async def catch_up(self, table: Table, target: Table, keys: Sequence[Item] | None) -> bool:
        """Delivers what a replica has written to another one, at once and without asking for throughput;
        returns False if something is left.

        keys: of the items that are wanted, which other items of their slots come with; None: all.
        """
        source, into = replication_of(table), replication_of(target)
        if source is None or into is None:
            return True
        parts, row_key = source.slot_parts, table.placement.row_key
        wanted = set(parts) if keys is None else {source.part_of(row_key(key)) for key in keys}
        slots = [slot for slot, part in enumerate(parts) if part in wanted and source.pending[slot]]
        if not slots:
            return True
        origin = _local(source, (table.state.region, target.state.region))
        vain = 0
        while vain < ROUNDS_MAX:
            at = [number for number, _ in await positions(self._store, origin, into)]
            for slot in slots:
                if await self._store.log(parts[slot], at[slot], 1):
                    break
            else:
                return True
            if at == await self._pass(source, table, target, into, urgent=slots):
                await pause_after_conflict(vain)  # another node delivers the same entries
                vain += 1
        return False

    async def _pass(
        self,
        source: Replication,
        table: Table,
        target: Table,
        into: Replication,
        *,
        urgent: Sequence[int] | None = None,
    ) -> list[int]:
        """Applies the next entries of a replica to another one; returns per slot the number of the last one
        that it has. urgent: only those of some slots, without delay, and without asking for throughput."""
        origin = _local(source, (table.state.region, target.state.region))
        async with self._passing.setdefault((source.resource, into.resource), asyncio.Lock()):
            at = await positions(self._store, origin, into)
            entries: list[SlotEntry] = []
            slots = len(source.slot_parts)
            first = self._turn = self._turn + 1  # another pass may take its turn meanwhile
            for slot in ((first + each) % slots for each in range(slots)):
                room = ENTRIES_PER_STEP - len(entries)
                if source.pending[slot] and room and (urgent is None or slot in urgent):
                    found = await self._store.log(source.slot_parts[slot], at[slot][0], room)
                    entries += self.due(origin.link, slot, found, urgent=urgent is not None)
            done = await self.apply(target, origin, at, entries, urgent=urgent is not None)
        traffic = self.links.of(table.arn, origin.link)
        traffic.delivered += len(done.late_ms)
        traffic.superseded += done.superseded
        note_latency(table, origin.link[1], self._clock.now_ns(), done.late_ms)
        return done.reached

    def due(
        self, link: Link, slot: int, entries: Sequence[tuple[int, bytes]], *, urgent: bool = False
    ) -> list[SlotEntry]:
        """Returns those of the next entries of a slot that can be applied together: up to the first that is
        under way still, or is of an item of another one. urgent: none is under way."""
        found: list[SlotEntry] = []
        seen: set[bytes] = set()
        now_ns = self._clock.now_ns()
        for number, entry in entries:
            sent = parse_sent(entry)
            delay_ns = 0 if urgent else self.links.delay_ns(link, slot, number)
            if sent.row_key in seen or (delay_ns and now_ns < sent.at_ns + delay_ns):
                break
            seen.add(sent.row_key)
            found.append(SlotEntry(slot, number, sent))
        return found

    async def apply(
        self,
        target: Table,
        origin: Origin,
        at: Sequence[tuple[int, int]],
        entries: Sequence[SlotEntry],
        *,
        urgent: bool = False,
    ) -> Delivered:
        """Applies entries of different items, and moves the cursors in the same commit.

        at: the positions before it. Where the first write has to wait for throughput or room, those of other
        slots do not.
        """
        done = Delivered([number for number, _ in at], [], 0)
        if not entries:
            return done
        into = replication_of(target)
        assert into is not None, "the target is a replica"
        part, cursors, region = into.slot_parts[0], origin.cursors, origin.link[0]
        stays = not target.hashed_keys
        arrivals = [
            Arrival(
                key_of_row(sent.row_key, target.key),
                sent.record,
                stamp_of(sent.at_ns, region),
                sent.row_key if stays else b"",
            )
            for _, _, sent in entries
        ]

        def moved(count: int) -> Batch:
            last = {slot: number for slot, number, _ in entries[:count]}
            return Batch(
                part,
                checks=[(cursors[slot], at[slot][1]) for slot in last],
                puts=[(cursors[slot], number.to_bytes(8, "big")) for slot, number in last.items()],
            )

        applied = await apply_arrivals(self._store, target, arrivals, moved, charged=not urgent)
        slots = {entry.slot for entry in entries}
        if not applied.done and len(slots) > 1:
            for slot in sorted(slots):
                of_slot = [entry for entry in entries if entry.slot == slot]
                some = await self.apply(target, origin, at, of_slot, urgent=urgent)
                done.reached[slot] = some.reached[slot]
                done.late_ms.extend(some.late_ms)
                done = done._replace(superseded=done.superseded + some.superseded)
            return done
        now_ns = self._clock.now_ns()
        for slot, number, sent in entries[: applied.done]:
            done.reached[slot] = number
            done.late_ms.append(max(now_ns - sent.at_ns, 0) / 1e6)
        return done._replace(superseded=applied.superseded)


def note_latency(table: Table, receiving: str, now_ns: int, late_ms: Sequence[float]) -> None:
    """Adds to ReplicationLatency of a replica that has written, unless it has no such metric (metrics.md)."""
    replication = replication_of(table)
    if replication is not None and not replication.group.strong:
        which = dimensions(TableName=table.name, ReceivingRegion=receiving)
        for each, count in Counter(map(round, late_ms)).items():
            table.meter.registry.metrics.add("ReplicationLatency", which, now_ns, each, count)


async def waiting(store: Store, source: Replication, has: Sequence[int]) -> tuple[int, int | None]:
    """Returns how many writes are to be delivered, and when the oldest of them was made.

    has: per slot the number of the last one that a target has.
    """
    count, oldest = 0, None
    for part, after in zip(source.slot_parts, has, strict=True):
        while entries := await store.log(part, after, ENTRIES_PER_STEP):
            count += len(entries)
            after = entries[-1][0]
            at_ns = parse_sent(entries[0][1]).at_ns
            oldest = at_ns if oldest is None else min(oldest, at_ns)
    return count, oldest
