"""What an on-demand table or index had left, and what warm throughput it would have needed."""

from __future__ import annotations

from faradisc.charts.markup import Markup
from faradisc.charts.tables import Column, Row, table
from faradisc.charts.words import count, elapsed, percent, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.results.outcome import Headroom, Outcome, ResourceOutcome


def headroom(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """Both directions of a resource; None where it was never on demand, or nothing was asked for."""
    rooms = [room for room in outcome.headroom if room.resource == resource.name]
    if not rooms:
        return None
    return table(
        "On-demand headroom: what the doubling rule serves against what was asked for",
        (
            Column("", words=True),
            Column("capacity, first", "units/s"),
            Column("capacity, last", "units/s"),
            Column("busiest minute", "units/s"),
            Column("busiest second", "units/s"),
            Column("least left", "of the capacity"),
            Column("at"),
            Column("over double peak", "minutes"),
            Column("first at"),
            Column("warm throughput", "recommended"),
        ),
        [_row(room, detail) for room in rooms],
    )


def _row(room: Headroom, detail: Detail) -> Row:
    return Row(
        (
            "reads" if room.direction == "R" else "writes",
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
