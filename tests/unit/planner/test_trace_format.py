"""Traces: what is written is read back, what cannot be read is skipped, counted and named."""

from __future__ import annotations

import json

import pytest

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan_of_trace import plan_of_trace, with_trace
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_format import (
    LINE_BYTES_MAX,
    Trace,
    TraceLineError,
    key_prefix,
    read_request,
)
from faradisc.tools.traces.trace_writer import TraceCharge, TraceWriter
from unit.planner.planned import resource

START = 1_793_577_600 * SECOND_NS
PLACE = key_prefix("u1")


def scanned(lines: list[bytes]) -> Trace:
    return Trace.scan("trace.jsonl", lambda: lines)


def replayed(lines: list[bytes]) -> PlanOutcome:
    trace = scanned(lines)
    return run(plan_of_trace(trace), trace=trace)


def written() -> list[bytes]:
    """Two minutes on a table of 10 WCU with an index: 20 writes and 1 read a second."""
    lines: list[bytes] = []
    writer = TraceWriter(lines.append, START)
    writer.describe("Orders", read_units=10, write_units=10, sort_key=True, indexes={"g": (5, 100)})
    for second in range(120):
        for number in range(20):
            at = START + second * SECOND_NS + number * SECOND_NS // 20
            charges = [TraceCharge(None, "W", PLACE, 2), TraceCharge("g", "W", key_prefix("x"), 2)]
            writer.request(at, "PutItem", "Orders", charges, key="u1", grows_bytes=100, grows_items=1)
        read = [TraceCharge(None, "R", PLACE, 1, eventual=True)]
        writer.request(START + second * SECOND_NS, "GetItem", "Orders", read, key="u1")
    return lines


def test_a_recording_is_replayed() -> None:
    found = replayed(written())
    orders = resource(found, "Orders")
    assert (found.duration_s, found.start) == (120, "2026-11-02T00:00:00Z")
    assert {flow.name: flow.offered for flow in found.flows} == {
        "Orders: PutItem": 2400,
        "Orders: GetItem": 120,
    }
    # 3,000 units were saved and 1,200 flow in: nothing is throttled.
    assert (found.totals.throttled, found.totals.write_units, found.totals.read_units) == (0, 4800, 60)
    assert (
        sum(orders.write.consumed) * 60 == 2400 == sum(resource(found, "Orders/index/g").write.consumed) * 60
    )
    assert found.hot_keys[0].key == "u1"
    assert found.skipped is not None and (found.skipped.lines, found.skipped.read) == (0, 2522)


def test_a_trace_runs_by_discrete_events_whichever_engine_is_chosen() -> None:
    """On a table that is too small, with an index that is smaller still."""
    text = """
partition_caps: 30/15
profile: documented
tables: {Orders: {mode: provisioned, read: 10, write: 12, indexes: {g: {read: 1, write: 9}}}}
"""
    found = []
    for engine in ("events", "fluid"):
        trace = scanned(written())
        plan = with_trace(load_plan(text, "plan.yaml", traced=True), trace)
        found.append(run(plan, engine=engine, trace=trace))  # type: ignore[arg-type]
    assert found[0] == found[1]
    assert found[0].engine == "events"
    assert found[0].totals.offered == 2520
    assert found[0].totals.throttled > 1000


def test_pages_that_cross_partitions_replay_alike() -> None:
    places = [PLACE, key_prefix("u2"), key_prefix("u3")]
    lines: list[bytes] = []
    writer = TraceWriter(lines.append, START)
    for second in range(30):
        page = [TraceCharge(None, "R", place, 8, eventual=True) for place in places]
        writer.request(START + second * SECOND_NS, "Scan", "T", page)
    by_events = replayed(lines)
    trace = scanned(lines)
    fluid = run(plan_of_trace(trace), engine="fluid", trace=trace)
    assert by_events.totals.offered == fluid.totals.offered == fluid.totals.admitted == 30
    reads = [sum(resource(found, "T").read.consumed) for found in (by_events, fluid)]
    assert reads[0] == reads[1] > 0


