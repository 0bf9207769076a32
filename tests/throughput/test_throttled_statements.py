"""What is counted of throttled statements does not depend on how they are written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from faradisc.capacity.account import Account
from faradisc.capacity.config import CapacityConfig
from faradisc.engine.throughput.observing import Observer
from faradisc.errors import ThrottlingException

WRITINGS = (
    'SELECT * FROM "T"',
    "select*from T",
    'SELECT"a1"FROM T',
    'SELECT"a2"FROM T',
    "\n-- a comment\n/* and another */ Select a FROM T",
)


def throttled(operation: str, request: dict[str, Any], account: Account) -> None:
    table = SimpleNamespace(name="T", meter=SimpleNamespace(account=account))
    call: Any = SimpleNamespace(operation=operation, request=request, tables=[table])
    Observer(lambda region, number: account).refused(call, ThrottlingException("slower"))


def test_every_way_to_write_a_select_is_one_series() -> None:
    account = Account(CapacityConfig(), 0)
    for statement in WRITINGS:
        throttled("ExecuteStatement", {"Statement": statement}, account)
    (meter,) = account.requests.meters()
    assert (meter.extra, meter.throttled) == ((("Verb", "PartiQLSelect"),), len(WRITINGS))


@pytest.mark.parametrize(
    ("operation", "member"),
    [("BatchExecuteStatement", "Statements"), ("ExecuteTransaction", "TransactStatements")],
)
def test_every_way_to_write_a_select_is_a_read(operation: str, member: str) -> None:
    account = Account(CapacityConfig(), 0)
    for statement in WRITINGS:
        throttled(operation, {member: [{"Statement": statement}]}, account)
    (meter,) = account.requests.meters()
    assert meter.extra == (("OperationType", "Read"),)
