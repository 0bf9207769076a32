"""A table or an index that is asked for far more than its rate uses exactly its rate in every minute, in
both engines: there is always a request that takes new capacity. In fluid, rounding used to leave a unit or
two over, and a minute in which a throttled table used less than its rate is one in which adaptive capacity of
`classic-2017` draws a delay: all that came after it was minutes early or late (by 1.1 % of what was asked
for in growing_plan(26, "standard"))."""

from __future__ import annotations

import pytest

from faradisc.tools.planner.run import Engine
from unit.planner.planned import ENGINES, FEW_RETRIES, outcome_of


def minutes(engine: Engine, profile: str, retries: str, table: str) -> list[list[float]]:
    """What each resource consumes per second, minute by minute."""
    found = outcome_of(
        f"""
        profile: {profile}
        duration: 10m
        retries: {retries}
        tables: {{T: {table}}}
        traffic:
          - {{name: a, operation: PutItem, rate: 17, keys: {{zipf: {{keys: 100, exponent: 1.1}}}}}}
          - {{name: b, operation: UpdateItem, rate: 14, keys: {{uniform: 1000}}}}
        """,
        engine,
    )
    return [list(resource.write.consumed) for resource in found.resources]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("retries", FEW_RETRIES)
@pytest.mark.parametrize(
    ("profile", "table"),
    [
        pytest.param("classic-2017", "{read: 1, write: 6, partitions: 1}", marks=pytest.mark.slow),
        ("classic-2017", "{read: 1, write: 6, partitions: 3}"),
        pytest.param("documented", "{read: 1, write: 6, partitions: 3}", marks=pytest.mark.slow),
        ("classic-2017", "{read: 1, write: 100, indexes: {g: {read: 1, write: 6, partitions: 1}}}"),
        pytest.param(
            "documented", "{read: 1, write: 100, indexes: {g: {read: 1, write: 6}}}", marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_short_uses_its_rate(engine: Engine, profile: str, table: str, retries: str) -> None:
    assert minutes(engine, profile, retries, table)[-1] == pytest.approx([6.0] * 10, abs=0.02)
