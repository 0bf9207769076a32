"""The sections of a table's page: capacity, the heat map, partitions, keys, the log of splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.charts.heatmap import Life, grid, heatmap
from faradisc.charts.markup import Child, Markup, element
from faradisc.charts.plots import bar
from faradisc.charts.tables import Column, Row, table
from faradisc.charts.words import brief, count, duration, moment, percent, plural, size, units
from faradisc.engine.metrics.heat_history import SLOT_S, HeatHistory, busiest

ROWS_MAX = 64
KEYS_MAX = 20
SECOND_NS = 1_000_000_000

Described = Mapping[str, Any]


def capacity(resource: Described) -> Markup:
    """Returns rates and burst balances of reads and writes."""
    rows = []
    for name, title in (("read", "reads"), ("write", "writes")):
        direction = resource[name]
        rate = sum(part[name]["heat"] for part in resource["partitions"])
        burst, full = direction["burst"], direction["burst_max"]
        provisioned = resource["capacity"]
        limit = provisioned[0 if name == "read" else 1] if provisioned else direction["rate"]
        rows.append(
            (
                title,
                [units(rate), bar(rate / limit if limit else 0, width=80)],
                units(limit) if limit else "",
                "" if burst is None else [units(burst), bar(burst / full if full else 0, width=80)],
                "" if full is None else units(full),
                "" if direction["maximum"] is None else units(direction["maximum"]),
                count(sum(part[name]["throttled"] for part in resource["partitions"])),
            )
        )
    return table(
        "Rates and burst balances",
        (
            Column("direction", words=True),
            Column("now", "units/s, one-minute average"),
            Column("can serve" if resource["capacity"] else "provisioned", "units/s"),
            Column("burst balance", "units"),
            Column("of at most", "units"),
            Column("configured maximum", "units/s"),
            Column("throttled", "by partitions"),
        ),
        rows,
    )


def heat(resource: Described, history: HeatHistory) -> Markup | None:
    """Returns the heat map of the last hour; None without data."""
    pasts, slots = history.of(resource["arn"])
    if not pasts:
        return None
    lives = [Life(past.name, past.parent, past.first, past.used, past.throttled) for past in pasts]
    found = grid(lives, slots, slots, 120)
    span_s = slots * SLOT_S
    highest = max(busiest(part) for part in resource["partitions"])
    return heatmap(
        found,
        span_s,
        f"The busiest of {plural(len(lives), 'partition')} now uses {percent(highest)} of its limit.",
        f"The last {duration(span_s)}; blank is idle. Each row is a partition, in order of keys; a row "
        "that divides is a split. Colour: the larger of reads and writes, averaged over a minute.",
        ago=True,
    )


def partitions(resource: Described, now_ns: int) -> Markup:
    """Returns the table of all partitions in order of keys; of more than ROWS_MAX, the busiest."""
    shown: Sequence[Described] = resource["partitions"]
    if len(shown) > ROWS_MAX:
        shown = sorted(shown, key=lambda part: (-busiest(part), part["id"]))[:ROWS_MAX]
    rows = [_partition(part, now_ns) for part in shown]
    return table(
        "Partitions" if len(rows) == len(resource["partitions"]) else "The busiest partitions",
        (
            Column("partition", words=True),
            Column("hash range", "percent of the key space"),
            Column("reads", "units/s"),
            Column("of the limit"),
            Column("writes", "units/s"),
            Column("of the limit"),
            Column("throttled"),
            Column("items"),
            Column("size"),
            Column("age"),
            Column("state", words=True),
        ),
        rows,
        left_out=len(resource["partitions"]) - len(rows),
    )


def _partition(part: Described, now_ns: int) -> Row:
    throttled = part["read"]["throttled"] + part["write"]["throttled"]
    state = part["state"]
    if part["hot_s"]:
        state += f", hot for {duration(part['hot_s'])}"
    return Row(
        (
            brief(part["id"]),
            f"{_share(part['low'], 0):.3f} to {_share(part['high'], 100):.3f}",
            units(part["read"]["heat"]),
            _used(part["read"]),
            units(part["write"]["heat"]),
            _used(part["write"]),
            count(throttled),
            count(part["items"]),
            size(part["bytes"]),
            duration(max(0, now_ns - part["born_ns"]) // SECOND_NS),
            state,
        ),
        note=f"Not split: {part['refused']}" if part["refused"] else None,
    )


def _used(direction: Described) -> Child:
    share = direction["heat_percent"]
    return [percent(share), bar(share / 100, style="no" if share >= 100 else "bar", width=60)]


def _share(key: str | None, end: float) -> float:
    """Returns a key's position in the hash space, in percent. The hash is its first 16 bytes."""
    if not key:
        return end
    return 100 * int(key[:32].ljust(32, "0"), 16) / (1 << 128)


def hot_keys(resource: Described) -> Markup | None:
    """Returns the table of the keys that make partitions hot, those with the largest share first."""
    found = [(part, key) for part in resource["partitions"] for key in part.get("hot_keys", ())]
    if not found:
        return None
    found.sort(key=lambda pair: (-pair[1]["percent"], pair[0]["id"], str(pair[1]["key"])))
    rows = [
        (
            _key(key["key"]),
            _key(key["sort_key"]),
            brief(part["id"]),
            key["direction"],
            percent(key["percent"]),
        )
        for part, key in found[:KEYS_MAX]
    ]
    return table(
        "Keys that make partitions hot",
        (
            Column("partition key", words=True),
            Column("sort key", words=True),
            Column("in", words=True),
            Column("of its", words=True),
            Column("share"),
        ),
        rows,
        left_out=len(found) - len(rows),
    )


def _key(text: Any) -> Child:
    return "" if text is None else element("span", str(text)[:200], class_="key")


_RULES = {
    "PKC": "partition keys, by units",
    "SKC": "items, by units",
    "PKT": "partition keys, by throttles",
    "SKT": "items, by throttles",
}


def insights(rules: Described) -> list[Markup]:
    """Returns tables of Contributor Insights, where it is enabled."""
    return [
        table(
            f"Contributor Insights: {_RULES.get(rule, rule)}",
            (Column("key", words=True), Column("score")),
            [(_key(", ".join(map(str, top["key"]))), units(top["score"])) for top in found[:KEYS_MAX]],
        )
        for rule, found in rules.items()
        if found
    ]


def splits(resource: Described) -> Markup | None:
    """Returns the log of splits, newest first."""
    log = resource["splits"]
    if not log:
        return None
    rows = [_event(event) for event in reversed(log[-ROWS_MAX:])]
    return table(
        "Splits, and why others were rejected",
        (
            Column("at"),
            Column("event", words=True),
            Column("partition", words=True),
            Column("reason", words=True),
            Column("result", words=True),
        ),
        rows,
        left_out=len(log) - len(rows),
    )


def _event(event: Described) -> list[Child]:
    at = moment(event["at_ns"] / SECOND_NS)
    match event["event"]:
        case "SplitStarted":
            ready = moment(event["ready_ns"] / SECOND_NS)
            return [at, "split begins", brief(event["parent"]), event["reason"], f"ready at {ready}"]
        case "Split":
            children = ", ".join(brief(child) for child in event["children"])
            result = f"{children}; {plural(event['partitions'], 'partition')} in all"
            return [at, "split", brief(event["parent"]), event["reason"], result]
        case "SplitRefused":
            return [at, "not split", brief(event["partition"]), event["wanted"], event["cause"]]
        case kind:
            return [at, kind, brief(event.get("partition", "")), "", ""]
