"""The examples of docs/formats/trace.md and rates.md are read as described; the plans of the guide load."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.plan_file.key_file import read_keys
from faradisc.tools.planner.plan_file.loading import load_plan, load_plans
from faradisc.tools.planner.plan_file.plan import BUDGETS
from faradisc.tools.traces.cloudwatch import read_export
from faradisc.tools.traces.rate_file import read_rates
from faradisc.tools.traces.trace_format import (
    READS,
    WRITES,
    Recorded,
    Trace,
)
from faradisc.tools.traces.trace_writer import TraceCharge, TraceWriter

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "formats" / "trace.md").read_text()
GUIDE = (DOCS / "guide" / "planning.md").read_text() + (DOCS / "reference" / "plan-files.md").read_text()
RATES = (DOCS / "formats" / "rates.md").read_text()


def indented(page: str) -> list[bytes]:
    """Returns the lines of an indented example."""
    return [line.strip().encode() for line in page.splitlines() if line.startswith("    ")]


KEYS = indented(RATES[RATES.index("## Keys") :])
LINES = [line.strip().encode() for line in PAGE.splitlines() if line.startswith("    {")]


def requests() -> list[Recorded]:
    trace = Trace.scan("page", lambda: LINES)
    assert (trace.skipped, trace.lines_read) == (0, len(LINES))
    assert list(trace.tables) == ["Orders"]
    return list(trace.requests())


def test_lines_of_the_trace_page_are_read() -> None:
    put, query, rejected, short, get, index = requests()
    assert [(charge.index, charge.direction, charge.half_units) for charge in put.charges] == [
        (None, "W", 4),
        ("by-status", "W", 2),
    ]
    assert (put.key, put.grows_bytes, put.grows_items) == ("u1", 200, 1)
    assert query.charges[0].eventual and not rejected.charges[0].eventual
    assert [charge.half_units for charge in short.charges] == [4, 2, 2]
    assert (get.charges[0].half_units, index.charges[0].index) == (2, "by-status")


def test_trace_writer_writes_the_lines_of_the_page() -> None:
    start = 1_793_577_600 * SECOND_NS
    lines: list[bytes] = []
    writer = TraceWriter(lines.append, start + 5)
    rates = {"by-status": (5, 10)}
    writer.describe(
        "Orders",
        read_units=10,
        write_units=10,
        sort_key=True,
        items=2000,
        size_bytes=2048000,
        partitions=4,
        profile="aws",
        partition_caps="30/10",
        indexes=rates,
    )
    place = bytes.fromhex("0123456789abcdef0123456789abcdef7531")
    entry = bytes.fromhex("fedcba9876543210fedcba98765432104f50454e")
    put = [TraceCharge(None, "W", place, 4), TraceCharge("by-status", "W", entry, 2)]
    writer.request(start + SECOND_NS // 4, "PutItem", "Orders", put, key="u1", grows_bytes=200, grows_items=1)
    read = [TraceCharge(None, "R", place, 3, eventual=True)]
    writer.request(start + SECOND_NS // 2, "Query", "Orders", read, key="u1")
    reason = "TableWriteProvisionedThroughputExceeded"
    charge = [TraceCharge(None, "W", place, 2)]
    writer.request(start + 3 * SECOND_NS // 4, "PutItem", "Orders", charge, refused=reason)
    assert [json.loads(line) for line in lines] == [json.loads(line) for line in LINES[:5]]
    assert b"".join(lines) == b"".join(line + b"\n" for line in LINES[:5])


def test_plans_of_the_guide_can_be_loaded() -> None:
    first, classes, variants, tables = re.findall(r"```yaml\n(.*?)```", GUIDE, re.S)
    assert set(load_plan(tables + classes, "guide", traced=True).classes) == {"shop", "back office"}
    assert load_plan(first, "guide").duration_s == 3600
    day, suffixed, on_demand = load_plans(f"duration: 1h\n{variants}", "guide")
    assert (day.variant, suffixed.variant) == ("the day", "the day and a suffix")
    assert day.traffic[0].keys.words != suffixed.traffic[0].keys.words
    assert on_demand.tables[0].rates.on_demand
    traffic = "duration: 3h\ntraffic: [{operation: GetItem, rate: 1, keys: single}]\n"
    assert load_plan(tables + traffic, "guide").tables[0].rates.write_scaling is not None


def test_guide_names_every_budget_and_key_model() -> None:
    assert all(f"`{name}`" in GUIDE for name in BUDGETS)
    for keys in re.findall(r"^\| `([^`]+)`.*? \|", GUIDE[GUIDE.index("| `keys:`") :], re.M):
        if not keys.startswith(("{", "single")):
            continue
        text = (
            "duration: 1m\ntables: {T: {mode: on-demand}}\n"
            f"traffic: [{{operation: GetItem, rate: 1, keys: {keys}}}]\n"
        )
        assert load_plan(text, "guide", lines_of=lambda name: KEYS).traffic


def test_rates_of_the_page_are_read() -> None:
    trace = read_rates("rates.csv", indented(RATES[: RATES.index("## Data of CloudWatch")]))
    assert (trace.skipped, trace.lines_read, trace.duration_s) == (0, 4, 2)
    found = {
        (kind.table, kind.index, kind.key_class, kind.operation, kind.half_units): (
            rate.micro(0),
            rate.micro(1),
        )
        for kind, rate in trace.rates.items()
    }
    assert found == {
        ("Orders", None, "shop", "GetItem", 1): (900_000_000, 0),
        ("Orders", None, "shop", "PutItem", 2): (90_000_000, 0),
        ("Orders", None, "shop", "PutItem", 4): (30_000_000, 80_500_000),
        ("Orders", "by-status", "back office", "Query", 8): (0, 3_000_000),
    }
    assert f"`{'`, `'.join(READS)}`, `{'`, `'.join(WRITES)}`" in RATES


def test_export_of_the_page_is_read() -> None:
    text = b"\n".join(indented(RATES[RATES.index("> metrics.json") : RATES.index("## Keys")]))
    trace = read_export("metrics.json", text, peak_factor=Fraction(1))
    assert (trace.skipped, trace.lines_read, trace.duration_s, trace.start_s) == (0, 4, 120, 1_793_577_600)
    assert all(f"`{kind.key_class}`" in RATES for kind in trace.rates)
    labels = re.findall('"Label": "(Orders Consumed[A-Za-z]*)"', RATES[: RATES.index("MetricDataResults")])
    assert labels == ["Orders ConsumedReadCapacityUnits", "Orders ConsumedWriteCapacityUnits"]


def test_keys_of_the_page_are_read() -> None:
    assert read_keys("keys.csv", KEYS) == [("a, b", 2.5), ("u1", 2), ("u2", 1)]
