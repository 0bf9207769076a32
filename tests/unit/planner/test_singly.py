"""Tables with buckets that forgive debts: the fluid engine leaves their requests to the engine of events."""

from __future__ import annotations

import pytest

from faradisc.planner import singly
from faradisc.planner.observe import Observer
from faradisc.planner.singly import tables_run_singly
from faradisc.planner.streams import Flow
from faradisc.planner.world import World
from unit.planner.agreement import both
from unit.planner.planned import planned, resource

LARGE_AND_SMALL = """
    duration: 10m
    retries: {retries}
    tables:
      T: {{read: 5, write: 5, indexes: {{g: {{write: 20}}}}}}
      U: {{read: 50, write: 50}}
    traffic:
      - {{name: large, table: T, operation: PutItem, rate: 1, item_size: 100 KB, keys: {{uniform: 1000}}}}
      - {{name: small, table: T, operation: PutItem, rate: 10, item_size: 1 KB, keys: {{uniform: 1000}}}}
      - {{name: other, table: U, operation: PutItem, rate: 80, item_size: 1 KB, keys: {{uniform: 1000}}}}
"""
TINY_CAPS = """
    duration: 10m
    retries: {retries}
    partition_caps: 30/10
    tables: {{T: {{mode: on-demand, partitions: 2}}}}
    traffic:
      - {{name: large, operation: PutItem, rate: 0.1, item_size: 300 KB, keys: {{uniform: 1000}}}}
      - {{name: small, operation: PutItem, rate: 10, item_size: 1 KB, keys: {{uniform: 1000}}}}
"""


@pytest.mark.parametrize("text", [LARGE_AND_SMALL, TINY_CAPS])
def test_large_requests_among_small_ones(text: str) -> None:
    """Fluid cannot know which of them find a bucket open: it was 2 % off, and 50 % with tiny caps. The same
    requests at the same moments are served, whatever else the world has."""
    one, other = both(text.format(retries="none"))
    assert resource(one, "T").write == resource(other, "T").write
    assert one.flows[:2] == other.flows[:2]
    assert any(line.startswith("Requests to T are run one by one") for line in other.assumptions)
    assert one.totals.admitted == pytest.approx(other.totals.admitted, rel=0.001)


def test_requests_that_still_wait_at_the_end_are_lost() -> None:
    for found in both(TINY_CAPS.format(retries="standard")):
        assert found.totals.offered == found.totals.admitted + found.totals.lost
        assert found.totals.attempts == found.totals.admitted + found.totals.throttled


def concerned(text: str) -> set[str]:
    plan = planned(text)
    observer = Observer(World(plan), 60)
    flows = [
        Flow(flow, next(table for table in plan.tables if table.name == flow.table), observer)
        for flow in plan.traffic
    ]
    return set(tables_run_singly(plan, flows))


def table(settings: str, kib: int = 60, operation: str = "PutItem") -> str:
    return f"""
        duration: 10m
        tables: {{T: {settings}}}
        traffic: [{{operation: {operation}, rate: 1, item_size: {kib} KB, keys: {{uniform: 1000}}}}]
    """


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        ("{read: 5, write: 5}", True),
        ("{read: 5, write: 12}", False),
        ("{read: 5, write: 100, changes: [{at: 5m, write: 5}]}", True),
        ("{read: 5, write: 100, auto_scaling: {write: {min: 5, max: 200}}}", True),
        ("{read: 5, write: 100, indexes: {g: {write: 5}}}", True),
        ("{read: 5, write: 100, indexes: {g: {write: 5, share: 0%}}}", False),
        ("{mode: on-demand, max_write: 5}", True),
        ("{mode: on-demand}", False),
    ],
)
def test_which_tables_are_concerned(settings: str, *, may: bool) -> None:
    """Those where a write of 60 units costs more than half of what may be owed: ten seconds of a rate."""
    assert concerned(table(settings)) == ({"T"} if may else set())
    assert not concerned(table(settings, operation="GetItem", kib=1))
    assert not concerned("profile: documented\n" + table(settings).replace("\n        ", "\n"))


def test_too_many_requests_stay_fluid(monkeypatch: pytest.MonkeyPatch) -> None:
    text = table("{read: 5, write: 5}")
    monkeypatch.setattr(singly, "SINGLE_MAX", 600)
    assert concerned(text) == {"T"}
    monkeypatch.setattr(singly, "SINGLE_MAX", 599)
    assert not concerned(text)
