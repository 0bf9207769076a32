"""A trace becomes the summary that rules read; damaged lines are counted, and none ends the reading."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from faradisc.tools.advisor.definitions import Definition, IndexDefinition
from faradisc.tools.advisor.recording import of_recording
from faradisc.tools.advisor.report import as_text
from faradisc.tools.advisor.rules import advise
from faradisc.tools.advisor.traffic import Traffic, with_definitions
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_format import Trace, key_prefix

HEADER: dict[str, Any] = {"faradisc_trace": 1, "start": "2026-11-02T00:00:00Z"}
TABLE = {
    "describe": "Orders",
    "mode": "provisioned",
    "read": 10,
    "write": 10,
    "sort_key": True,
    "indexes": {"by-a": [5, 5], "by-b": [5, 2]},
}


def place(key: str, sort: str = "") -> str:
    return (key_prefix(key) + sort.encode()).hex()


def line(t: float, op: str, *charges: list[Any], **more: Any) -> dict[str, Any]:
    return {"t": t, "op": op, "table": "Orders", "charges": list(charges), **more}


def read(lines: Iterable[dict[str, Any]], *, times: int = 1) -> Traffic:
    encoded = [json.dumps(each).encode() for each in (HEADER, TABLE, *lines)]
    return of_recording(Trace("trace.jsonl", lines=lambda: encoded), times=times)


def test_demands_have_sums_minutes_and_the_busiest_second() -> None:
    puts = [line(t, "PutItem", ["", "W", place("u1"), 4], key="u1") for t in (0.1, 0.2, 61.5)]
    traffic = read([*puts, line(62, "GetItem", ["", "R", place("u1"), 1, "eventual"], key="u1")])
    table = traffic.tables["Orders"]
    writes, reads = table.demand(None, "W"), table.demand(None, "R")
    assert (writes.requests, writes.half_units, writes.peak_half, writes.minutes) == (3, 12, 8, {0: 8, 1: 4})
    assert (reads.half_units, traffic.duration_s) == (1, 63)
    assert [(key.name, key.share_percent, key.peak_units, key.limit_units) for key in writes.keys] == [
        ("u1", 100, 4, 1000)
    ]
    assert reads.keys[0].limit_units == 4500, "a partition serves more eventually consistent reads"


def test_repeated_scans_differ_from_the_pages_of_one() -> None:
    once = [line(n, "Scan", ["", "R", place(f"k{n}"), 256]) for n in range(20)]
    assert read(once).tables["Orders"].scans[None].runs == 1
    again = [line(n, "Scan", ["", "R", place("first"), 256]) for n in range(20)]
    scans = read(again).tables["Orders"].scans[None]
    assert (scans.runs, scans.pages, scans.half_units) == (20, 20, 5120)


def test_requests_after_a_query_are_counted_by_their_keys() -> None:
    lines = []
    for page in range(6):
        lines.append(line(page, "Query", ["by-a", "R", place("u"), 1]))
        lines += [
            line(page + n / 100, "GetItem", ["", "R", place(f"o{n}"), 1, "eventual"], key=f"o{n}")
            for n in range(1, 9)
        ]
        lines.append(line(page + 0.5, "GetItem", ["", "R", place("later"), 1], key="later"))
    (followers,) = read(lines).tables["Orders"].followers
    assert (followers.leader, followers.operation) == ("Orders/by-a", "GetItem")
    assert (followers.sizes.count, followers.sizes.mean, followers.half_units) == (6, 8, 48)


def test_items_of_a_batch_do_not_count_as_requests_after_a_query() -> None:
    lines = [line(0, "Query", ["", "R", place("u"), 1])]
    lines += [line(0.01, "BatchGetItem", ["", "R", place(f"o{n}"), 1], key=f"o{n}") for n in range(20)]
    assert read(lines).tables["Orders"].followers == []


def test_throttles_by_an_index_count_for_the_slowest_one() -> None:
    charges = ["", "W", place("u"), 2], ["by-a", "W", place("a"), 2], ["by-b", "W", place("b"), 2]
    table = read([line(0, "PutItem", *charges, refused="IndexWriteProvisionedThroughputExceeded")]).tables[
        "Orders"
    ]
    assert [table.demand(index, "W").throttled for index in (None, "by-a", "by-b")] == [0, 0, 1]


def test_throttles_of_a_table_count_for_its_key() -> None:
    reason = "TableWriteKeyRangeThroughputExceeded"
    table = read([line(0, "PutItem", ["", "W", place("u"), 2], key="u", refused=reason)]).tables["Orders"]
    assert (table.demand(None, "W").throttled, table.demand(None, "W").keys[0].throttled) == (1, 1)
    assert table.added == 0, "a rejected write adds nothing"


def test_sizes_growth_and_projections_are_read() -> None:
    charge = ["", "W", place("u"), 800]
    table = read(
        [
            line(0, "PutItem", charge, key="u", grows=[400_000, 1], size=400_000),
            line(1, "UpdateItem", charge, key="u", size=400_000, changed=10),
            line(2, "Query", ["by-a", "R", place("a"), 2], attributes=["pk", "total"]),
            line(3, "Query", ["by-a", "R", place("a"), 2]),
            line(4, "DeleteItem", charge, key="u", grows=[-400_000, -1]),
        ]
    ).tables["Orders"]
    assert table.large_items == {"u": 400_000}
    assert (table.updates.count, table.updates.item_bytes, table.updates.changed_bytes) == (1, 400_000, 10)
    pages = table.pages["by-a"]
    assert (pages.pages, pages.whole, pages.attributes) == (2, 1, {"pk", "total"})
    assert (table.added, table.deletes) == (0, 1)


def test_keys_that_are_no_text_are_shown_by_their_hash() -> None:
    binary = "00" * 16 + "c3280000"
    keys = read([line(0, "Query", ["", "R", binary, 2])]).tables["Orders"].demand(None, "R").keys
    assert [key.name for key in keys] == ["00" * 16]


def test_tables_without_requests_and_undescribed_ones_are_in_the_summary() -> None:
    other = {**line(0, "PutItem", ["", "W", place("u"), 2]), "table": "Other"}
    traffic = read([other])
    assert sorted(traffic.tables) == ["Orders", "Other"]
    assert traffic.tables["Other"].definition.on_demand


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\x00\xff\x00",
        b"{" * 5000,
        b"[]",
        b'{"t":1e400,"op":"Scan","table":"Orders","charges":[]}',
        b'{"t":0,"op":"Query","table":"Orders","charges":[["","R","00",2]]}',
        b'{"t":0,"op":"Query","table":"Orders","charges":[["","R","'
        + b"00" * 16
        + b'",2]],"attributes":[1]}',
        b'{"t":0,"op":"Query","table":"Orders","charges":[["","R","' + b"00" * 16 + b'",2]],"refused":7}',
        b'{"t":0,"op":"PutItem","table":"Orders","charges":[["","W","' + b"00" * 16 + b'",2]],"size":-1}',
        b'{"describe":"Orders","mode":"?"}',
    ],
)
def test_hostile_lines_are_skipped(hostile: bytes) -> None:
    good = json.dumps(line(0, "PutItem", ["", "W", place("u"), 2])).encode()
    traffic = of_recording(Trace("trace.jsonl", lines=lambda: [hostile, good]))
    assert traffic.tables["Orders"].requests == 1
    with pytest.raises(PlanError, match="there is no request in this trace"):
        of_recording(Trace("trace.jsonl", lines=lambda: [hostile]))


def test_strange_charges_are_read_without_an_error() -> None:
    """A read that claims to write, a Scan of nothing, times that go back, an unknown index, a huge change."""
    traffic = read(
        [
            line(9, "Scan", ["none", "W", place("u"), 0]),
            line(2, "GetItem", ["", "W", place("u"), 2], grows=[1 << 24, 5], changed=1 << 24, size=1 << 24),
            line(3, "Query", ["none", "R", "ff" * 16, 2], refused="IndexReadWhatever"),
            line(4, "Nonsense", ["", "R", place("u"), 2], refused=""),
        ]
    )
    assert traffic.duration_s == 10


def test_names_that_no_table_has_do_not_become_code() -> None:
    good = line(0, "PutItem", ["", "W", place("u"), 2])
    bad = [
        {**good, "table": 'Orders"); import os; ("'},
        {**good, "table": "\x1b[31mOrders"},
        line(1, "Query", ['x", "y', "R", place("u"), 2]),
    ]
    traffic = read([good, *bad])
    assert list(traffic.tables) == ["Orders"]
    assert traffic.notes[0].startswith("3 lines were skipped")


def test_moments_far_apart_need_no_memory_for_the_time_between() -> None:
    lines = [line(31_000_000 + n, "PutItem", [f"i{n}", "W", place("u"), 2]) for n in range(300)]
    traffic = read(lines)
    assert len(traffic.tables["Orders"].demand("i7", "W").minutes) == 1
    assert advise(traffic) == []


def test_shown_text_has_no_control_characters() -> None:
    lines = [line(n, "Query", ["by-a", "R", place("u"), 2], attributes=["\x1b[2J"]) for n in range(20)]
    traffic = read(lines)
    projected = IndexDefinition("by-a", projection="ALL")
    with_definitions(traffic, {"Orders": Definition("Orders", indexes=(projected,))})
    text = as_text(traffic, advise(traffic))
    assert "\\x1b[2J" in text and "\x1b" not in text


def test_a_set_up_before_the_first_read_raises_no_alarm() -> None:
    """600 writes in the first second, then one a second beside reads for ten minutes."""
    first = [line(0.001 * n, "PutItem", ["", "W", place(f"k{n}"), 2], key=f"k{n}") for n in range(600)]
    later = [
        each
        for n in range(20, 620)
        for each in (
            line(n, "PutItem", ["", "W", place("a"), 2], key="a"),
            line(n + 0.5, "GetItem", ["", "R", place("a"), 1, "eventual"], key="a"),
        )
    ]
    traffic = read([*first, *first[:100], *later])
    assert traffic.tables["Orders"].demand(None, "W").peak_half == 2
    assert any(
        "701 writes of the first 20 s, before any read, are left out" in note for note in traffic.notes
    )
    assert traffic.duration_s == 600
    # A load that goes on is none.
    steady = [line(n, "PutItem", ["", "W", place("a"), 2], key="a") for n in range(300)]
    assert read([*steady, *later]).tables["Orders"].demand(None, "W").requests == 900
