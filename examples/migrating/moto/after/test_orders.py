"""Orders under faradisc.local.patch, which the fixture faradisc_database enters."""

from __future__ import annotations

import orders
import pytest

from faradisc.testing import assert_no_scans, assert_units


@pytest.fixture
def table(faradisc_database: object) -> None:
    orders.create_table()


def test_an_order_is_placed_once(table: None) -> None:
    assert orders.place("Ada", 1, "9.50")
    assert not orders.place("Ada", 1, "9.50")


def test_orders_are_added_up(table: None) -> None:
    orders.place("Ada", 1, "9.50")
    orders.place("Ada", 2, "0.50")
    orders.place("Bob", 1, "3")
    assert orders.total("Ada") == 10


def test_a_total_costs_one_query(table: None) -> None:
    orders.place("Ada", 1, "9.50")
    with assert_units(orders.TABLE, read=0.5), assert_no_scans():
        orders.total("Ada")
