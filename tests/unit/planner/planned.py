"""Small plans for the planner's tests, and what is read off their outcomes."""

from __future__ import annotations

from io import StringIO
from textwrap import dedent

import pytest
from rich.console import Console

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.report.terminal import show
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome
from faradisc.tools.planner.results.series import DirectionSeries
from faradisc.tools.planner.run import Engine, run

RETRIES = ("none", "standard", "legacy")
MOST_RETRIES = ("none", "standard", pytest.param("legacy", marks=pytest.mark.slow))
"""Ten attempts of every request take long."""
FEW_RETRIES = (
    pytest.param("none", marks=pytest.mark.slow),
    "standard",
    pytest.param("legacy", marks=pytest.mark.slow),
)


ENGINES: tuple[Engine, ...] = ("events", "fluid")


def planned(text: str, *, seed: int | None = None) -> Plan:
    """Returns a plan whose clients do not retry unless it says so: sums by hand are of first attempts."""
    written = dedent(text)
    return load_plan(
        written if "retries:" in written else f"{written}\nretries: none\n", "plan.yaml", seed=seed
    )


def outcome_of(
    text: str, engine: Engine | None = None, *, seed: int | None = None, arrivals: int | None = None
) -> PlanOutcome:
    return run(planned(text, seed=seed), engine=engine, arrivals=arrivals)


def resource(outcome: PlanOutcome, name: str) -> ResourceOutcome:
    return next(each for each in outcome.resources if each.name == name)


def served(series: DirectionSeries) -> float:
    """Units served per second at the end of the run."""
    return series.consumed[-1]


def throttles(series: DirectionSeries) -> dict[str, int]:
    """Throttle events of the run by cause, those that occurred."""
    return {cause: int(sum(counts)) for cause, counts in series.throttled.items() if sum(counts)}


def verdict_of(outcome: PlanOutcome, key: str, name: str | None = None) -> str:
    return next(
        each.words for each in outcome.hot_keys if each.key == key and (name is None or each.resource == name)
    )


def printed(outcome: PlanOutcome) -> str:
    """Returns what a terminal shows of an outcome."""
    out = StringIO()
    show([outcome], Console(file=out, width=1000))
    return out.getvalue()
