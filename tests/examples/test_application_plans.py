"""The plans of the applications at ten times their load: the headlines that their READMEs show."""

from __future__ import annotations

from pathlib import Path

import pytest

from faradisc.tools.planner.plan_file.loading import load_plans
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.run import run

EXAMPLES = Path(__file__).parents[2] / "examples"
APPLICATIONS = ["ecommerce", "feed"]


def plans_of(application: str) -> list[Plan]:
    return load_plans((EXAMPLES / application / "plan.yaml").read_text(), application)


def assert_shown(application: str, plan: Plan, begin: str) -> None:
    headline = run(plan, engine="fluid").headline.text
    assert headline.startswith(begin)
    lines = (EXAMPLES / application / "README.md").read_text().splitlines()
    assert f"- **{plan.variant}.** {headline}" in lines


@pytest.mark.parametrize("application", APPLICATIONS)
def test_application_holds_at_ten_times_its_load(application: str) -> None:
    first, *_ = plans_of(application)
    assert_shown(application, first, "Holds. Nothing was throttled")


@pytest.mark.slow
@pytest.mark.parametrize("application", APPLICATIONS)
def test_other_designs_fail_at_ten_times_the_load(application: str) -> None:
    _, *others = plans_of(application)
    assert len(others) >= 2
    for plan in others:
        assert_shown(application, plan, "Fails.")
