"""The tables of an outcome, for the page and for the terminal. Each is None where it has nothing to show.

Keys and item collections that fit are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from faradisc.charts.markup import Child, Markup, element
from faradisc.charts.plots import bar
from faradisc.charts.tables import ChartTable, Column, Row, rows_of
from faradisc.charts.words import count, elapsed, money, percent, size, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.results.event_rows import repeated
from faradisc.tools.planner.results.headline import DIRECTIONS, sentence
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome, ScalingTimeline

FEW_STEPS = 12
"""Steps of auto scaling that are shown with their alarms, and not folded away."""
_GIB = 1 << 30
_KINDS = {
    "split-started": "split begins",
    "split": "split",
    "split-rejected": "not split",
    "grown": "grown",
    "boosted": "boosted",
    "changed": "changed by the plan",
}


def _table(
    caption: str, columns: Sequence[Column], rows: Iterable[Row | Sequence[Child]], detail: Detail
) -> ChartTable | None:
    listed = rows_of(rows)
    if not listed:
        return None
    left_out = max(len(listed) - detail.rows, 0)
    return ChartTable(caption, columns, listed[: detail.rows], left_out, "all of them are in the CSV tables")


def _key(text: str, detail: Detail) -> Markup:
    return element("span", cut(text, detail), class_="key")


def result(holds: bool, word: str = "fails") -> Markup:
    return element("b", "holds" if holds else word, class_="ok" if holds else "broken")


# --- Of the whole plan --------------------------------------------------------------------------------


def budgets(outcome: PlanOutcome, detail: Detail) -> ChartTable | None:
    columns = (Column("budget", words=True), Column("result", words=True), Column("in words", words=True))
    rows = [
        Row(
            (each.name.replace("_", " "), result(each.holds, "broken"), cut(sentence(each.words), detail)),
            None if each.holds else "bad",
        )
        for each in outcome.budgets
    ]
    return _table("Budgets", columns, rows, detail)


def what_if(outcome: PlanOutcome, detail: Detail) -> ChartTable | None:
    columns = (
        Column("change", words=True), Column("result", words=True), Column("throttled", "of attempts"),
        Column("lost", "of requests"), Column("a month", "USD"),
    )  # fmt: skip
    rows = [
        (
            cut(each.change, detail),
            [result(each.holds), f" in {each.draws.held} of {each.draws.drawn}" if each.draws else ""],
            percent(each.throttled_percent),
            percent(each.lost_percent),
            money(each.monthly_usd),
        )
        for each in outcome.what_if
    ]
    return _table("What if: the same plan with one change", columns, rows, detail)


def flows(outcome: PlanOutcome, detail: Detail) -> ChartTable | None:
    columns = (
        Column("traffic", words=True), Column("requests"), Column("cached"), Column("attempts"),
        Column("throttled", "of attempts"), Column("lost", "of requests"),
        Column("wait, mean", "ms", detail=True), Column("wait, p99", "ms"),
        Column("read units", detail=True), Column("write units", detail=True),
    )  # fmt: skip
    rows = [
        (
            cut(flow.name, detail),
            count(flow.offered),
            count(flow.cached),
            count(flow.attempts),
            percent(flow.throttled_percent),
            percent(flow.lost_percent),
            units(flow.waits.mean_ms),
            units(flow.waits.p99_ms),
            count(flow.read_units),
            count(flow.write_units),
        )
        for flow in (*outcome.flows, outcome.totals)
    ]
    return _table("Traffic", columns, rows if len(outcome.flows) > 1 else rows[-1:], detail)


def costs(outcome: PlanOutcome, detail: Detail) -> ChartTable | None:
    modes = outcome.costs.modes
    columns = (
        Column("mode", words=True), Column("reads", "USD"), Column("writes", "USD"),
        Column("storage", "USD"), Column("other", "USD"), Column("total", "USD"),
        Column("of it indexes", "USD", detail=True), Column("throttled", "of the units"),
    )  # fmt: skip
    highest = max((mode.total_usd for mode in modes), default=0) or 1
    rows = [
        Row(
            (
                f"{mode.title}, cheapest" if mode.cheapest else mode.title,
                money(mode.read_usd),
                money(mode.write_usd),
                money(mode.storage_usd),
                money(mode.other_usd),
                [
                    money(mode.total_usd),
                    bar(mode.total_usd / highest, style="bar best" if mode.cheapest else "bar", width=90),
                ],
                money(mode.index_usd),
                percent(mode.throttled_percent),
            ),
            "best" if mode.cheapest else None,
            cut(mode.words, detail),
        )
        for mode in modes
    ]
    return _table("A month in each mode", columns, rows, detail)


def costs_by_resource(outcome: PlanOutcome, detail: Detail) -> ChartTable | None:
    columns = [
        Column("table or index", words=True),
        *(Column(mode.title, "USD") for mode in outcome.costs.modes),
        Column("cheapest", words=True),
    ]
    rows = [
        (
            cut(each.resource, detail),
            *(money(mode.total_usd) for mode in each.modes),
            next(
                (mode.title for mode in each.modes if mode.cheapest), "none: all throttle more than allowed"
            ),
        )
        for each in outcome.costs.resources
    ]
    return _table("The same by table and index", columns, rows, detail) if len(rows) > 1 else None


# --- Of one table or index, or of all -----------------------------------------------------------------


def hot_keys(outcome: PlanOutcome, resource: ResourceOutcome, detail: Detail) -> ChartTable | None:
    columns = (
        Column("key", words=True), Column("in", words=True), Column("share", "of the units"),
        Column("mean", "units/s", detail=True), Column("busiest second", "units/s"),
        Column("a partition serves", "units/s"), Column("requests", detail=True), Column("throttled"),
        Column("verdict", words=True),
    )  # fmt: skip
    verdicts = {"near": "near the limit", "isolated": "fits after a split"}
    rows = [
        Row(
            (
                _key(key.key, detail),
                DIRECTIONS[key.direction],
                percent(key.share_percent),
                units(key.mean_units),
                [units(key.peak_units), bar(key.peak_units / max(key.limit_units, 1), width=60)],
                units(key.limit_units),
                count(key.offered),
                count(key.throttled),
                element("b", verdicts.get(key.verdict, f"shard {key.ways} ways"), class_="mark"),
            ),
            "bad" if key.verdict == "shard" else None,
            cut(key.words, detail),
        )
        for key in outcome.hot_keys
        if key.resource == resource.name and key.verdict != "fits"
    ]
    return _table("Hot partition keys", columns, rows, detail)


def collections(outcome: PlanOutcome, resource: ResourceOutcome, detail: Detail) -> ChartTable | None:
    columns = (
        Column("key", words=True), Column("at the beginning"), Column("at the end"),
        Column("used", "of 10 GB"), Column("full in", "days at this rate"), Column("verdict", words=True),
    )  # fmt: skip
    rows = [
        Row(
            (
                _key(each.key, detail),
                size(each.gib_first * _GIB),
                size(each.gib_last * _GIB),
                [percent(each.percent), bar(min(each.percent / 100, 1), width=60)],
                units(each.full_in_days) if each.full_in_days is not None else "",
                element("b", "full" if each.verdict == "full" else "near 10 GB", class_="mark"),
            ),
            "bad" if each.verdict == "full" else None,
            cut(each.words, detail),
        )
        for each in outcome.collections
        if each.resource == resource.name and each.verdict != "fits"
    ]
    return _table("Largest item collections, local indexes included", columns, rows, detail)


def headroom(outcome: PlanOutcome, resource: ResourceOutcome, detail: Detail) -> ChartTable | None:
    columns = (
        Column("", words=True), Column("capacity, first", "units/s"), Column("capacity, last", "units/s"),
        Column("busiest minute", "units/s"), Column("busiest second", "units/s"),
        Column("least left", "of the capacity"), Column("at"), Column("over double peak", "minutes"),
        Column("first at", detail=True), Column("warm throughput", "recommended"),
    )  # fmt: skip
    rows = [
        Row(
            (
                DIRECTIONS[room.direction],
                count(room.capacity_first),
                count(room.capacity_last),
                units(room.demand_minute),
                units(room.demand_second),
                percent(room.least_percent),
                elapsed(room.least_at_s),
                count(room.minutes_over),
                elapsed(room.first_over_s) if room.first_over_s is not None else "",
                count(room.warm_units) if room.warm_units is not None else "none",
            ),
            "bad" if room.minutes_over else None,
            cut(room.words, detail) if room.warm_units is not None else None,
        )
        for room in outcome.headroom
        if room.resource == resource.name
    ]
    caption = "On-demand headroom: capacity of the doubling rule against demand"
    return _table(caption, columns, rows, detail)


def split_log(outcome: PlanOutcome, resource: ResourceOutcome, detail: Detail) -> ChartTable | None:
    """Splits, rejected splits, growth. Where there are too many, beginnings of splits are left out."""
    columns = (
        Column("at"), Column("what", words=True, detail=True),
        Column("partition", words=True, detail=True), Column("because of", words=True, detail=True),
        Column("key", words=True, detail=True), Column("partitions"), Column("in words", words=True),
    )  # fmt: skip
    events = [event for event in outcome.events if event.resource == resource.name]
    if len(events) > detail.rows:
        events = [event for event in events if event.kind != "split-started"]
    rows = [
        (
            elapsed(event.at_s),
            _KINDS.get(event.kind, event.kind),
            cut(event.partition or "", detail),
            cut(event.reason or "", detail),
            _key(event.key, detail) if event.key is not None else "",
            count(event.partitions) if event.partitions is not None else "",
            cut(words, detail),
        )
        for event, words in repeated(events)
    ]
    return _table("Splits, and why others were not made", columns, rows, detail)


def scaling_steps(target: ScalingTimeline, detail: Detail) -> ChartTable | None:
    """The steps of auto scaling. Where there are many, alarms are left out."""
    columns = (
        Column("at"), Column("step", words=True), Column("from", "units/s"), Column("to", "units/s"),
        Column("why", words=True),
    )  # fmt: skip
    events = target.events
    if len(events) > FEW_STEPS:
        events = tuple(event for event in events if event.kind != "alarm")
    rows = [
        (
            elapsed(event.at_s),
            event.kind,
            count(event.present) if event.present is not None and event.present != event.wanted else "",
            count(event.wanted) if event.wanted is not None else "",
            cut(event.words, detail),
        )
        for event in events
    ]
    what = "Reads" if target.direction == "R" else "Writes"
    return _table(f"{what}: steps of auto scaling", columns, rows, detail)


def partition_table(resource: ResourceOutcome, detail: Detail) -> ChartTable | None:
    columns = (
        Column("partition", words=True), Column("split of", words=True),
        Column("key range", "percent of the key space"), Column("since"), Column("until"),
        Column("reads, highest", "units/s"), Column("writes, highest", "units/s"), Column("throttled"),
        Column("size"), Column("size for each write unit/s"),
    )  # fmt: skip
    rows = [
        (
            cut(part.id, detail),
            cut(part.parent or "", detail),
            f"{100 * part.low:.3f} to {100 * part.high:.3f}",
            elapsed(part.born_s),
            elapsed(part.retired_s) if part.retired_s is not None else "",
            units(max(part.read, default=0)),
            units(max(part.write, default=0)),
            count(sum(part.throttled)),
            size((part.gib[-1] if part.gib else 0) * _GIB),
            size(part.gib[-1] * _GIB / part.write_limit[-1]) if part.gib and part.write_limit[-1] else "",
        )
        for part in resource.partitions
    ]
    return _table("Partitions", columns, rows, detail)
