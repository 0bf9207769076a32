"""Orders under moto."""

from __future__ import annotations

from collections.abc import Iterator

import orders
import pytest
from moto import mock_aws
from moto.core import patch_resource


@pytest.fixture
def table() -> Iterator[None]:
    with mock_aws():
        patch_resource(orders.TABLE)  # it was made before moto was imported
        orders.create_table()
        yield


def test_an_order_is_placed_once(table: None) -> None:
    assert orders.place("Ada", 1, "9.50")
    assert not orders.place("Ada", 1, "9.50")


def test_orders_are_added_up(table: None) -> None:
    orders.place("Ada", 1, "9.50")
    orders.place("Ada", 2, "0.50")
    orders.place("Bob", 1, "3")
    assert orders.total("Ada") == 10
