"""An outcome as text for a terminal: verdict first, then tables that fit into 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.tools.planner.results.outcome import LaneSeries, Outcome, ResourceOutcome, Series

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60
_ROWS_MAX = 12


def summary(outcome: Outcome) -> str:
    """The whole text, lines ended by newlines."""
    lines = [
        outcome.name,
        "=" * len(outcome.name),
        *((outcome.description, "") if outcome.description else ()),
        f"{_clock(outcome.duration_s)} from {outcome.start}, profile {outcome.profile}, "
        f"engine {outcome.engine}, seed {outcome.seed}",
        "",
        "Verdict",
        *(f"  - {sentence}" for sentence in outcome.verdict),
        "",
    ]
    if outcome.budgets:
        lines += [
            "Budgets",
            *(f"  {'ok    ' if b.holds else 'BROKEN'} {b.words}" for b in outcome.budgets),
            "",
        ]
    for resource in outcome.resources:
        lines += _resource(resource)
    lines += _traffic(outcome) + _keys(outcome) + _collections(outcome) + _headroom(outcome)
    lines += _events(outcome) + _scaling(outcome) + _costs(outcome)
    if outcome.skipped is not None and outcome.skipped.lines:
        skipped = outcome.skipped
        lines += [f"Skipped {skipped.lines:,} lines of the trace ({skipped.read:,} were read):"]
        lines += [f"  {mistake}" for mistake in skipped.first] + [""]
    lines += ["Assumptions", *(f"  - {sentence}" for sentence in outcome.assumptions)]
    return "\n".join(lines) + "\n"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3600)
    text = f"{hours}:{rest // 60:02}:{rest % 60:02}"
    return f"{days} d {text}" if days else text


def _spark(series: Series, top: float) -> str:
    """A series as a line of bars: each stands for its stretch's largest value."""
    if not series:
        return ""
    width = min(_WIDTH, len(series))
    parts = [
        max(
            series[
                len(series) * i // width : max(len(series) * (i + 1) // width, len(series) * i // width + 1)
            ]
        )
        for i in range(width)
    ]
    return "".join(_BARS[min(round(8 * part / top), 8) if top else 0] for part in parts)


def _resource(resource: ResourceOutcome) -> list[str]:
    mode = "on demand" if resource.mode == "PAY_PER_REQUEST" else "provisioned"
    first, last = (resource.partition_count or (0,))[0], (resource.partition_count or (0,))[-1]
    count = f"{last}" if first == last else f"{first} to {last}"
    lines = [f"{resource.name}: {mode}, partitions: {count}"]
    for title, unit, lane in (("reads", "RCU", resource.read), ("writes", "WCU", resource.write)):
        if any(lane.offered):
            lines += _lane(title, unit, lane)
    return [*lines, ""]


