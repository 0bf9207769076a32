"""The largest item collections of a table with local indexes, which limit them to 10 GB."""

from __future__ import annotations

from faradisc.charts.markup import Markup, element
from faradisc.charts.plots import bar
from faradisc.charts.tables import Column, Row, table
from faradisc.charts.words import percent, size, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.results.outcome import ItemCollection, Outcome, ResourceOutcome

_VERDICTS = {"fits": "fits", "near": "near 10 GB", "full": "full"}
_GIB = 1 << 30


def collections(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """None for an index, and where no collection is known."""
    found = [each for each in outcome.collections if each.resource == resource.name]
    if not found:
        return None
    rows = [_row(each, detail) for each in found[: detail.rows]]
    return table(
        "Largest item collections, local indexes included",
        (
            Column("key", words=True),
            Column("in the beginning"),
            Column("at the end"),
            Column("used", "of 10 GB"),
            Column("full in", "days at this pace"),
            Column("verdict", words=True),
        ),
        rows,
        left_out=len(found) - len(rows),
    )


def _row(each: ItemCollection, detail: Detail) -> Row:
    return Row(
        (
            element("span", cut(each.key, detail), class_="key"),
            size(each.gib_first * _GIB),
            size(each.gib_last * _GIB),
            [percent(each.percent), bar(min(each.percent / 100, 1), width=60)],
            units(each.full_in_days) if each.full_in_days is not None else "",
            element("b", _VERDICTS[each.verdict], class_="mark"),
        ),
        "bad" if each.verdict == "full" else None,
        cut(each.words, detail) if each.verdict != "fits" else None,
    )
