"""Vectors V140 to V146 of capacity.md section 4.8: cost; and what modes are compared by."""

from __future__ import annotations

from decimal import Decimal

import pytest

from faradisc.tools.planner.results.prices import HOURS_PER_MONTH, US_EAST_1
from unit.planner.planned import outcome_of

STANDARD = US_EAST_1.of_class(infrequent=False)


def month(read_units: int, write_units: int) -> Decimal:
    """What provisioned units cost for a month."""
    hours = HOURS_PER_MONTH
    return sum(STANDARD.provisioned(Decimal(read_units * hours), Decimal(write_units * hours)))


def test_v140_one_unit_for_a_month() -> None:
    """V140, price list: 0.4745 and 0.0949."""
    assert (month(0, 1), month(1, 0)) == (Decimal("0.4745"), Decimal("0.0949"))


def test_v141_a_table_for_a_month() -> None:
    """V141, X: 1,000 RCU and 500 WCU: 332.15."""
    assert month(1_000, 500) == Decimal("332.15")


def test_v142_on_demand() -> None:
    """V142, X: 100 million writes, 100 million eventually consistent reads: 62.50 and 6.25."""
    assert STANDARD.on_demand(Decimal(50_000_000), Decimal(100_000_000)) == (Decimal("6.25"), Decimal("62.5"))


def test_v143_storage() -> None:
    """V143, X: 125 GB, of which 25 are free: 25.00."""
    assert STANDARD.storage(Decimal(125)) == 25


def test_v144_break_even() -> None:
    """V144, X: provisioned is cheaper from 28.89 % on, for reads and writes."""
    used = Decimal("0.2889")
    for share, dearer in ((used - Decimal("0.0001"), "provisioned"), (used, "on demand")):
        units = 3600 * share  # of one unit of each, in an hour
        on_demand = STANDARD.on_demand(units, units)
        provisioned = STANDARD.provisioned(Decimal(1), Decimal(1))
        for one, other in zip(on_demand, provisioned, strict=True):
            assert (one < other) == (dearer == "provisioned")


def test_v145_the_bulk_load_of_the_document() -> None:
    """V145, S4 and price list: 11,000 WCU for 30 min 3.575, 1,900 WCU for 3 h 3.705, on demand 12.50."""
    fast = STANDARD.provisioned(Decimal(0), Decimal(11_000) / 2)
    slow = STANDARD.provisioned(Decimal(0), Decimal(1_900) * 3)
    assert (fast[1], slow[1]) == (Decimal("3.575"), Decimal("3.705"))
    assert STANDARD.on_demand(Decimal(0), Decimal(20_000_000))[1] == Decimal("12.5")


def test_v146_a_write_a_second_for_thirty_days() -> None:
    """V146, X: 1.62."""
    assert STANDARD.on_demand(Decimal(0), Decimal(30 * 86_400))[1] == Decimal("1.62")


PLAN = """
    duration: 1h
    tables: {{T: {{{table}}}}}
    traffic: [{{operation: PutItem, rate: {rate}, item_size: 1 KB, keys: {{uniform: 100000}}}}]
    {more}
"""


def test_v146_through_a_run() -> None:
    """V146, as a month of 730 hours: 1.62 x 730 / 720."""
    found = outcome_of(PLAN.format(table="mode: on-demand", rate=1, more=""), "fluid")
    modes = {mode.mode: mode.total_usd for mode in found.costs.modes}
    assert modes["as-planned"] == modes["on-demand"] == 1.64
    assert modes["provisioned-peak"] == 0.57, "one WCU and the one RCU that a table must have: V140"


def test_as_planned_is_what_the_plan_provisions() -> None:
    """V141 through a run."""
    table = "mode: provisioned, read: 1000, write: 500"
    found = outcome_of(PLAN.format(table=table, rate=400, more=""), "fluid")
    modes = {mode.mode: mode for mode in found.costs.modes}
    assert modes["as-planned"].total_usd == 332.15
    assert modes["as-planned"].cheapest is False and modes[found.costs.cheapest].cheapest is True
    assert modes[found.costs.cheapest].total_usd == min(mode.total_usd for mode in found.costs.modes)


def test_prices_can_be_set_by_the_plan() -> None:
    more = "prices: {write_million: 6.25, region: eu-west-9}"
    found = outcome_of(PLAN.format(table="mode: on-demand", rate=1, more=more), "fluid")
    assert found.costs.modes[0].total_usd == 16.42
    assert found.costs.prices["overridden"] == ["region", "write_million"]
    assert any("eu-west-9" in sentence for sentence in found.assumptions)


def test_reserved_capacity_only_at_the_plans_own_price() -> None:
    more = "prices: {reserved_read_unit_hour: 0.00005, reserved_write_unit_hour: 0.0003}"
    found = outcome_of(PLAN.format(table="mode: on-demand", rate=100, more=more), "fluid")
    reserved = next(mode for mode in found.costs.modes if mode.mode == "reserved")
    assert reserved.total_usd == round(730 * (100 * 0.0003 + 0.00005), 2)
    plain = outcome_of(PLAN.format(table="mode: on-demand", rate=100, more=""), "fluid")
    assert all(mode.mode != "reserved" for mode in plain.costs.modes)


def test_storage_recovery_and_the_infrequent_class() -> None:
    table = "mode: on-demand, items: 125000000, item_size: 973, point_in_time_recovery: true"
    found = outcome_of(PLAN.format(table=table, rate=0, more=""), "fluid")
    planned = found.costs.modes[0]
    # 125 million items of 973 + 100 bytes are 124.91 GB.
    assert (planned.storage_usd, planned.other_usd) == (24.98, 24.98)
    found = outcome_of(PLAN.format(table=table + ", class: infrequent-access", rate=0, more=""), "fluid")
    assert found.costs.modes[0].storage_usd == 12.49, "nothing is free in this class"


def test_index_costs_are_shown_apart() -> None:
    table = "mode: on-demand, indexes: {g: {projection: all}}"
    found = outcome_of(PLAN.format(table=table, rate=10, more=""), "fluid")
    planned = found.costs.modes[0]
    assert planned.index_usd == pytest.approx(planned.total_usd / 2, abs=0.01)
    assert [entry.resource for entry in found.costs.resources] == ["T", "T/index/g"]