def test_on_smaller_tables_of_a_plan_it_throttles() -> None:
    """What if the table had 1 WCU, and no burst capacity?"""
    trace = scanned(written())
    text = """
profile: documented
tables: {Orders: {mode: provisioned, read: 10, write: 1, indexes: {g: {read: 1, write: 100}}}}
"""
    wanted = with_trace(load_plan(text, "plan.yaml", traced=True), trace)
    found = run(wanted, trace=trace)
    assert found.duration_s == 120
    admitted = {flow.name: flow.admitted for flow in found.flows}
    assert admitted["Orders: PutItem"] == pytest.approx(120, abs=1)


BAD = [
    (b"{", "not JSON"),
    (b"[1]", "not an object"),
    (b'{"t":1,"op":"PutItem"}', "'table' should be a text"),
    (b'{"t":-1,"op":"PutItem","table":"T"}', "'t' should be seconds"),
    (b'{"t":1,"op":"PutItem","table":"T","charges":[]}', "'charges' should be a list"),
    (b'{"t":1,"op":"PutItem","table":"T","charges":[["","X","00",2]]}', "a charge is"),
    (b'{"t":1,"op":"PutItem","table":"T","charges":[["","W","zz",2]]}', "hexadecimal"),
    (b'{"t":1,"op":"PutItem","table":"T","charges":[["","W","00",2]]}', "16 bytes of hash"),
    (b'{"t":1,"op":"PutItem","table":"T","charges":[["","W","%b",-2]]}' % (b"00" * 16), "half units"),
    (b'{"t":1,"op":"Mystery","table":"T","pk":"a"}', "'Mystery' is not known"),
    (b'{"t":1,"op":"PutItem","table":"T","pk":"a","new":-5}', "'new' should be a whole number"),
    (b'{"t":1,"op":"PutItem","table":"T","pk":"a","new":5,"idx":{"g":[1]}}', "index 'g' should have"),
    (b'{"describe":"T","mode":"sometimes"}', "'mode' should be"),
    (b'{"faradisc_trace":99}', "format 99"),
    (b"\xff\xfe", "not JSON"),
    (b'{"faradisc_trace":1,"start":"0001-01-01T00:00:00+14:00"}', "the years 1970 to 2998"),
    (b'{"faradisc_trace":1,"start":"9999-12-31"}', "the years 1970 to 2998"),
    (b'{"describe":"T","mode":"on-demand","partitions":1000000000}', "'partitions' is at most 10000"),
    (b'{"describe":"T","mode":"on-demand","profile":"fast"}', "no capacity profile 'fast'"),
    (b'{"describe":"T","mode":"on-demand","profile":"off"}', "'profile' should be one that"),
    (b'{"describe":"T","mode":"on-demand","partition_caps":"30"}', "partition caps are written"),
    (b'{"describe":"T","mode":"on-demand","bytes":4611686018427387904}', "'bytes' is at most"),
    (b'{"describe":"T","mode":"on-demand","write":4611686018427387904}', "'write' is at most"),
    (b'{"t":1,"op":"PutItem","table":"T","pk":"a","new":4611686018427387904}', "'new' is at most"),
    (
        b'{"t":1,"op":"PutItem","table":"T","charges":[["","W","%b",2]],"grows":[-99999999999,0]}'
        % (b"00" * 16),
        "'grows' lies between",
    ),
    (b" " * LINE_BYTES_MAX + b"{}", "longer than 2,097,152 bytes"),
]


@pytest.mark.parametrize(("line", "why"), BAD)
def test_a_bad_line_is_skipped_and_named(line: bytes, why: str) -> None:
    good = b'{"t":2,"op":"PutItem","table":"T","pk":"a","new":500}'
    trace = scanned([good, line, good])
    assert (trace.lines_read, trace.skipped) == (2, 1)
    assert trace.mistakes[0].startswith("trace.jsonl:2: ") and why in trace.mistakes[0]


def test_only_the_first_mistakes_are_kept() -> None:
    good = b'{"t":0,"op":"GetItem","table":"T","pk":"a","new":500}'
    found = replayed([good, *[b"?"] * 1000, good])
    assert found.skipped is not None
    assert (found.skipped.lines, found.skipped.read, len(found.skipped.first)) == (1000, 2, 5)
    assert found.totals.admitted == 2


