from __future__ import annotations

import orders


def test_an_order_is_placed_once(table: None) -> None:
    assert orders.place("Ada", 1, "9.50")
    assert not orders.place("Ada", 1, "9.50")


def test_orders_are_added_up(table: None) -> None:
    orders.place("Ada", 1, "9.50")
    orders.place("Ada", 2, "0.50")
    orders.place("Bob", 1, "3")
    assert orders.total("Ada") == 10