def _lane(title: str, unit: str, lane: LaneSeries) -> list[str]:
    offered, consumed = max(lane.offered), max(lane.consumed)
    top = max(offered, consumed)
    lines = [
        f"  {title:6} offered   {_spark(lane.offered, top)} up to {offered:,} {unit}/s",
        f"  {title:6} served    {_spark(lane.consumed, top)} up to {consumed:,} {unit}/s, "
        f"capacity {lane.provisioned[-1]:,}",
    ]
    for cause, counts in lane.throttled.items():
        if any(counts):
            lines.append(f"  {title:6} throttled {_spark(counts, max(counts))} {sum(counts):,} x {cause}")
    banked = [bank for bank in lane.bank if bank is not None]
    full = [bank for bank in lane.bank_max if bank is not None]
    if banked and full and min(banked) < max(full):
        lines.append(
            f"  {title:6} bank      {_spark(tuple(max(bank, 0) for bank in banked), max(full))} "
            f"down to {min(banked):,} of {max(full):,}"
        )
    return lines


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Columns as wide as their widest cell; the first and the last to the left, numbers to the right."""
    if not rows:
        return []
    cells = [
        list(heads),
        *([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows),
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    right = [i for i in range(len(heads)) if all(isinstance(row[i], int | float) for row in rows)]
    lines = [
        "  "
        + "  ".join(
            c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return [title, *lines, ""]


def _traffic(outcome: Outcome) -> list[str]:
    totals = [*outcome.flows, outcome.totals] if len(outcome.flows) > 1 else [outcome.totals]
    rows = [
        (t.name, t.offered, t.cached, t.attempts, t.throttled, t.lost, f"{t.waits.p99_ms:,} ms")
        for t in totals
    ]
    heads = ("traffic", "offered", "cached", "attempts", "throttled", "lost", "p99 wait")
    return _table("Requests", heads, rows)


def _keys(outcome: Outcome) -> list[str]:
    ranked = sorted(outcome.hot_keys, key=lambda key: -key.peak_units / max(key.limit_units, 1))
    rows = [
        (key.resource, key.key, f"{key.share_percent} %", key.throttled, key.words)
        for key in ranked[:_ROWS_MAX]
    ]
    return _table("Hot keys", ("resource", "key", "share", "throttled", "verdict"), rows)


def _collections(outcome: Outcome) -> list[str]:
    rows = [(each.resource, each.key, each.verdict, each.words) for each in outcome.collections[:_ROWS_MAX]]
    heads = ("resource", "key", "of 10 GB", "")
    return _table("Largest item collections of tables with local indexes", heads, rows)


def _headroom(outcome: Outcome) -> list[str]:
    rows = [
        (
            room.resource,
            "reads" if room.direction == "R" else "writes",
            room.capacity_first,
            room.capacity_last,
            f"{room.demand_second:,}",
            f"{room.least_percent:.0f} %",
            room.minutes_over,
            "none" if room.warm_units is None else f"{room.warm_units:,}",
        )
        for room in outcome.headroom[:_ROWS_MAX]
    ]
    heads = ("resource", "", "serves", "at the end", "asked", "left", "min over", "warm needed")
    return _table("On-demand headroom, units/s (min over: minutes over double peak)", heads, rows)


def _events(outcome: Outcome) -> list[str]:
    shown = [event for event in outcome.events if event.kind != "split-started"]
    rows = [(_clock(event.at_s), event.resource, event.words) for event in shown[:_ROWS_MAX]]
    lines = _table("What happened", ("at", "resource", ""), rows)
    if len(shown) > _ROWS_MAX:
        lines[-1] = f"  ... and {len(shown) - _ROWS_MAX:,} more"
        lines.append("")
    return lines


def _scaling(outcome: Outcome) -> list[str]:
    lines: list[str] = []
    for timeline in outcome.scaling:
        events = [event for event in timeline.events if event.kind in ("update", "skipped", "scheduled")]
        unit = "RCU" if timeline.direction == "R" else "WCU"
        title = (
            f"Auto scaling of {timeline.resource}, {unit}: {timeline.minimum:,} to {timeline.maximum:,} "
            f"at {timeline.target_percent} %"
        )
        if timeline.provisioned:
            lines.append(title)
            lines.append(f"  provisioned {_spark(timeline.provisioned, max(timeline.provisioned))}")
            lines += [f"  {_clock(event.at_s)}  {event.kind}: {event.words}" for event in events[:_ROWS_MAX]]
            lines.append("")
    return lines


def _costs(outcome: Outcome) -> list[str]:
    rows = [
        (
            ("* " if mode.cheapest else "  ") + mode.title,
            f"${mode.total_usd:,.2f}",
            f"${mode.read_usd:,.2f}",
            f"${mode.write_usd:,.2f}",
            f"${mode.storage_usd + mode.other_usd:,.2f}",
            f"{mode.throttled_percent} %",
        )
        for mode in outcome.costs.modes
    ]
    heads = ("mode (* cheapest)", "a month", "reads", "writes", "storage", "refused")
    lines = _table("Cost", heads, rows)
    if len(outcome.costs.resources) > 1:
        lines += _costs_by_resource(outcome)
    return lines


def _costs_by_resource(outcome: Outcome) -> list[str]:
    rows = []
    for resource in outcome.costs.resources:
        planned = next(mode for mode in resource.modes if mode.mode == "as-planned")
        best = next(mode for mode in resource.modes if mode.cheapest)
        rows.append((resource.resource, f"${planned.total_usd:,.2f}", f"${best.total_usd:,.2f}", best.title))
    return _table("Cost by table and index", ("resource", "as planned", "cheapest", ""), rows)
