"""The page: its order, and its size."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import page
from faradisc.charts.words import plural
from faradisc.planner.outcome import Outcome
from faradisc.planner.report import resource
from faradisc.planner.report.compare import comparison
from faradisc.planner.report.detail import Detail, cut, steps
from faradisc.planner.report.overview import assumptions, budgets, costs, flows, opening

PAGE_BYTES_MAX = 2_000_000
"""A page that a mail takes and a browser opens at once."""


def render(outcomes: Sequence[Outcome], *, version: str = "") -> str:
    """One HTML document of one or several plans, in the given order.

    Pure: equal outcomes and version give equal text. Drawn in as much detail as fits `PAGE_BYTES_MAX`; only
    plans with thousands of resources can exceed it, and they come out in the coarsest detail.
    """
    text = ""
    for detail in steps():
        text = _document(outcomes, detail, version)
        if len(text.encode()) <= PAGE_BYTES_MAX:
            break
    return text


def _document(outcomes: Sequence[Outcome], detail: Detail, version: str) -> str:
    several = len(outcomes) > 1
    names = ", ".join(cut(outcome.name, detail) for outcome in outcomes) or "nothing"
    body: list[Child] = [element("h1", f"Throughput plan: {names}")]
    if several:
        body += [
            element(
                "nav",
                element(
                    "ul", [element("li", _link(f"p{i}", o.name, detail)) for i, o in enumerate(outcomes, 1)]
                ),
            ),
            comparison(outcomes, detail),
        ]
    body += [_plan(outcome, position, several, detail) for position, outcome in enumerate(outcomes, 1)]
    by = f"faradisc {version}".strip()
    body.append(
        element("footer", f"Made by {by} from {plural(len(outcomes), 'run')}. Times are since the beginning.")
    )
    return page(f"Throughput plan: {names}", *body)


def _plan(outcome: Outcome, position: int, several: bool, detail: Detail) -> Markup:
    """One plan. Among several, it is headed by its name."""
    anchors = [f"p{position}r{number}" for number in range(1, len(outcome.resources) + 1)]
    contents = [
        element("li", _link(anchor, each.name, detail))
        for anchor, each in zip(anchors, outcome.resources, strict=True)
    ]
    return join(
        element("h2", cut(outcome.name, detail), id=f"p{position}") if several else None,
        opening(outcome, detail),
        budgets(outcome, detail),
        flows(outcome, detail),
        costs(outcome, detail),
        element("nav", element("ul", contents)) if len(contents) > 1 else None,
        [
            resource.section(outcome, each, detail, anchor)
            for anchor, each in zip(anchors, outcome.resources, strict=True)
        ],
        assumptions(outcome, detail),
    )


def _link(anchor: str, text: str, detail: Detail) -> Markup:
    return element("a", cut(text, detail), href=f"#{anchor}")
