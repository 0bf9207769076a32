"""Every kind of problem is found, reported and, where possible, repaired.

What it proves: a sound database is clean, any single row that is lost or altered is noticed, and a repair
leaves a database that both the check and the tests' own walk (fixtures/integrity.py) find sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from faradisc.engine.check import Check, Report
from faradisc.engine.check.repair import Repair
from faradisc.engine.derived.collections import Collections
from faradisc.engine.derived.kinds import kinds_of_check
from faradisc.engine.streams.stream import StreamState
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import (
    CATALOG_PART,
    JOBS_PART,
    STREAMS_PART,
    TOKENS_PART,
    Placement,
    job_key,
)
from faradisc.storage.api import Batch, Corruption
from faradisc.storage.immediate import run
from fixtures.check_world import MUSIC_ITEMS, START_S, all_rows, world
from fixtures.in_process import InProcess
from fixtures.integrity import problems, tables
from fixtures.searching import seeds


@pytest.fixture
def process() -> Iterator[InProcess]:
    made = world()
    yield made
    made.close()


def look(process: InProcess) -> Report:
    return run(Check(process.store, process.clock).finish())


def change(process: InProcess, part: bytes, key: bytes, payload: bytes | None) -> None:
    """Writes a row directly to the store; None deletes it."""
    batch = Batch(part, deletes=[key]) if payload is None else Batch(part, puts=[(key, payload)])
    run(process.store.commit([batch]))


def repair(process: InProcess) -> Report:
    """Repairs. Returns the report of a second check."""

    async def repaired() -> None:
        async for _ in Repair(process.store, process.clock).run(look(process).repairs):
            pass

    run(repaired())
    return look(process)


def music(process: InProcess) -> Table:
    return next(table for table in tables(process.store) if table.name == "music")


def collections_of(table: Table) -> Placement:
    return next(each for each in kinds_of_check().of(table) if isinstance(each, Collections)).placement


def index(process: InProcess, name: str) -> Index:
    table = music(process)
    found = table.index(name) or table.vector_index(name)
    assert found is not None
    return found


def first_row(process: InProcess, parts: tuple[bytes, ...]) -> tuple[bytes, bytes, bytes]:
    return next(row for row in all_rows(process.store) if row[0] in parts)


def test_intact_database_is_clean_and_all_data_is_counted(process: InProcess) -> None:
    report = look(process)
    assert report.sentences() == []
    assert report.clean
    counts = {(tally.where, tally.kind): tally.rows for tally in report.tallies}
    label = music(process).state.latest_stream_label
    assert counts == {
        ("table music", "table"): MUSIC_ITEMS - 1,
        ("table music, index by.title", "index"): MUSIC_ITEMS - 1,
        ("table music, index by.price", "index"): MUSIC_ITEMS - 9,
        ("table music, index by.genre", "index"): 20,
        ("table music, index by.mood", "vector index"): 10,
        ("table music, time to live", "expiry"): 25,
        ("table plain", "table"): 5,
        ("table plain, point-in-time recovery", "history"): 5,
        (f"stream {label} of table music", "stream"): MUSIC_ITEMS + 4 + 8 + 1,
        ("idempotency tokens", "tokens"): 5,
    }


def test_check_runs_in_small_steps_on_one_state(process: InProcess) -> None:
    check = Check(process.store, process.clock)
    assert run(check.step())
    process.call("DeleteTable", TableName="plain")
    first_part, first_key, _ = first_row(process, music(process).placement.parts)
    change(process, first_part, first_key, None)
    steps = 1
    while run(check.step()):
        steps += 1
    assert steps > 10
    assert check.report.sentences() == []
    assert not run(check.step())


def test_closed_check_releases_its_snapshot(process: InProcess) -> None:
    check = Check(process.store, process.clock)
    run(check.step())
    run(check.close())
    assert not run(check.step())


# --- One row lost or altered ---------------------------------------------------------------------


ROWS = pytest.mark.parametrize("first", seeds(2, 1))
"""Every second row in the gate, the others in the slow set: each is a check of the whole store."""


@ROWS
def test_every_lost_row_is_found(process: InProcess, first: int) -> None:
    missed = []
    for part, key, payload in list(all_rows(process.store))[first::2]:
        change(process, part, key, None)
        if look(process).clean:
            missed.append((part, key))
        change(process, part, key, payload)
    assert missed == []
    assert look(process).clean


@ROWS
def test_every_altered_row_is_found(process: InProcess, first: int) -> None:
    """Of the rows of the catalog, only unreadable ones are found."""
    missed = []
    for part, key, payload in list(all_rows(process.store))[first::2]:
        for altered in (payload[:-1], payload[:7] + b"\x00" + payload[8:]):
            if altered == payload or (part == TOKENS_PART and key[:1] == b"x"):
                continue  # expiry rows of tokens have no payload to alter
            change(process, part, key, altered)
            if look(process).clean:
                missed.append((part, key, altered))
        change(process, part, key, payload)
    assert missed == []


@ROWS
def test_every_extra_row_is_found(process: InProcess, first: int) -> None:
    missed = []
    for part, key, payload in list(all_rows(process.store))[first::2]:
        if part in (CATALOG_PART, STREAMS_PART):
            continue
        twin = key[:-3] + bytes([key[-3] ^ 1]) + key[-2:]
        change(process, part, twin, payload)
        if look(process).clean:
            missed.append((part, key))
        change(process, part, twin, None)
    assert missed == []


# --- Each kind in words, and repaired --------------------------------------------------------------


def lost_entry(process: InProcess) -> None:
    part, key, _ = first_row(process, index(process, "by.genre").placement.parts)
    change(process, part, key, None)


def extra_entry(process: InProcess) -> None:
    placement = index(process, "by.genre").placement
    entry = {"genre": {"S": "none"}, "price": {"N": "7"}, "artist": {"S": "unknown"}, "year": {"N": "1"}}
    key = placement.row_key(entry)
    change(process, placement.part_of(key), key, item_record.encode(entry, 30))


def stale_entry(process: InProcess) -> None:
    part, key, payload = first_row(process, index(process, "by.title").placement.parts)
    entry = item_record.decode(payload)
    entry["price"] = {"N": "123456"}
    change(process, part, key, item_record.encode(entry, item_record.size_of(payload)))


def misplaced_entry(process: InProcess) -> None:
    """Stores the entry of an existing item under another key."""
    placement = index(process, "by.price").placement
    part, key, payload = first_row(process, placement.parts)
    change(process, part, key, None)
    entry = item_record.decode(payload)
    entry["price"] = {"N": "99999"}
    wrong = placement.row_key(entry)
    change(process, placement.part_of(wrong), wrong, payload)


def garbled_entry(process: InProcess) -> None:
    part, key, _ = first_row(process, index(process, "by.genre").placement.parts)
    change(process, part, key, b"\x01\x00\x00\x00\x09{garbled")


def lost_vector(process: InProcess) -> None:
    part, key, _ = first_row(process, index(process, "by.mood").placement.parts)
    change(process, part, key, None)


def lost_expiry(process: InProcess) -> None:
    ttl = music(process).state.ttl
    assert ttl is not None
    resource = ttl.resource.to_bytes(4, "big")
    part, key, _ = next(row for row in all_rows(process.store) if row[0][:4] == resource)
    change(process, part, key, None)


def extra_expiry(process: InProcess) -> None:
    ttl = music(process).state.ttl
    assert ttl is not None
    part, key, _ = first_row(process, music(process).placement.parts)
    moment = (START_S + 5).to_bytes(8, "big")
    change(process, ttl.resource.to_bytes(4, "big") + part[4:], moment + key, b"")


def ancient_expiry(process: InProcess) -> None:
    """Expiry rows of long ago are optional, but an existing one must be right."""
    ttl = music(process).state.ttl
    assert ttl is not None
    part, key, _ = first_row(process, music(process).placement.parts)
    change(process, ttl.resource.to_bytes(4, "big") + part[4:], (1).to_bytes(8, "big") + key, b"")


def wrong_counter(process: InProcess) -> None:
    part = music(process).placement.parts[0]
    run(process.store.commit([Batch(part, items_delta=3, bytes_delta=-5)]))


def wrong_index_counter(process: InProcess) -> None:
    part = index(process, "by.genre").placement.parts[2]
    run(process.store.commit([Batch(part, bytes_delta=1)]))


def wrong_collection(process: InProcess) -> None:
    table = music(process)
    placement = collections_of(table)
    part, key, payload = first_row(process, placement.parts)
    change(process, part, key, (int.from_bytes(payload, "big") + 1).to_bytes(8, "big"))


def lost_collection(process: InProcess) -> None:
    table = music(process)
    placement = collections_of(table)
    part, key, _ = first_row(process, placement.parts)
    change(process, part, key, None)


def extra_collection(process: InProcess) -> None:
    table = music(process)
    placement = collections_of(table)
    key = placement.row_key({"artist": {"S": "unknown"}})
    change(process, placement.part_of(key), key, bytes(8))


def wrong_size(process: InProcess) -> None:
    part, key, payload = first_row(process, music(process).placement.parts)
    change(process, part, key, payload[:4] + bytes([payload[4] ^ 1]) + payload[5:])


def not_canonical(process: InProcess) -> None:
    part, key, payload = next(
        row
        for row in all_rows(process.store)
        if row[0] in music(process).placement.parts and b'["a","b"]' in row[2]
    )
    change(process, part, key, payload.replace(b'["a","b"]', b'["b","a"]'))


def orphan(process: InProcess) -> None:
    change(process, (99).to_bytes(4, "big") + b"\x01", b"k", b"left behind")


def orphan_in_no_slot(process: InProcess) -> None:
    part = music(process).placement.parts[0]
    change(process, part[:4] + b"\x09", b"k", b"left behind")


def single_token(process: InProcess) -> None:
    key = next(key for part, key, _ in all_rows(process.store) if part == TOKENS_PART and key[:1] == b"x")
    change(process, TOKENS_PART, key, None)


def single_token_expiry(process: InProcess) -> None:
    key = next(key for part, key, _ in all_rows(process.store) if part == TOKENS_PART and key[:1] == b"t")
    change(process, TOKENS_PART, key, None)


def forgotten_job(process: InProcess) -> None:
    change(process, JOBS_PART, job_key(b"backfill", 98), b"[0,null,0]")


def low_number(process: InProcess) -> None:
    change(process, CATALOG_PART, b"\xff", (2).to_bytes(4, "big"))


def stream_without_table(process: InProcess) -> None:
    """Removes the table's row without ending its stream."""
    state = music(process).state
    state.stream = None
    change(process, CATALOG_PART, b"\x00music", orjson.dumps(state.to_json()))


