"""Applies what one replica has written to another, through the one write path.

The log of a slot (engine/derived/replication.py) is read from a cursor per target, which moves in the commit
that applies the writes: nothing is lost or applied twice. The last writer wins, so writes may arrive in any
order of regions. A write costs the target what a client's would; when the target has no throughput left, it
waits. A log is trimmed up to where all targets are.

The cursor of a source's slot is a row of the first part of the target's own replication: zero (1 byte),
resource of the source's replication (4 bytes), slot (1 byte) -> number of the last entry (8 bytes). It is
shorter than any row key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from faradisc.clock import Clock
from faradisc.engine.derived.replication import (
    Replication,
    Superseded,
    parse_sent,
    replication_of,
    stamp_of,
    stamp_time,
)
from faradisc.engine.replication.links import Link, Links
from faradisc.engine.tables.change import Change, CollectionsFull, evaluate
from faradisc.engine.tables.charging import charge_write, charges_of, note_replicated
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.images import read_images
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import ROUNDS_MAX
from faradisc.metrics.metric_store import dimensions
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import key_of_row
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Part, Store

ENTRIES_PER_STEP = 100
"""Writes of one commit; each may have an item of 400 KB."""
_EVERYWHERE = 1 << 62
"""Above the number of every log entry."""


class Arrival(NamedTuple):
    """A write of another replica. An empty record deletes the item."""

    key: Item
    record: bytes
    stamp: bytes


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
    for _ in range(ROUNDS_MAX):
        table = table.newest
        replication = replication_of(table)
        if replication is None or table.state.status == "DELETING":
            break
        changes = [_change(table, arrival) for arrival in arrivals]
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


def _change(table: Table, arrival: Arrival) -> Change:
    record = arrival.record
    return Change(
        table,
        arrival.key,
        item_record.decode(record) if record else None,
        size=item_record.size_of(record) if record else None,
        stamp=arrival.stamp,
    )


def _cursor_key(source: Replication, slot: int) -> bytes:
    return b"\x00" + source.resource.to_bytes(4, "big") + bytes([slot])


async def positions(store: Store, source: Replication, target: Replication) -> list[tuple[int, int]]:
    """Returns per slot the number of the last entry that a target has, and the version of its cursor."""
    keys = [_cursor_key(source, slot) for slot in range(len(source.slot_parts))]
    rows = await store.get(target.slot_parts[0], keys, for_update=True)
    return [(0, 0) if row is None else (int.from_bytes(row[1], "big"), row[0]) for row in rows]


class ReplicaDelivery:
    def __init__(self, store: Store, clock: Clock, links: Links) -> None:
        self._store = store
        self._clock = clock
        self.links = links
        self._passing: dict[tuple[int, int], asyncio.Lock] = {}
        """By source and target. A request that catches up takes turns with the background job."""

    async def step(self, table: Table, targets: Sequence[Table | None]) -> bool:
        """Delivers some of what a replica has written; returns False if nothing could be done.

        targets: the other replicas; None for one that does not exist yet.
        """
        source = replication_of(table)
        if source is None or not any(source.pending):
            return False
        busy = False
        reached = [_EVERYWHERE] * len(source.slot_parts)
        for target in targets:
            into = None if target is None else replication_of(target)
            if target is None or into is None:
                reached = [0] * len(reached)
                continue
            link = (table.state.region, target.state.region)
            for slot, (after, version) in enumerate(await positions(self._store, source, into)):
                last = after
                if source.pending[slot] and not self.links.is_cut(link):
                    last = await self._pass(source, slot, (table, target, into), (after, version))
                busy = busy or last > after
                reached[slot] = min(reached[slot], last)
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
        return busy

    async def catch_up(self, table: Table, target: Table) -> bool:
        """Delivers all that a replica has written to another one, at once and without asking for throughput;
        returns False if something is left."""
        source, into = replication_of(table), replication_of(target)
        if source is None or into is None or not any(source.pending):
            return True
        for slot, part in enumerate(source.slot_parts):
            if not source.pending[slot]:
                continue
            for _ in range(ROUNDS_MAX):  # another node may deliver the same entries
                at = (await positions(self._store, source, into))[slot]
                if not await self._store.log(part, at[0], 1):
                    break
                await self._pass(source, slot, (table, target, into), at, urgent=True)
            else:
                return False
        return True

    async def _pass(
        self,
        source: Replication,
        slot: int,
        tables: tuple[Table, Table, Replication],
        at: tuple[int, int],
        *,
        urgent: bool = False,
    ) -> int:
        """Applies the next entries of a slot; returns the number of the last one that the target has.

        urgent: without delay, and without asking for throughput.
        """
        into = tables[2]
        lock = self._passing.setdefault((source.resource, into.resource), asyncio.Lock())
        async with lock:
            if (await positions(self._store, source, into))[slot] != at:
                return at[0]
            return await self._apply(source, slot, tables, at, urgent=urgent)

    async def _apply(
        self,
        source: Replication,
        slot: int,
        tables: tuple[Table, Table, Replication],
        at: tuple[int, int],
        *,
        urgent: bool,
    ) -> int:
        table, target, into = tables
        after, version = at
        link: Link = (table.state.region, target.state.region)
        now_ns = self._clock.now_ns()
        arrivals: list[Arrival] = []
        numbers: list[int] = []
        seen: set[bytes] = set()
        for number, entry in await self._store.log(source.slot_parts[slot], after, ENTRIES_PER_STEP):
            sent = parse_sent(entry)
            delay_ns = 0 if urgent else self.links.delay_ns(link, slot, number)
            if sent.row_key in seen or (delay_ns and now_ns < sent.at_ns + delay_ns):
                break
            seen.add(sent.row_key)
            key = key_of_row(sent.row_key, target.key)
            arrivals.append(Arrival(key, sent.record, stamp_of(sent.at_ns, link[0])))
            numbers.append(number)
        if not arrivals:
            return after

        def moved(count: int) -> Batch:
            key, part = _cursor_key(source, slot), into.slot_parts[0]
            last = numbers[count - 1].to_bytes(8, "big")
            return Batch(part, checks=[(key, version)], puts=[(key, last)])

        applied = await apply_arrivals(self._store, target, arrivals, moved, charged=not urgent)
        if not applied.done:
            return after
        traffic = self.links.of(table.arn, link)
        traffic.delivered += applied.done
        traffic.superseded += applied.superseded
        if source.group.strong:
            return numbers[applied.done - 1]  # which has no such metric (metrics.md)
        which = dimensions(TableName=table.name, ReceivingRegion=link[1])
        for arrival in arrivals[: applied.done]:
            late_ms = max(now_ns - stamp_time(arrival.stamp), 0) / 1e6
            table.meter.registry.metrics.add("ReplicationLatency", which, now_ns, late_ms)
        return numbers[applied.done - 1]


async def waiting(store: Store, source: Replication, target: Replication) -> tuple[int, int | None]:
    """Returns how many writes are to be delivered, and when the oldest of them was made."""
    count, oldest = 0, None
    parts: Sequence[Part] = source.slot_parts
    for part, (after, _) in zip(parts, await positions(store, source, target), strict=True):
        while entries := await store.log(part, after, ENTRIES_PER_STEP):
            count += len(entries)
            after = entries[-1][0]
            at_ns = parse_sent(entries[0][1]).at_ns
            oldest = at_ns if oldest is None else min(oldest, at_ns)
    return count, oldest
