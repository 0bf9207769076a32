"""Equal plans and seeds give equal bytes; other seeds give other runs."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from faradisc.tools.planner.report import render
from faradisc.tools.planner.report.terminal import show
from faradisc.tools.planner.results.csv_tables import tables
from faradisc.tools.planner.run import Engine
from unit.planner.planned import ENGINES, outcome_of

PLAN = """
    duration: 5m
    partition_caps: 60/20
    profile: classic-2017
    retries: standard
    tables:
      T:
        mode: provisioned
        read: 40
        write: 30
        partitions: 3
        sort_key: true
        indexes: {g: {read: 1, write: 20}}
    traffic:
      - {name: a, operations: {PutItem: 50, GetItem: 50}, rate: 60, keys: {zipf: {keys: 1000, exponent: 1.2}}}
"""


def texts(engine: Engine, seed: int) -> list[str]:
    found = outcome_of(PLAN, engine, seed=seed)
    console = Console(file=io.StringIO(), width=100)
    show([found], console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    return [json.dumps(found.to_json()), shown, render([found]), *tables(found).values()]


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_seeds_give_equal_bytes(engine: Engine) -> None:
    assert texts(engine, 5) == texts(engine, 5)


def test_another_seed_gives_another_run() -> None:
    first, second = (json.loads(texts("events", seed)[0]) for seed in (5, 6))
    assert first["totals"] != second["totals"]
    assert first["totals"]["offered"] == pytest.approx(second["totals"]["offered"], rel=0.03)


def test_mean_numbers_of_requests_do_not_depend_on_the_seed() -> None:
    first, second = (json.loads(texts("fluid", seed)[0]) for seed in (5, 6))
    assert first["totals"]["offered"] == second["totals"]["offered"] == 18_000
