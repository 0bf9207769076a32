"""The throughput of a table as the console shows it: rows of the heat map, hot keys, their remedies. Pure.

`past` is a resource of the admin page heat/TABLE, `now` one of capacity/TABLE (docs/guide/administration.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from faradisc.records import dataclass
from faradisc.tools.console.values import size_text, visible

HOT_PERCENT: Final = 5
"""A key with a smaller share of its partition's units is not called hot."""
HOT_MAX: Final = 20
ROWS_MAX: Final = 120
HASH_DIGITS: Final = 32
"""Hexadecimal digits of a hash, which begin the bounds of a partition."""
HEADROOM: Final = 1.25
PLAN_MINUTES: Final = 10
WATCH_S_MIN: Final = 20
"""Two slots of the heat map: before that, what is throttled is still what was."""
_WAYS: Final = ("read", "write")


def short(partition: str) -> str:
    """Returns the number of a partition, as in `#3`."""
    number = partition.rpartition("-")[2]
    return f"#{int(number)}" if number.isdecimal() else visible(partition)[-8:]


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key that makes a partition hot, and that partition."""

    part: Mapping[str, Any]
    key: Mapping[str, Any]

    @property
    def side(self) -> Mapping[str, Any]:
        """The partition's numbers in the direction of the key."""
        side: Mapping[str, Any] = self.part[self.key["direction"]]
        return side

    @property
    def names(self) -> list[str]:
        """Partition key and sort key; empty where they are not known."""
        return [str(each) for each in (self.key["key"], self.key["sort_key"]) if each is not None]

    @property
    def title(self) -> str:
        return visible(" / ".join(self.names or [str(self.key["instead"])]))[:120]

    @property
    def place(self) -> tuple[str, str, str]:
        """What it is: the key, its partition and the direction."""
        return self.title, self.part["id"], self.key["direction"]

    @property
    def weight(self) -> float:
        return float(max(self.side["latest"], self.side["heat"]) * self.key["percent"])

    @property
    def sentence(self) -> str:
        throttled = self.side["throttled"]
        where = f"the {self.key['direction']}s of partition {short(self.part['id'])}"
        return (
            f"{self.key['percent']:g} % of {where}, "
            f"which uses {self.side['latest_percent']:,} % of its limit"
            + (f" and has throttled {throttled:,} requests" if throttled else "")
        )


def hot_keys(now: Mapping[str, Any], within: set[str] | None = None) -> list[HotKey]:
    """Returns the hot keys of all partitions, or of those `within`, the hottest first."""
    found = [
        HotKey(part, key)
        for part in now["partitions"]
        if within is None or part["id"] in within
        for key in part.get("hot_keys", ())
        if key["percent"] >= HOT_PERCENT
    ]
    return sorted(found, key=lambda each: -each.weight)[:HOT_MAX]


def family(past: Mapping[str, Any], partition: str) -> set[str]:
    """Returns a partition and all that came from its splits: its keys are in those now."""
    found = {partition}
    rows: Sequence[Mapping[str, Any]] = past.get("partitions", ())
    is_growing = True
    while is_growing:
        more = {row["name"] for row in rows if row["parent"] in found} - found
        found |= more
        is_growing = bool(more)
    return found


def key_range(part: Mapping[str, Any]) -> str:
    """Returns the range of a partition: the key where it holds one, or the first digits of its hashes."""
    low, high = str(part["low"]), part["high"]
    is_inside = high is not None and low[:HASH_DIGITS] == str(high)[:HASH_DIGITS] and low != ""
    if is_inside or _is_next(low, high):
        named = next((each["key"] for each in part.get("hot_keys", ()) if each["key"] is not None), None)
        return visible(str(named))[:18] if named is not None else f"one key {low[:6]}"
    return f"{low[:4].ljust(4, '0')}–{'ffff' if high is None else str(high)[:4]}"


def _is_next(low: str, high: str | None) -> bool:
    """Returns whether a range has one hash only."""
    if high is None or len(low) < HASH_DIGITS:
        return False
    return int(str(high)[:HASH_DIGITS].ljust(HASH_DIGITS, "0"), 16) - int(low[:HASH_DIGITS], 16) == 1


