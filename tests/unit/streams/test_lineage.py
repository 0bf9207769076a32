"""Sequence numbers, shard ids and lineage: pure arithmetic."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from faradisc.engine.streams.shards import Generation, position_of, sequence_number, shards_of

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


def test_each_shard_follows_its_parent_without_a_gap() -> None:
    generations = [Generation(1_000_000_000, (1, 1)), Generation(5_000_000_000, (4, 9), 1_000_000_000)]
    shards = shards_of(generations, "label", None)
    assert [shard.id for shard in shards] == sorted(shard.id for shard in shards)
    parents, children = shards[:2], shards[2:]
    assert [(shard.first, shard.last) for shard in parents] == [(1, 3), (1, 8)]
    assert [(shard.first, shard.last) for shard in children] == [(4, None), (9, None)]
    assert [shard.parent_id for shard in children] == [shard.id for shard in parents]


def test_a_forgotten_parent_keeps_its_name() -> None:
    generations = [Generation(1_000_000_000, (1,)), Generation(5_000_000_000, (4,), 1_000_000_000)]
    before = shards_of(generations, "label", None)
    after = shards_of(generations[1:], "label", None)
    assert after == before[1:]


def test_the_last_shards_of_an_ended_stream_end_where_their_logs_do() -> None:
    (full, empty) = shards_of([Generation(1, (3, 5))], "label", [7, 4])
    assert full.describe()["SequenceNumberRange"] == {
        "StartingSequenceNumber": sequence_number(0, 3),
        "EndingSequenceNumber": sequence_number(0, 7),
    }
    assert empty.describe()["SequenceNumberRange"] == {
        "StartingSequenceNumber": sequence_number(1, 5),
        "EndingSequenceNumber": sequence_number(1, 5),
    }
