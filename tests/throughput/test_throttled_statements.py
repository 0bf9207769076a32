"""What is counted of throttled statements does not depend on how they are written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.errors import ThrottlingException
from faradisc.operations.request_counter import RequestCounter

WRITINGS = (
    'SELECT * FROM "T"',
    "select*from T",
    'SELECT"a1"FROM T',
    'SELECT"a2"FROM T',
    "\n-- a comment\n/* and another */ Select a FROM T",
)


def throttled(operation: str, request: dict[str, Any], registry: ResourceRegistry) -> None:
    table = SimpleNamespace(name="T", meter=SimpleNamespace(registry=registry))
    call: Any = SimpleNamespace(operation=operation, request=request, tables=[table])
    RequestCounter(lambda region, number: registry).rejected(call, ThrottlingException("slower"))


def test_every_way_to_write_a_select_is_one_series() -> None:
    registry = ResourceRegistry(CapacityConfig(), 0)
    for statement in WRITINGS:
        throttled("ExecuteStatement", {"Statement": statement}, registry)
    (meter,) = registry.requests.operations()
    assert (meter.extra, meter.throttled) == ((("Verb", "PartiQLSelect"),), len(WRITINGS))


@pytest.mark.parametrize(
    ("operation", "member"),
    [("BatchExecuteStatement", "Statements"), ("ExecuteTransaction", "TransactStatements")],
)
def test_every_way_to_write_a_select_is_a_read(operation: str, member: str) -> None:
    registry = ResourceRegistry(CapacityConfig(), 0)
    for statement in WRITINGS:
        throttled(operation, {member: [{"Statement": statement}]}, registry)
    (meter,) = registry.requests.operations()
    assert meter.extra == (("OperationType", "Read"),)