def table_without_stream(process: InProcess) -> None:
    stream = music(process).state.stream
    assert stream is not None
    resource = stream.resource
    for slot in range(4):
        run(process.store.clear(resource.to_bytes(4, "big") + bytes([slot])))
    change(process, STREAMS_PART, resource.to_bytes(4, "big"), None)


MENDED: dict[str, tuple[Callable[[InProcess], None], str]] = {
    "lost entry": (lost_entry, 'table music, index by.genre: an entry is missing: {"genre"'),
    "extra entry": (
        extra_entry,
        "table music, index by.genre: an entry belongs to no item: "
        '{"genre":{"S":"none"},"price":{"N":"7"},"artist":{"S":"unknown"},"year":{"N":"1"}}',
    ),
    "stale entry": (stale_entry, 'table music, index by.title: an entry differs from its item: {"artist"'),
    "misplaced entry": (
        misplaced_entry,
        "table music, index by.price: an entry does not follow from its item: ",
    ),
    "garbled entry": (garbled_entry, "table music, index by.genre: an entry cannot be read: row key "),
    "lost vector": (lost_vector, 'table music, index by.mood: an entry is missing: {"artist":'),
    "lost expiry": (
        lost_expiry,
        'table music, time to live: the expiry row of an item is missing: {"artist":{"S":"artist ',
    ),
    "extra expiry": (
        extra_expiry,
        "table music, time to live: the expiry row of an item does not follow from its item: ",
    ),
    "ancient expiry": (
        ancient_expiry,
        "table music, time to live: the expiry row of an item does not follow from its item: ",
    ),
    "wrong counter": (wrong_counter, "table music: the counters differ from the rows: slot 0 holds "),
    "wrong index counter": (
        wrong_index_counter,
        "table music, index by.genre: the counters differ from the rows: slot 2 holds ",
    ),
    "wrong collection": (
        wrong_collection,
        'table music: the size of an item collection is wrong: {"artist":{"S":"artist ',
    ),
    "lost collection": (
        lost_collection,
        'table music: the size of an item collection is missing: {"artist":{"S":"artist ',
    ),
    "extra collection": (
        extra_collection,
        'table music: the size of an item collection that does not exist: {"artist":{"S":"unknown"}}',
    ),
    "wrong size": (wrong_size, "table music: an item's record states a wrong size: "),
    "not canonical": (not_canonical, "table music: an item's record is not in its canonical form: "),
    "orphan": (orphan, "orphans: a part belongs to no table, index or stream: resource 99, slot 1"),
    "orphan in no slot": (
        orphan_in_no_slot,
        "orphans: a part belongs to no table, index or stream: resource 1, slot 9",
    ),
    "lonely token": (
        single_token,
        "idempotency tokens: a token never expires: account 000000000000, token token-",
    ),
    "lonely token expiry": (
        single_token_expiry,
        "idempotency tokens: an expiry row belongs to no token: account 000000000000, token token-",
    ),
    "forgotten job": (
        forgotten_job,
        "background jobs: the progress of a job on a deleted resource: backfill of resource 98",
    ),
    "low number": (
        low_number,
        "catalog: the last resource number is below those in use, which would be assigned again: "
        "2 is stored, ",
    ),
    "stream without table": (
        stream_without_table,
        "of table music: it is open, but no table writes to it",
    ),
    "table without stream": (
        table_without_stream,
        "table music: its stream does not exist, so the database may not open: resource ",
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_problem_is_reported_and_repaired(process: InProcess, name: str) -> None:
    damage, expected = MENDED[name]
    items = [row for row in all_rows(process.store) if row[0] in music(process).placement.parts]
    damage(process)
    found = look(process)
    assert len(found.sentences()) == 1 or "misplaced" in name, found.sentences()
    assert any(expected in sentence for sentence in found.sentences()), found.sentences()
    assert all(group.repairable for group in found.groups.values())
    assert repair(process).sentences() == []
    assert problems(process.store) == []
    assert [row for row in all_rows(process.store) if row[0] in music(process).placement.parts] == items


def test_many_problems_are_repaired_at_once(process: InProcess) -> None:
    for damage, _ in MENDED.values():
        if damage is not table_without_stream:
            damage(process)
    assert look(process).problems > 20  # some of them fall on the same row
    assert repair(process).sentences() == []
    assert problems(process.store) == []


# --- What cannot be repaired -----------------------------------------------------------------------


def test_repair_leaves_an_unreadable_item_and_its_derived_rows(process: InProcess) -> None:
    part, key, payload = first_row(process, music(process).placement.parts)
    change(process, part, key, payload[:9] + b"\x00" + payload[10:])
    before = list(all_rows(process.store))
    found = look(process)
    (group,) = found.groups.values()
    assert (group.where, group.what, group.count) == ("table music", "an item cannot be read", 1)
    assert group.details[0].startswith('{"artist":{"S":"artist ')
    assert "restore it from a backup" in group.remedy
    assert repair(process).problems == 1
    assert list(all_rows(process.store)) == before


def test_item_with_the_row_key_of_another_item(process: InProcess) -> None:
    table = music(process)
    part, key, payload = first_row(process, table.placement.parts)
    change(process, part, key, None)
    change(process, part, key[:-1] + b"\x01\x00", payload)
    assert "table music: an item has the row key of another one" in "\n".join(look(process).sentences())


def test_parts_of_a_table_with_an_unreadable_row_are_no_orphans(process: InProcess) -> None:
    change(process, CATALOG_PART, b"\x00music", b"{}")
    found = look(process)
    assert any("catalog: the row of a table cannot be read" in each for each in found.sentences())
    assert found.notes == [
        "some rows of the catalog cannot be read, so parts without an owner were not searched"
    ]
    assert not any(each.kind == "orphan" for each in found.repairs)


def test_resource_number_assigned_twice(process: InProcess) -> None:
    state = next(table.state for table in tables(process.store) if table.name == "plain")
    state.resource = music(process).state.resource
    change(process, CATALOG_PART, b"\x00plain", orjson.dumps(state.to_json()))
    assert any(
        "catalog: a resource number is assigned twice: 1, to table music and to table plain" in each
        for each in look(process).sentences()
    )


class Unlisted:
    """A store with damage that prevents the listing of its parts."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def parts(self) -> list[tuple[bytes, int]]:
        raise Corruption("a block is damaged")

    async def snapshot(self) -> Any:
        return Unlisted(await self._inner.snapshot())


def test_store_that_cannot_list_its_parts_is_checked_nevertheless(process: InProcess) -> None:
    lost_entry(process)
    report = run(Check(Unlisted(process.store), process.clock).finish())  # type: ignore[arg-type]
    assert report.sentences()[0] == "store: its parts cannot be listed: a block is damaged"
    assert [each.partition(": {")[0] for each in report.sentences()[1:]] == [
        "table music, index by.genre: an entry is missing"
    ]


# --- Streams -------------------------------------------------------------------------------------


def stream_state(process: InProcess) -> StreamState:
    ((_, _, payload),) = [row for row in all_rows(process.store) if row[0] == STREAMS_PART]
    return StreamState.from_json(orjson.loads(payload))


def put_stream(process: InProcess, state: StreamState) -> None:
    change(process, STREAMS_PART, state.resource.to_bytes(4, "big"), orjson.dumps(state.to_json()))


def stream_problems(process: InProcess) -> list[str]:
    return [each.partition(" of table music: ")[2] for each in look(process).sentences()]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (b"\x01", "1 bytes are too few"),
        (b"\x02\x00" + bytes(14), "format 2 is unknown"),
        (b"\x01\x07" + bytes(14), "0x07 is no kind of change"),
        (b"\x01\x01" + bytes(8) + b"\x00\x01" + bytes(4), "17 bytes are announced, 16 are there"),
        (b"\x01\x01" + bytes(8) + b"\x00\x01" + bytes(5), "its row key is malformed"),
    ],
)
def test_unreadable_log_entry(process: InProcess, entry: bytes, reason: str) -> None:
    part = stream_state(process).resource.to_bytes(4, "big") + b"\x02"
    ((last),) = run(process.store.commit([Batch(part, log=[entry])]))  # type: ignore[misc]
    assert stream_problems(process) == [f"a log entry cannot be read: slot 2, {last}: {reason}"]


def test_log_entry_of_an_item_of_another_slot(process: InProcess) -> None:
    base = stream_state(process).resource.to_bytes(4, "big")
    ((_, entry),) = run(process.store.log(base + b"\x01", 1, 1))
    run(process.store.commit([Batch(base + b"\x02", log=[entry])]))
    (problem,) = stream_problems(process)
    assert problem.endswith("its item belongs to another slot")


def test_log_entry_with_an_unreadable_image(process: InProcess) -> None:
    base = stream_state(process).resource.to_bytes(4, "big")
    ((_, entry),) = run(process.store.log(base + b"\x01", 0, 1))
    run(process.store.commit([Batch(base + b"\x01", log=[entry[:-1] + b"!"])]))
    (problem,) = stream_problems(process)
    assert problem.endswith("its new image cannot be read")


def test_trimmed_log_is_clean(process: InProcess) -> None:
    for slot in range(4):
        run(process.store.trim(stream_state(process).resource.to_bytes(4, "big") + bytes([slot]), 4))
    assert look(process).clean


NO_TILING = "its open shards do not cover all items once"


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        ({"began_ns": 1}, "a shard does not follow its parent"),
        ({"first": 1}, "a shard does not follow its parent"),
        ({"slot": 2}, "a shard does not follow its parent"),
        ({"low": bytes.fromhex("3f"), "parent_id": None}, NO_TILING),
        ({"high": None}, NO_TILING),
        ({"slot": 9, "parent_id": None}, NO_TILING),
        ({"first": 1000, "parent_id": None}, "a shard begins after the end of its log"),
        ({"last": 1}, "a shard ends without the entry that closes it"),
    ],
)
def test_wrong_lineage_is_reported(process: InProcess, alter: dict[str, Any], problem: str) -> None:
    state = stream_state(process)
    assert [shard.slot for shard in state.shards] == [0, 1, 2, 3] * 2
    state.shards[5] = replace(state.shards[5], **alter)
    put_stream(process, state)
    found = stream_problems(process)
    assert any(each.startswith(problem) for each in found), found


def test_a_shard_that_is_missing_is_reported(process: InProcess) -> None:
    state = stream_state(process)
    del state.shards[6]
    put_stream(process, state)
    (problem,) = stream_problems(process)
    assert problem.startswith(NO_TILING)


def test_stream_without_shards(process: InProcess) -> None:
    state = stream_state(process)
    state.shards = []
    put_stream(process, state)
    assert stream_problems(process) == ["it has no shards"]
