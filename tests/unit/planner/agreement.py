"""Agreement of the two engines on a plan: both run the same core with the same arrivals, the one request by
request and the other in steps of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run


@dataclass(frozen=True)
class Agreement:
    """How far the two outcomes of one plan differ."""

    percent: float
    """The greatest difference of admitted requests or consumed units, in percent of what was asked for."""
    same_partitions: bool
    throttled_percent: float
    """The difference of throttled attempts, in percent of all attempts."""


def by_both(text: str) -> tuple[PlanOutcome, PlanOutcome]:
    """Runs a plan by events and by fluid, with the same numbers of requests."""
    plan = load_plan(dedent(text), "plan.yaml")
    return run(plan, engine="events"), run(plan, engine="fluid", arrivals=plan.seed)


def compare(events: PlanOutcome, fluid: PlanOutcome) -> Agreement:
    """Returns how far the outcomes of by_both() differ."""
    for outcome in (events, fluid):
        assert_conserved(outcome)
    pairs = zip(_asked_and_served(events), _asked_and_served(fluid), strict=True)
    differences = [abs(served - other) / asked for (asked, served), (_, other) in pairs if asked]
    attempts = max(events.totals.attempts, 1)
    return Agreement(
        percent=100 * max(differences, default=0),
        same_partitions=_partitions(events) == _partitions(fluid),
        throttled_percent=100 * abs(events.totals.throttled - fluid.totals.throttled) / attempts,
    )


def assert_conserved(outcome: PlanOutcome) -> None:
    """Every request is admitted or lost, every attempt is admitted or throttled."""
    for total in (*outcome.flows, outcome.totals):
        assert total.offered == total.admitted + total.lost
        assert total.attempts == total.admitted + total.throttled
        assert sum(total.waits.attempts) == total.admitted


def _asked_and_served(outcome: PlanOutcome) -> list[tuple[float, float]]:
    """Requests of all flows, then the units of every direction of every resource. Units are asked for by
    every attempt."""
    found: list[tuple[float, float]] = [(outcome.totals.offered, outcome.totals.admitted)]
    for resource in outcome.resources:
        for series in (resource.read, resource.write):
            found.append((float(sum(series.offered)), float(sum(series.consumed))))
    return found


def _partitions(outcome: PlanOutcome) -> list[int]:
    return [resource.partition_count[-1] for resource in outcome.resources]
