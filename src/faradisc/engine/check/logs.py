"""Checks the logs of streams, which are resources of their own: they outlive their tables' settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from faradisc.engine.check.inventory import Inventory, stream_name
from faradisc.engine.derived.streams import ENTRIES_LOST, LogWalk, checked_entries
from faradisc.engine.inspection.problems import LOST, Problem, Report
from faradisc.engine.streams.stream import StreamState
from faradisc.model.codec.keyspace import parts_of, slot_shift
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import ReadOnlyStore


async def verify_stream(
    store: ReadOnlyStore, state: StreamState, inventory: Inventory, report: Report
) -> AsyncIterator[None]:
    where = stream_name(state)
    tally = report.tally(where, "stream")
    key = KeySchema.of_elements(state.key_schema, state.types)
    report.add_all(_lineage_problems(where, state, inventory))
    for slot, part in enumerate(parts_of(state.resource, state.slots)):
        walk = LogWalk(where, slot, state.slots, key)
        counter = inventory.counter(part)
        ends = {each.last for each in state.shards if each.slot == slot}
        async for entries in checked_entries(store, walk, part, counter, tally=tally, report=report):
            report.add_all(
                Problem(
                    where,
                    "a shard ends without the entry that closes it",
                    ENTRIES_LOST,
                    f"slot {slot}, {sequence}",
                )
                for sequence, entry in entries
                if sequence in ends and entry[1:2] != b"\x00"
            )
            yield


def _lineage_problems(where: str, state: StreamState, inventory: Inventory) -> Iterator[Problem]:
    """Checks that children follow their parents, and that the open shards cover every slot once."""
    if not state.shards:
        yield Problem(where, "it has no shards", LOST)
        return
    parts = parts_of(state.resource, state.slots)
    by_id = {shard.id: shard for shard in state.shards}
    for shard in state.shards:
        parent = by_id.get(shard.parent_id or "")
        if parent is not None and not (
            parent.slot == shard.slot
            and parent.last == shard.first - 1
            and parent.ended_ns == shard.began_ns
            and parent.low <= shard.low
            and (parent.high is None or (shard.high is not None and shard.high <= parent.high))
        ):
            yield Problem(where, "a shard does not follow its parent", LOST, shard.id)
        if (
            inventory.lists_parts
            and shard.slot < state.slots
            and shard.first > inventory.parts.get(parts[shard.slot], 0) + 1
        ):
            yield Problem(where, "a shard begins after the end of its log", ENTRIES_LOST, shard.id)
    open_ = sorted((each for each in state.shards if each.last is None), key=lambda each: each.low)
    ranges = [(shard.low, shard.high) for shard in open_]
    shift = slot_shift(state.slots)
    if [b"", *(high for _, high in ranges)] != [*(low for low, _ in ranges), None] or any(
        each.slot != int.from_bytes(each.low[:1], "big") >> shift for each in open_
    ):
        yield Problem(where, "its open shards do not cover all items once, each in its slot", LOST)
