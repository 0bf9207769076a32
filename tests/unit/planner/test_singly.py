"""Flows for which it matters who comes first: what the fluid engine leaves to other engines."""

from __future__ import annotations

import pytest

from faradisc.tools.planner import pace, singly
from faradisc.tools.planner.simulation.recorder import RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.singly import Parted, part
from faradisc.tools.planner.workload.streams import Flow
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
    one, other = both(text.format(retries="none"), purely=False)
    assert resource(one, "T").write == resource(other, "T").write
    assert one.flows[:2] == other.flows[:2]
    assert any(line.startswith("Requests to T are run one by one") for line in other.assumptions)
    assert one.totals.admitted == pytest.approx(other.totals.admitted, rel=0.001)


def test_requests_that_still_wait_at_the_end_are_lost() -> None:
    for found in both(TINY_CAPS.format(retries="standard"), purely=False):
        assert found.totals.offered == found.totals.admitted + found.totals.lost
        assert found.totals.attempts == found.totals.admitted + found.totals.throttled


def parted(text: str) -> Parted:
    plan = planned(text)
    recorder = RunRecorder(VirtualTables(plan), 60)
    flows = [
        Flow(flow, next(table for table in plan.tables if table.name == flow.table), recorder)
        for flow in plan.traffic
    ]
    return part(plan, flows)


def names(flows: list[Flow]) -> list[str]:
    return [flow.plan.name for flow in flows]


def table(settings: str, kib: int = 60, operation: str = "PutItem", profile: str = "aws") -> str:
    return f"""
        profile: {profile}
        duration: 10m
        tables: {{T: {settings}}}
        traffic:
          - {{name: a, operation: {operation}, rate: 1, item_size: {kib} KB, keys: {{uniform: 1000}}}}
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
def test_debts_that_may_be_forgiven(settings: str, *, may: bool) -> None:
    """A write of 60 units costs more than half of what may be owed: ten seconds of a rate."""
    assert names(parted(table(settings)).singly) == ["a"] * may
    assert not parted(table(settings, operation="GetItem", kib=1)).singly
    assert not parted(table(settings, profile="documented")).singly


@pytest.mark.parametrize(("kib", "may"), [(200, False), (201, True)])
def test_a_bucket_that_saves_no_more_than_a_few_requests(kib: int, *, may: bool) -> None:
    """A partition saves a second of its 1,000 units."""
    assert names(parted(table("{mode: on-demand}", kib)).singly) == ["a"] * may


@pytest.mark.parametrize(("small", "may"), [(7, True), (8, True), (9, False), (16, False)])
def test_requests_of_different_costs(small: int, *, may: bool) -> None:
    """One of 16 units costs a sixteenth of 255, but not of 256; and others cost half as much, or more."""
    text = f"""
        profile: documented
        duration: 10m
        tables: {{T: {{read: 5, write: 255}}}}
        traffic:
          - {{name: a, operation: PutItem, rate: 1, item_size: 16 KB, keys: {{uniform: 1000}}}}
          - {{name: b, operation: PutItem, rate: 1, item_size: {small} KB, keys: {{uniform: 1000}}}}
          - {{name: c, operation: GetItem, rate: 1, item_size: 1 KB, keys: {{uniform: 1000}}}}
    """
    assert names(parted(text).singly) == ["a", "b"] * may
    assert not parted(text.replace("255", "256")).singly


def test_too_many_requests_are_run_by_admissions(monkeypatch: pytest.MonkeyPatch) -> None:
    text = table("{read: 5, write: 5}")
    monkeypatch.setattr(singly, "SINGLE_MAX", 600)
    assert names(parted(text).singly) == ["a"]
    monkeypatch.setattr(singly, "SINGLE_MAX", 599)
    assert names(parted(text).by_openings) == ["a"]
    monkeypatch.setattr(pace, "ADMISSIONS_MAX", 1)
    assert names(parted(text).roughly) == ["a"]


def test_only_what_charges_the_same_lanes_goes_together() -> None:
    found = parted("""
        duration: 10m
        tables:
          T: {read: 500, write: 500, indexes: {g: {read: 500, write: 5, share: 10%}}}
          U: {mode: on-demand}
        traffic:
          - {name: large, table: T, operation: PutItem, rate: 1, item_size: 60 KB, keys: {uniform: 1000}}
          - {name: small, table: T, operation: UpdateItem, rate: 1, item_size: 1 KB, keys: {uniform: 1000}}
          - {name: reads, table: T, operation: GetItem, rate: 1, item_size: 1 KB, keys: {uniform: 1000}}
          - {name: other, table: U, operation: PutItem, rate: 1, item_size: 1 KB, keys: {uniform: 1000}}
    """)
    assert names(found.singly) == ["large", "small"]
    assert names(found.fluid) == ["reads", "other"]