def test_a_trace_without_requests_is_refused() -> None:
    with pytest.raises(PlanError, match=r"trace\.jsonl: there is no request in this trace; 1 lines"):
        plan_of_trace(scanned([b"nonsense"]))


def test_requests_of_tables_that_the_plan_lacks_are_skipped() -> None:
    lines = [
        b'{"faradisc_trace":1,"start":"2026-11-02T00:00:00Z"}',
        b'{"t":0,"op":"PutItem","table":"T","pk":"a","new":500}',
        b'{"t":1,"op":"PutItem","table":"U","pk":"a","new":500}',
        b'{"t":1,"op":"PutItem","table":"T","pk":"a","new":500,"idx":{"g":[null,0,"x",9]}}',
    ]
    trace = scanned(lines)
    found = run(with_trace(load_plan("tables: {T: {mode: on-demand}}", "p", traced=True), trace), trace=trace)
    assert found.skipped is not None and found.skipped.lines == 2
    assert found.skipped.first == (
        "trace.jsonl:3: table 'U' is not in the plan",
        "trace.jsonl:4: index 'g' of table 'T' is not in the plan",
    )
    assert found.totals.admitted == 1


def test_a_trace_of_other_tables_only_is_refused() -> None:
    """Nothing would be replayed, and every budget would hold."""
    request = b'{"t":0,"op":"PutItem","table":"%b","pk":"a","new":500}'
    trace = scanned([request % b"U", request % b"V"])
    plan = load_plan("tables: {T: {mode: on-demand}}", "p", traced=True)
    with pytest.raises(
        PlanError, match=r"trace\.jsonl: it has no request of the plan's tables, but of 'U', 'V'"
    ):
        with_trace(plan, trace)


def test_a_table_is_what_it_was_at_its_first_request() -> None:
    """A server that is started while an update is under way describes both."""
    describe = b'{"describe":"T","mode":"provisioned","read":%d,"write":5}'
    request = b'{"t":0,"op":"PutItem","table":"T","pk":"a","new":500}'
    trace = scanned([describe % 1, describe % 2, request, describe % 3])
    assert trace.tables["T"].read_units == 2
    assert [each.table for each in trace.requests()] == ["T"]
    assert trace.tables["T"].read_units == 2
    assert scanned([request, describe % 1, describe % 2]).tables["T"].read_units == 1


def charges(**members: object) -> list[tuple[str | None, str, int, bool]]:
    document = {"t": 0, "table": "T", "pk": "a", **members}
    found = read_request(json.loads(json.dumps(document))).charges
    return [(charge.index, charge.direction, charge.half_units, charge.eventual) for charge in found]


def test_charges_are_worked_out_from_sizes() -> None:
    """capacity.md sections 2.2 and 3.3."""
    assert charges(op="GetItem", new=5000, cr=True) == [(None, "R", 4, False)]
    assert charges(op="GetItem", new=5000) == [(None, "R", 2, True)]
    assert charges(op="GetItem") == [(None, "R", 1, True)]
    assert charges(op="PutItem", old=900, new=1100) == [(None, "W", 4, False)]
    assert charges(op="TransactWriteItems", new=1100) == [(None, "W", 8, False)]
    moved = charges(op="UpdateItem", old=900, new=900, idx={"g": ["a", 300, "b", 2000]})
    assert moved == [(None, "W", 2, False), ("g", "W", 2, False), ("g", "W", 4, False)]
    assert charges(op="PutItem", new=900, idx={"g": [None, 0, "b", 320]})[1] == ("g", "W", 2, False)
    assert charges(op="PutItem", new=900, idx={"g": [None, 0, None, 0]}) == [(None, "W", 2, False)]


def test_lines_a_little_out_of_order_are_replayed() -> None:
    lines = [
        b'{"t":%s,"op":"PutItem","table":"T","pk":"a","new":5}' % at for at in (b"1.5", b"0.5", b"2", b"1.9")
    ]
    assert replayed(lines).totals.admitted == 4


def test_what_cannot_be_a_request_is_an_error_of_its_own() -> None:
    with pytest.raises(TraceLineError):
        read_request({})
