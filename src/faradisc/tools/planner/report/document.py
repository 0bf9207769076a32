"""The page: its order, and its size."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import page
from faradisc.charts.words import plural
from faradisc.tools.planner.report import resource
from faradisc.tools.planner.report.compare import comparison, short_name
from faradisc.tools.planner.report.detail import Detail, cut, steps
from faradisc.tools.planner.report.heat import Run, prepare
from faradisc.tools.planner.report.overview import assumptions, opening, prices
from faradisc.tools.planner.report.tables import budgets, costs, costs_by_resource, flows, what_if
from faradisc.tools.planner.results.outcome import PlanOutcome

PAGE_BYTES_MAX = 2_000_000
"""A page that can be mailed and that a browser opens at once."""


def render(outcomes: Sequence[PlanOutcome], *, version: str = "") -> str:
    """Returns one HTML document of one or several outcomes, in the given order.

    Equal outcomes and version give equal text, in as much detail as fits `PAGE_BYTES_MAX`. Only plans with
    thousands of resources exceed it, in the coarsest detail.
    """
    runs = [prepare(outcome) for outcome in outcomes]
    heat_maps = [(heat.columns, len(heat.lives)) for run in runs for heat in run.heats]
    text = ""
    for detail in steps(heat_maps, PAGE_BYTES_MAX):
        text = _document(runs, detail, version)
        if len(text.encode()) <= PAGE_BYTES_MAX:
            break
    return text


def _document(runs: Sequence[Run], detail: Detail, version: str) -> str:
    several = len(runs) > 1
    names = cut(", ".join(dict.fromkeys(cut(run.outcome.name, detail) for run in runs)), detail) or "nothing"
    body: list[Child] = [element("h1", f"Throughput plan: {names}")]
    if several:
        links = [
            _link(f"p{position}", short_name(run.outcome), detail) for position, run in enumerate(runs, 1)
        ]
        body += [_contents(links), comparison(runs, detail)]
    body += [_plan(run, position, several, detail) for position, run in enumerate(runs, 1)]
    by = f"faradisc {version}".strip()
    body.append(
        element("footer", f"Made by {by} from {plural(len(runs), 'run')}. Times are since the beginning.")
    )
    return page(f"Throughput plan: {names}", *body)


def _plan(run: Run, position: int, several: bool, detail: Detail) -> Markup:
    """Returns one plan, headed by its title if there are several."""
    outcome = run.outcome
    anchors = [f"p{position}r{number}" for number in range(1, len(outcome.resources) + 1)]
    links = [
        _link(anchor, each.name, detail) for anchor, each in zip(anchors, outcome.resources, strict=True)
    ]
    several_flows = (flows,) if len(outcome.flows) > 1 else ()
    listed = (budgets, what_if, *several_flows, costs, costs_by_resource)
    return join(
        element("h2", cut(outcome.title, detail), id=f"p{position}") if several else None,
        opening(outcome, detail),
        [found.html() for each in listed if (found := each(outcome, detail)) is not None],
        prices(outcome, detail),
        _contents(links) if len(links) > 1 else None,
        [
            resource.section(outcome, each, heat, detail, anchor=anchor)
            for each, heat, anchor in zip(outcome.resources, run.heats, anchors, strict=True)
        ],
        assumptions(outcome, detail),
    )


def _contents(links: Sequence[Markup]) -> Markup:
    return element("nav", element("ul", [element("li", link) for link in links]))


def _link(anchor: str, text: str, detail: Detail) -> Markup:
    return element("a", cut(text, detail), href=f"#{anchor}")
