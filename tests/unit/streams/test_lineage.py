"""Sequence numbers, shard ids and lineage: pure arithmetic."""

from __future__ import annotations

import re
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.partitions import PartitionMap
from faradisc.engine.streams.shards import (
    Shard,
    children,
    first_shards,
    position_of,
    sequence_number,
    shards_of_generations,
    slots_for,
)
from faradisc.model.codec.keyspace import slot_shift

slots = st.integers(0, 255)
sequences = st.integers(0, 2**64)


@given(slots, sequences)
def test_a_sequence_number_can_be_taken_apart(slot: int, sequence: int) -> None:
    number = sequence_number(slot, sequence)
    assert re.fullmatch("[0-9]{25}", number)
    assert position_of(number) == (slot, sequence)


@given(slots, sequences, slots, sequences)
def test_numbers_rise_with_the_sequence_and_differ_between_slots(a: int, m: int, b: int, n: int) -> None:
    assert (int(sequence_number(a, m)) < int(sequence_number(b, n))) == ((m, a) < (n, b))


@given(st.text(max_size=40))
def test_other_texts_are_no_numbers_of_ours(text: str) -> None:
    place = position_of(text)
    assert place is None or sequence_number(*place) == str(int(text))


def bound(hash_: int) -> bytes:
    return hash_.to_bytes(1, "big") + bytes(15)


def test_a_stream_begins_with_a_shard_for_each_partition() -> None:
    shards = first_shards(1_000_000_000, 2, [b"", bound(0x55), bound(0x80), bound(0xAA)], "label")
    assert [(shard.low, shard.high, shard.slot) for shard in shards] == [
        (b"", bound(0x55), 0),
        (bound(0x55), bound(0x80), 0),
        (bound(0x80), bound(0xAA), 1),
        (bound(0xAA), None, 1),
    ]
    assert [shard.id for shard in shards] == sorted({shard.id for shard in shards})
    assert {(shard.first, shard.last, shard.parent_id) for shard in shards} == {(1, None, None)}


@pytest.mark.parametrize(
    ("partitions", "slots"),
    [(1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (12, 4), (40, 8), (1000, 8), (1024, 256)],
)
def test_no_slot_divides_a_partition(partitions: int, slots: int) -> None:
    bounds = PartitionMap(CapacityConfig(), partitions, 0).lows
    assert slots_for(bounds) == slots
    for shard in first_shards(1, slots, bounds, "label"):
        last = (int.from_bytes(shard.high, "big") - 1).to_bytes(16, "big") if shard.high else b"\xff" * 16
        first = shard.low.ljust(16, b"\0")
        assert {key[0] >> slot_shift(slots) for key in (first, last)} == {shard.slot}


def test_uneven_partitions_share_one_slot() -> None:
    assert slots_for([b"", bound(0x30)]) == 1
    assert slots_for([b"", bound(0x30), bound(0x80)]) == 2
    assert slots_for([b"", bound(0x80) + b"x"]) == 1


def test_children_divide_the_range_of_their_parent_and_begin_after_its_end() -> None:
    parents = first_shards(1_000_000_000, 2, [b"", bound(0x80)], "label")
    bounds = [b"", bound(0x20), bound(0x60), bound(0x80)]
    born = children(parents, bounds, 5_000_000_000, {0: 3, 1: 8}, "label")
    assert [(child.low, child.high, child.slot, child.first) for child in born] == [
        (b"", bound(0x20), 0, 4),
        (bound(0x20), bound(0x60), 0, 4),
        (bound(0x60), bound(0x80), 0, 4),
        (bound(0x80), None, 1, 9),
    ]
    assert [child.parent_id for child in born] == [parents[0].id] * 3 + [parents[1].id]
    ids = [shard.id for shard in parents + born]
    assert ids == sorted(set(ids))


@given(st.lists(st.integers(1, 255), unique=True, max_size=9), st.integers(0, 255))
def test_each_key_is_in_one_open_shard(cuts: list[int], key: int) -> None:
    parents = first_shards(1, 1, [b""], "label")
    born = children(parents, [b"", *map(bound, sorted(cuts))], 2_000_000, {0: 1}, "label")
    assert [shard.holds(bound(key) + b"key") for shard in born].count(True) == 1


def test_a_stored_shard_is_read_back() -> None:
    (shard,) = first_shards(1_000_000_000, 1, [b""], "label")
    closed = replace(shard, low=b"\x12", high=b"\xff", last=9, ended_ns=8, parent_id="other")
    for each in (shard, closed):
        assert Shard.from_json(orjson.loads(orjson.dumps(each.to_json()))) == each


def test_the_generations_of_earlier_releases_are_read() -> None:
    stored = [[1_000_000_000, [1, 1], None], [5_000_000_000, [4, 9], 1_000_000_000]]
    shards = shards_of_generations(stored, "label")  # type: ignore[arg-type]
    assert [shard.id for shard in shards] == sorted(shard.id for shard in shards)
    parents, following = shards[:2], shards[2:]
    assert parents[0].id == "shardId-00000000000000001000-0020b6e8"
    assert [(shard.slot, shard.first, shard.last) for shard in parents] == [(0, 1, 3), (1, 1, 8)]
    assert [(shard.slot, shard.first, shard.last) for shard in following] == [(0, 4, None), (1, 9, None)]
    assert [shard.parent_id for shard in following] == [shard.id for shard in parents]
    assert [(shard.low, shard.high) for shard in following] == [(b"", bound(0x80)), (bound(0x80), None)]
    assert {shard.ended_ns for shard in parents} == {5_000_000_000}
    assert shards_of_generations(stored[1:], "label") == following  # type: ignore[arg-type]


def test_a_shard_that_ended_before_its_first_record_has_the_number_of_its_beginning() -> None:
    (shard,) = first_shards(1, 1, [b""], "label")
    assert replace(shard, first=5, last=4).describe()["SequenceNumberRange"] == {
        "StartingSequenceNumber": sequence_number(0, 5),
        "EndingSequenceNumber": sequence_number(0, 5),
    }
