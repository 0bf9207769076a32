"""Tests against a server that pytest starts and stops; nothing has to run before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orders
import pytest


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, faradisc_server: Any) -> Iterator[None]:
    monkeypatch.setattr(orders, "TABLE", faradisc_server.resource().Table("orders"))
    orders.create_table()
    yield
    orders.TABLE.delete()
