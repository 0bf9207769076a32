"""Hot keys with their verdicts, and the log of splits and of refusals to split."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.charts.heatmap import brief
from faradisc.charts.markup import Child, Markup, element
from faradisc.charts.plots import bar
from faradisc.charts.tables import Column, Row, table
from faradisc.charts.words import count, elapsed, percent, size, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.results.outcome import EventRow, HotKey, Outcome, ResourceOutcome

_VERDICTS = {"fits": "fits", "near": "near the limit", "isolated": "isolated, then fits"}

_KINDS = {
    "split-started": "split begins",
    "split": "split",
    "split-refused": "not split",
    "grown": "grown",
    "boosted": "boosted",
    "changed": "changed by the plan",
}


def verdict(key: HotKey) -> str:
    """The verdict in two or three words."""
    return (
        f"shard {key.ways} ways"
        if key.verdict == "shard" and key.ways
        else _VERDICTS.get(key.verdict, "shard")
    )


def hot_keys(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """The heaviest keys of a resource; None without any."""
    keys = [key for key in outcome.hot_keys if key.resource == resource.name]
    if not keys:
        return None
    rows = [
        Row(
            (
                element("span", cut(key.key, detail), class_="key"),
                "reads" if key.direction == "R" else "writes",
                percent(key.share_percent),
                units(key.mean_units),
                [
                    units(key.peak_units),
                    bar(key.peak_units / key.limit_units if key.limit_units else 0, width=60),
                ],
                units(key.limit_units),
                count(key.offered),
                count(key.throttled),
                element("b", verdict(key), class_="mark"),
            ),
            "bad" if key.verdict == "shard" else None,
            cut(key.words, detail) if key.verdict != "fits" else None,
        )
        for key in keys[: detail.rows]
    ]
    return table(
        "Heaviest partition keys",
        (
            Column("key", words=True),
            Column("in", words=True),
            Column("share", "of the units"),
            Column("mean", "units/s"),
            Column("busiest second", "units/s"),
            Column("a partition serves", "units/s"),
            Column("requests"),
            Column("refused"),
            Column("verdict", words=True),
        ),
        rows,
        left_out=len(keys) - len(rows),
    )


def split_log(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """Splits, refusals to split, growth. Beginnings of splits are left out when there is too much."""
    found = [event for event in outcome.events if event.resource == resource.name]
    shown = found
    if len(shown) > detail.rows:
        shown = [event for event in shown if event.kind != "split-started"]
    if not shown:
        return None
    repeated = _repeated(shown)
    rows = [_event(event, times, last_s, detail) for event, times, last_s in repeated[: detail.rows]]
    return table(
        "Splits, and why others were not made",
        (
            Column("at"),
            Column("what", words=True),
            Column("partition", words=True),
            Column("because of", words=True),
            Column("key", words=True),
            Column("partitions"),
            Column("in words", words=True),
        ),
        rows,
        left_out=len(repeated) - len(rows),
        where="all of them are in the tables beside this page",
    )


def _repeated(events: Sequence[EventRow]) -> list[tuple[EventRow, int, float]]:
    """Each event with how often it came and when last. A hot partition that may not be split is refused anew
    every few minutes, for the same reason; that is one fact."""
    found: dict[tuple[object, ...], tuple[EventRow, int, float]] = {}
    for position, event in enumerate(events):
        same = (event.partition, event.key, event.words) if event.kind == "split-refused" else (position,)
        first, times, _ = found.get(same, (event, 0, 0))
        found[same] = (first, times + 1, event.at_s)
    return list(found.values())


def _event(event: EventRow, times: int, last_s: float, detail: Detail) -> list[Child]:
    words = cut(event.words, detail)
    if times > 1:
        words = f"{words} ({count(times)} times, the last at {elapsed(last_s)})"
    return [
        elapsed(event.at_s),
        _KINDS.get(event.kind, event.kind),
        cut(brief(event.partition), detail) if event.partition else "",
        event.reason or "",
        element("span", cut(event.key, detail), class_="key") if event.key is not None else "",
        count(event.partitions) if event.partitions is not None else "",
        words,
    ]


def partition_table(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """Every partition there was, with its peaks."""
    if not resource.partitions:
        return None
    rows = [
        (
            brief(part.id),
            cut(part.id, detail),
            brief(part.parent) if part.parent else "",
            f"{100 * part.low:.3f} to {100 * part.high:.3f}",
            elapsed(part.born_s),
            elapsed(part.retired_s) if part.retired_s is not None else "",
            units(max(part.read, default=0)),
            units(max(part.write, default=0)),
            count(sum(part.throttled)),
            size((part.gib[-1] if part.gib else 0) * (1 << 30)),
        )
        for part in resource.partitions[: detail.rows]
    ]
    left_out = len(resource.partitions) - len(rows) + resource.partitions_left_out
    listed = table(
        "Partitions",
        (
            Column("partition", words=True),
            Column("in full", words=True),
            Column("cut from", words=True),
            Column("hash range", "percent of the key space"),
            Column("since"),
            Column("until"),
            Column("reads, highest", "units/s"),
            Column("writes, highest", "units/s"),
            Column("refused"),
            Column("size"),
        ),
        rows,
        left_out=left_out,
    )
    return element("details", element("summary", "The numbers of each partition"), listed)
