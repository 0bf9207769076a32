"""docs/guide/report.md explains exactly the charts and tables of the report."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from faradisc.tools.planner.report import PAGE_BYTES_MAX, render
from faradisc.tools.planner.report.detail import COLUMNS_MAX
from unit.report.made_outcomes import outcome, resource

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "report.md").read_text()


def test_guide_explains_every_chart_of_the_report() -> None:
    made = outcome()
    on_demand = replace(made, resources=(*made.resources, resource("Users", mode="PAY_PER_REQUEST")))
    drawn = set(re.findall(r"<figcaption><b>(.*?)</b>", render([on_demand])))
    explained = set(re.findall(r"^\| ((?:Writes|Throttled|Partition)[^|]*?) \|", GUIDE, re.M))
    assert {title.replace("Reads", "Writes") for title in drawn} == explained


def test_guide_explains_every_table_of_a_resource() -> None:
    drawn = re.findall(r"<caption>(.*?)</caption>", render([outcome()]))
    listed = GUIDE[GUIDE.index("## The tables") :]
    explained = re.findall(r"^\| (?!Table |---)([^|]*?) \|", listed, re.M)
    assert len(explained) >= 4
    for title in explained:
        assert any(caption.startswith(title) for caption in drawn), title


def test_guide_names_the_bounds_of_the_report() -> None:
    assert f"at most {COLUMNS_MAX} columns" in GUIDE
    assert f"{PAGE_BYTES_MAX // 1_000_000} MB" in GUIDE