def heat_rows(past: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the partitions for the heat map (heatmap.js), in order of keys."""
    parts = {part["id"]: part for part in now["partitions"]}
    rows = []
    for row in past.get("partitions", [])[:ROWS_MAX]:
        part = parts.get(row["name"])
        keys = hot_keys(now, {row["name"]}) if part else []
        label = key_range(part) if part else ""
        shown = {"label": label, "short": short(row["name"]), "key": keys[0].title if keys else ""}
        rows.append({**row, **shown})
    return rows


def recent_throttles(past: Mapping[str, Any], partition: str) -> float:
    """Returns the throttled requests a second of a partition, 0 for one that was split: the greater number of
    the slot that is running and the one before."""
    for row in past.get("partitions", ()):
        is_last = row["first"] + len(row["used"]) >= past["slots"]
        if row["name"] == partition and row["throttled"] and is_last:
            return float(max(row["throttled"][-2:])) / float(past.get("slot_s", 10))
    return 0.0


@dataclass(frozen=True, slots=True)
class Remedy:
    """What relieves a hot key."""

    rate: float
    """Units a second that the key asks for: consumed and throttled."""
    limit: float
    ways: int
    """Keys, or copies, among which its traffic has to be divided."""

    def plan(self, direction: str, now: Mapping[str, Any]) -> str:
        """Returns the plan (docs/guide/planning.md) of this key as it is, and divided further and further."""
        caps = [part[way]["limit"] for way in _WAYS for part in now["partitions"][:1]]
        operation = "PutItem" if direction == "write" else "GetItem, consistent: true"
        ways = [self.ways, 2 * self.ways, 4 * self.ways]
        variants = "".join(
            f"  {count} keys:\n    traffic: [{{name: key, keys: {{date: day, suffixes: {count}}}}}]\n"
            for count in ways
        )
        return (
            f"name: fix\nduration: {PLAN_MINUTES}m\nprofile: aws\n"
            f"partition_caps: {max(1, round(caps[0]))}/{max(1, round(caps[1]))}\n"
            "retries: none\ntables:\n  T: {mode: on-demand}\ntraffic:\n"
            f"  - {{name: key, operation: {operation}, rate: {max(self.rate, 1):.1f}, item_size: 1 KB, "
            f"keys: {{date: day}}}}\nvariants:\n  as it is:\n{variants}"
        )


def remedy(hot: HotKey, throttled: float) -> Remedy:
    """Returns what relieves a key. throttled: requests of its partition a second, each of a unit at least."""
    share = hot.key["percent"] / 100
    rate = (max(hot.side["latest"], hot.side["heat"]) + throttled) * share
    limit = hot.side["limit"]
    return Remedy(rate, limit, max(2, math.ceil(rate / limit * HEADROOM)) if limit else 2)


@dataclass(frozen=True, slots=True)
class Watch:
    """A key that is being cured: what was throttled before, against what is throttled since."""

    name: str
    partition: str
    before: float
    """Throttled requests a second when the cure began."""
    since_ns: int

    def verdict(self, past: Mapping[str, Any], now_ns: int) -> str:
        """Returns whether it has worked, by what is throttled in the key's partitions now."""
        within = family(past, self.partition)
        now = sum(recent_throttles(past, name) for name in within)
        seconds = (now_ns - self.since_ns) / 1e9
        if seconds < WATCH_S_MIN:
            return f"{self.name}: {self.before:,.1f} throttled a second; apply the change, this page watches."
        said = f"{self.name}: {self.before:,.1f} throttled a second before, {now:,.1f} now"
        if now == 0 and self.before > 0:
            return f"{said}. It worked."
        return f"{said}. " + ("It helps." if now < self.before / 2 else "Nothing has changed yet.")


def partition_cells(now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of the table of partitions, the busiest first."""

    def percent(part: Mapping[str, Any]) -> float:
        return max(float(part[way]["latest_percent"]) for way in _WAYS)

    def use(side: Mapping[str, Any]) -> str:
        return f"{side['latest']:,.1f} ({side['latest_percent']:,} %)"

    return [
        {
            "id": short(part["id"]),
            "range": key_range(part),
            "reads": use(part["read"]),
            "writes": use(part["write"]),
            "throttled": f"{part['read']['throttled'] + part['write']['throttled']:,}",
            "items": _items(part),
            "size": _size(part),
            "ratio": _ratio(part),
            "state": part["state"] + (f", not split: {part['refused']}" if part["refused"] else ""),
        }
        for part in sorted(now["partitions"], key=percent, reverse=True)[:ROWS_MAX]
    ]


def _items(part: Mapping[str, Any]) -> str:
    """Returns the number of items; after a split it is an estimate until the partition is measured."""
    if not part["unknown_bytes"]:
        return f"{part['items']:,}"
    return f"about {part['items']:,}" if part["items"] else "not counted"


def _size(part: Mapping[str, Any]) -> str:
    most = part["bytes"] + part["unknown_bytes"]
    return (
        size_text(most) if not part["unknown_bytes"] else f"{size_text(part['bytes'])} to {size_text(most)}"
    )


def _ratio(part: Mapping[str, Any]) -> str:
    """Returns the storage for each unit of reads and of writes; nothing from an older server."""
    ratios = [part[way].get("bytes_per_unit") for way in _WAYS]
    return " / ".join("-" if each is None else size_text(round(each)) for each in ratios)


def totals(now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns use, limit, burst and throttles of reads and of writes."""
    found = []
    for at, (way, title) in enumerate((("read", "Reads"), ("write", "Writes"))):
        direction = now[way]
        limit = now["capacity"][at] if now["capacity"] else direction["rate"]
        used = sum(part[way]["latest"] for part in now["partitions"])
        throttled = sum(part[way]["throttled"] for part in now["partitions"])
        burst, maximum = direction["burst"], direction["maximum"]
        found.append(
            {
                "title": title,
                "used": used,
                "limit": limit,
                "throttled": throttled,
                "facts": {
                    f"{title}, last 10 s": f"{used:,.1f} of {limit:,.0f} units/s",
                    "Burst balance": "none"
                    if burst is None
                    else f"{burst:,.0f} of {direction['burst_max']:,.0f}",
                    "Configured maximum": "none" if maximum is None else f"{maximum:,} units/s",
                    "Throttled by partitions": f"{throttled:,}",
                },
            }
        )
    return found
