"""Writes examples/plans/README.md: the headline of each variant of each plan.

Run it when a plan or the planner changes: `.venv/bin/python tools/plan_examples_page.py`.
"""

from __future__ import annotations

from pathlib import Path

from faradisc.tools.planner.plan_file.loading import load_plans
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.results.what_if import explored
from faradisc.tools.planner.run import run

PLANS = Path(__file__).parents[1] / "examples" / "plans"
TITLES = {
    "date-key": "a date as the partition key, without a suffix, with one that does not spread, and with one",
    "upload-order": "an upload user by user, and one message of every user in turn",
    "bulk-load": "a fast and a slow load, in 2017 and today",
    "time-series": "one table for all clicks, and a table per month",
    "popular-item": "5,000 reads a second of one item, without and with a cache",
    "status-code": "a few status codes as the key, user ids, and an index on the status",
}
HEAD = """\
# Six plans

The best practices for tables, each as a plan whose variants are its alternatives:

    faradisc plan examples/plans/date-key.yaml --html report.html

`architect/` has six questions, each with its arithmetic in a comment, which
`tests/examples/test_architects_plans.py` holds against the answer.

[The guide](../../docs/guide/planning.md) explains the format. Below is the headline of each variant;
`tests/examples/test_plan_scenarios.py` runs them all, `tools/plan_examples_page.py` writes this page.
"""


def outcome(plan: Plan) -> PlanOutcome:
    return run(plan, engine="fluid")


def page() -> str:
    parts = [HEAD]
    for name, title in TITLES.items():
        parts.append(f"\n## [{name}]({name}.yaml): {title}\n\n")
        for plan in load_plans((PLANS / f"{name}.yaml").read_text(), name):
            parts.append(f"- **{plan.variant}.** {explored(plan, outcome(plan), outcome).headline.text}\n")
    return "".join(parts)


if __name__ == "__main__":
    (PLANS / "README.md").write_text(page())
