"""How the two engines are held against each other: what is served, admitted and lost agrees within 1 % of
what was asked for. Both run the same core; they differ in how a second is divided (tools/planner/fluid.py).

Refused *attempts* are compared only where clients do not retry: how often a client is refused before it gets
through depends on what happens within a second, which the fluid engine does not look at.

Some plans hang on chance: which of two keys is seen last decides where a partition is cut, and who comes
first takes what is left. Where runs by events of one plan that differ in nothing but the moments and keys of
single requests are more than 1 % apart, nothing can agree with all of them: the fluid engine is to agree with
one, or to lie between them. That is measured, plan by plan, where the first comparison fails. Where requests
are run by admissions, fluid runs hang on chance in the same way, and then several of these are looked at too:
their range is to come within 1 % of the other, or, where runs by events are all alike, their mean of the
other mean.
"""

from __future__ import annotations

from statistics import fmean
from textwrap import dedent
from unittest.mock import patch

from faradisc.tools.planner import singly
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.outcome import Outcome, Series
from faradisc.tools.planner.run import Engine, run

LIMIT_PERCENT = 1.0
_OTHER_ARRIVALS = (2, 3, 4)
Figures = dict[str, float]


def both(text: str, *, purely: bool = True) -> tuple[Outcome, Outcome]:
    """A plan by events, and fluid. `purely`: so are its large requests, as long as no debts of theirs are
    forgiven; else they are run one by one, or by admissions (test_singly.py, test_openings.py)."""
    plan = load_plan(dedent(text), "plan.yaml")
    if not purely:
        return run(plan, engine="events"), run(plan, engine="fluid")
    with patch.multiple(singly, BANK_MIN=0, MIXED_MIN=0):
        return run(plan, engine="events"), run(plan, engine="fluid")


def differences(one: Outcome, other: Outcome) -> Figures:
    """Percent of what was asked for in `one`, by what is compared."""
    asked, mine, theirs = _asked(one), _figures(one), _figures(other)
    return {name: 100 * abs(mine[name] - theirs[name]) / asked[name] for name in asked}


def assert_agreement(text: str, *, purely: bool = True) -> None:
    """A plan's two runs agree; where chance decides, several of each, as far as runs by events do."""
    events, fluid = both(text, purely=purely)
    if max(differences(events, fluid).values()) <= LIMIT_PERCENT:
        return
    plan = load_plan(dedent(text), "plan.yaml")
    by_events = [_figures(events), *_other_runs(plan, "events")]
    by_fluid = [_figures(fluid), *([] if purely else _other_runs(plan, "fluid"))]
    for name, units in _asked(events).items():
        mine, theirs = ([100 * figures[name] / units for figures in each] for each in (by_events, by_fluid))
        if max(mine) - min(mine) > LIMIT_PERCENT:
            off = max(min(mine) - max(theirs), min(theirs) - max(mine))
        else:
            off = abs(fmean(mine) - fmean(theirs))
        assert off <= LIMIT_PERCENT, f"{name}: {theirs}, by events {mine}\n{text}"


def _other_runs(plan: Plan, engine: Engine) -> list[Figures]:
    """What is compared, of runs with other moments and keys."""
    return [_figures(run(plan, engine=engine, arrivals=seed)) for seed in _OTHER_ARRIVALS]


def assert_accounted(outcome: Outcome) -> None:
    """Every request is admitted or lost, every attempt admitted or throttled."""
    for total in (*outcome.flows, outcome.totals):
        assert total.offered == total.admitted + total.lost
        assert total.attempts == total.admitted + total.throttled
        assert sum(total.waits.attempts) == total.admitted


def _figures(outcome: Outcome) -> Figures:
    """What is compared."""
    totals = outcome.totals
    found = {"admitted": totals.admitted, "lost": totals.lost, "throttled": totals.throttled}
    lanes = {name: sum(served) for name, _, served in _lanes(outcome)}
    return {name: float(value) for name, value in (found | lanes).items()}


def _asked(outcome: Outcome) -> Figures:
    """What was asked for, by what is compared."""
    totals = outcome.totals
    asked = float(totals.offered or 1)
    found = {"admitted": asked, "lost": asked}
    if totals.attempts == totals.offered:
        found["throttled"] = asked
    return found | {name: float(sum(offered)) for name, offered, _ in _lanes(outcome) if sum(offered)}


def _lanes(outcome: Outcome) -> list[tuple[str, Series, Series]]:
    """Every direction of every resource: its name, and the units offered and served."""
    return [
        (f"{resource.name} {what} units", lane.offered, lane.consumed)
        for resource in outcome.resources
        for what, lane in (("read", resource.read), ("write", resource.write))
    ]
