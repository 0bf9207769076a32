"""Rates from CloudWatch: every unit of the sums is asked for, peaks are as assumed, what is odd is said."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import orjson
import pytest

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan_of_rates import plan_of_rates, with_rates
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.traces.cloudwatch import begins_export, read_export, shaped
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.rate_file import RateTrace
from unit.planner.planned import ENGINES, resource

MIDNIGHT = 1_793_577_600
READS, WRITES = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"
PLAN = """\
start: 2020-01-01T00:00:00Z
tables:
  Orders:
    mode: provisioned
    read: 100
    write: 100
    item_size: 1.5 KB
    indexes: {by-status: {read: 100, write: 100, projection: keys_only}}
classes:
  Orders writes: {keys: {date: day}}
"""


def series(label: Any, *values: float, every: int = 60, begin: int = MIDNIGHT) -> dict[str, Any]:
    """As the command prints them: the latest first."""
    points = list(enumerate(values))[::-1]
    moments = [begin + every * at for at, _ in points]
    return {"Id": "m", "Label": label, "Timestamps": moments, "Values": [value for _, value in points]}


def export(*results: Any, period_s: int | None = None, peak: float = 1) -> RateTrace:
    text = orjson.dumps({"MetricDataResults": list(results), "Messages": []})
    return read_export("m.json", text, period_s=period_s, peak_factor=Fraction(peak))


def outcome(trace: RateTrace, engine: str | None = None, plan_text: str = PLAN) -> PlanOutcome:
    plan = load_plan(plan_text, "plan.yaml", traced=True, start_s=trace.start_s)
    return run(with_rates(plan, trace), engine=engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_units_of_the_sums_are_asked_for(engine: str) -> None:
    trace = export(
        series(f"Orders {READS}", 3000, 0, 600), series(f"Orders {WRITES}", 1200, 2400, 600),
        series(f"Orders by-status {READS}", 60.5),
    )  # fmt: skip
    found = outcome(trace, engine)
    table, index = resource(found, "Orders"), resource(found, "Orders/index/by-status")
    assert (found.start, found.duration_s, found.samples) == ("2026-11-02T00:00:00Z", 180, 3)
    assert table.read.offered == pytest.approx((50, 0, 10), abs=0.05)
    assert table.write.offered == pytest.approx((20, 40, 10), abs=0.05)
    assert index.read.offered == pytest.approx((1, 0, 0), abs=0.05)
    assert index.write.offered == pytest.approx((10, 20, 5), abs=0.05)
    assert {flow.name for flow in found.flows} == {
        "Orders, Orders reads: GetItem, 0.5 RCU",
        "Orders, Orders writes: PutItem, 2 WCU",
        "Orders/index/by-status, Orders/index/by-status reads: Query, 0.5 RCU",
    }
    assert [key.key for key in found.hot_keys if key.resource == "Orders"] == ["2026-11-02"]


def test_sub_minute_peaks_are_flagged() -> None:
    found = outcome(export(series(f"Orders {WRITES}", 1200)))
    said = "Sub-minute peaks unknown: CloudWatch has sums of 60 s, each taken to be evenly spread."
    assert said in found.assumptions
    peaked = export(series(f"Orders {WRITES}", 1200), peak=3).assumptions[0]
    assert peaked.endswith("each taken to begin with 10 s at 3 times the mean.")


def test_a_peak_factor_keeps_the_sum() -> None:
    cases = ((60, 3, 10), (60, 1, 30), (60, 60, 1), (300, 2, 75), (60, 1.5, 20), (7, 7, 1))
    for period_s, peak, first_s in cases:
        total = 1_234_567
        seconds = list(shaped(total, period_s, Fraction(peak)))
        assert (len(seconds), sum(seconds)) == (period_s, total)
        assert max(seconds) == pytest.approx(peak * total / period_s, rel=1e-4)
        assert sum(1 for each in seconds if each > 0.99 * max(seconds)) == (first_s if peak > 1 else period_s)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_peak_factor_finds_throttles_that_means_hide(engine: str) -> None:
    plan = (
        "tables: {Orders: {mode: provisioned, read: 100, write: 100, partitions: 1, partition_caps: 200/100}}"
    )
    minutes = [5400] * 10
    flat = outcome(export(series(f"Orders {READS}", *minutes)), engine, plan)
    peaked = outcome(export(series(f"Orders {READS}", *minutes), peak=4), engine, plan)
    assert (flat.totals.throttled, peaked.totals.throttled > 1000) == (0, True)
    assert max(resource(flat, "Orders").read.consumed_peak) == pytest.approx(90, rel=0.01)
    assert max(resource(peaked, "Orders").read.consumed_peak) >= 300
    assert peaked.totals.offered == pytest.approx(flat.totals.offered, abs=1)


def test_sums_of_five_minutes() -> None:
    five = series(f"Orders {READS}", 300, 600, 300, every=300)
    trace = export(five)
    (rate,) = trace.rates.values()
    assert (trace.duration_s, [rate.micro(second) for second in (0, 299, 300, 899)]) == (
        900, [2_000_000, 2_000_000, 4_000_000, 2_000_000],
    )  # fmt: skip
    assert export(five).assumptions[-1] == (
        "All points are 300 s apart or a multiple of it, and were taken for sums of 300 s: "
        "if they are sums of 60 s with none between, say --period 60."
    )
    # 90,000 units in 300 s are 300 a second, not 1,500 for a minute and none for four.
    (rate,) = export(series(f"Orders {READS}", 90_000, 90_000, every=300)).rates.values()
    assert {rate.micro(second) for second in range(600)} == {2 * 300 * 1_000_000}
    assert len(export(five, period_s=300).assumptions) == 3
    assert len(export(series(f"T {READS}", 1, 2)).assumptions) == 3
    with pytest.raises(
        PlanError, match=r"points are 60 s apart, which cannot be sums of 300 s\. Say --period 60\."
    ):
        export(series(f"Orders {READS}", 1, 2), period_s=300)


@pytest.mark.parametrize(
    ("result", "lost", "said"),
    [
        (series("Orders ReadThrottleEvents", 1, 2), 2, "its Label should be a table and a metric of"),
        (series(READS, 1), 1, "its Label should name a table, and perhaps an index of it: 'Orders Con"),
        (series(f"a b c {READS}", 1), 1, "its Label should name a table"),
        (series(f"Orders {READS} {WRITES}", 1), 1, "its Label should be a table and a metric"),
        (series(f"Orders by-status {WRITES}", 1, 2, 3), 3, "writes of an index follow those of its table"),
        (series(None, 1), 1, "its Label should be"),
        ("text", 1, "its Label should be"),
        ({"Label": f"Orders {READS}", "Timestamps": [1], "Values": []}, 1, "as many Timestamps as Values"),
        (series(f"Orders {READS}", -1), 1, "-1 cannot be a sum of units"),
        (series(f"Orders {READS}", True), 1, "True cannot be a sum of units"),
        (series(f"Orders {READS}", 1e300), 1, "more than 10,000,000 requests of one kind in second 0"),
        (series(f"Orders {READS}", 1, 2, every=0), 1, f"{MIDNIGHT} is there twice"),
        (series(f"Orders {READS}", 1, begin=-60), 1, "a moment lies in one of the years 1970 to 2998"),
        (series(f"Orders {READS}", 1, begin=MIDNIGHT + 366 * 86_400), 1, "later than 366 days after"),
        ({"Label": f"Orders {READS}", "Timestamps": ["noon"], "Values": [1]}, 1, "'noon' is not a moment"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_skipped_and_counted(result: Any, lost: int, said: str) -> None:
    trace = export(series(f"Orders {WRITES}", 60), result)
    assert trace.skipped == lost
    assert trace.mistakes[0].startswith("m.json:")
    assert said in trace.mistakes[0]


def test_times_as_the_command_and_as_the_service_write_them() -> None:
    written = ("2026-11-02T00:00:00+00:00", "2026-11-02T01:00:00+01:00", "2026-11-02T00:00:00Z")
    for moment in (*written, MIDNIGHT):
        result = {"Label": f"Orders {READS}", "Timestamps": [moment], "Values": [1]}
        assert export(result).start_s == MIDNIGHT


def test_get_metric_statistics_is_of_the_table_that_the_file_is_called_like() -> None:
    points = [{"Timestamp": f"2026-11-02T00:0{n}:00+00:00", "Sum": 60.0, "Unit": "Count"} for n in (1, 0)]
    text = orjson.dumps({"Label": WRITES, "Datapoints": points})
    assert begins_export(text)
    trace = read_export("some/Orders.json", text, peak_factor=Fraction(1))
    ((kind, rate),) = trace.rates.items()
    assert (kind.table, kind.operation) == ("Orders", "PutItem")
    assert [rate.micro(second) for second in (0, 60)] == [2_000_000, 2_000_000]


def test_pages_of_one_series_are_one() -> None:
    label = f"Orders {WRITES}"
    trace = export(series(label, 60, 120), series(label, 180, begin=MIDNIGHT + 120))
    (rate,) = trace.rates.values()
    assert [rate.micro(second) for second in (0, 60, 120)] == [2_000_000, 4_000_000, 6_000_000]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{\n\n{", "m.json:3: this is not JSON"),
        (b"[]", "m.json: there are no MetricDataResults in this document. Save what aws cloudwatch"),
        (b'{"Datapoints": [{"Average": 1}]}', "m.json: its Datapoints have no Sum. Ask for --statistics Sum"),
    ],
)
def test_what_is_no_export_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        read_export("m.json", text, peak_factor=Fraction(1))
    assert said in str(refused.value)


def test_an_export_without_points_is_refused() -> None:
    with pytest.raises(PlanError, match="there are no rates in this file"):
        plan_of_rates(export())


def test_without_a_plan_the_tables_are_on_demand() -> None:
    found = run(plan_of_rates(export(series(f"Orders {WRITES}", 600))))
    assert [(each.name, each.mode) for each in found.resources] == [("Orders", "PAY_PER_REQUEST")]
    assert found.totals.write_units == 600


def test_an_export_is_known_by_its_first_line() -> None:
    assert begins_export(b"{\n")
    assert begins_export(b'{"MetricDataResults":[')
    assert not begins_export(b'{"faradisc_trace":1,"start":"2026-11-02T00:00:00Z"}\n')
