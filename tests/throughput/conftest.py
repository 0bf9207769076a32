"""A database whose throughput is enforced, on a clock that stands still until a test moves it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore.config
import pytest
from botocore.exceptions import ClientError

from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from fixtures.direct_client import direct_client

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # the benchmarks live beside the tests, not inside the package

ONE_ATTEMPT = botocore.config.Config(retries={"total_max_attempts": 1})
"""boto3 would wait for units by the machine's clock, which does not bring any here."""


class World:
    """A database, its clock and a client, with the few calls all these tests make."""

    def __init__(self, profile: str = "aws", tables: str = "") -> None:
        self.clock = ManualClock()
        self.database = LocalDatabase(clock=self.clock, throughput=profile, throughput_tables=tables)
        self.client: Any = direct_client(self.database.region, self.database.answer)

    def create(
        self,
        name: str = "Orders",
        *,
        units: tuple[int, int] | None = (10, 10),
        index: tuple[int, int] | None = None,
        on_demand_index: bool = False,
        sort_key: bool = False,
        local_index: bool = False,
        **more: Any,
    ) -> str:
        """A table with partition key `p`; a global index `by-g` on `g`, a local one `by-l` on `l`."""
        types = {"p": "S"} | ({"r": "S"} if sort_key else {})
        key = [("p", "HASH")] + ([("r", "RANGE")] if sort_key else [])
        request: dict[str, Any] = {"TableName": name, "KeySchema": _schema(key), **more}
        request |= _mode(units)
        if index is not None or on_demand_index:
            types["g"] = "S"
            request["GlobalSecondaryIndexes"] = [
                {
                    "IndexName": "by-g",
                    "KeySchema": _schema([("g", "HASH")]),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                    **({} if index is None else {"ProvisionedThroughput": _units(index)}),
                }
            ]
        if local_index:
            types["l"] = "S"
            request["LocalSecondaryIndexes"] = [
                {
                    "IndexName": "by-l",
                    "KeySchema": _schema([("p", "HASH"), ("l", "RANGE")]),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ]
        request["AttributeDefinitions"] = [
            {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()
        ]
        self.client.create_table(**request)
        return name

    def set(self, table: str = "Orders", **wanted: Any) -> dict[str, Any]:
        return self.database.change_capacity(table, wanted)

    def see(self, table: str = "Orders", index: str = "") -> dict[str, Any]:
        resource: dict[str, Any] = self.database.capacity(table)["resources"][index]
        return resource

    def metric(self, name: str, **dimensions: str) -> tuple[float, int]:
        """Sum and count of a metric since the beginning; two minutes are let pass first."""
        self.clock.advance(120)
        self.client.list_tables()
        which = tuple(sorted(dimensions.items()))
        ((_, registry),) = self.database.accounts()
        points = registry.metrics.get(name, which, 0, self.clock.now_ns(), 86_400 * 365 * 100)
        return (points[0][1].sum, points[0][1].count) if points else (0, 0)


def _schema(elements: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in elements]


def _units(units: tuple[int, int]) -> dict[str, int]:
    return {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}


def _mode(units: tuple[int, int] | None) -> dict[str, Any]:
    if units is None:
        return {"BillingMode": "PAY_PER_REQUEST"}
    return {"ProvisionedThroughput": _units(units)}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.database.close()


@pytest.fixture
def worlds() -> Iterator[Callable[..., World]]:
    """Makes worlds with other profiles."""
    made: list[World] = []

    def make(*arguments: Any) -> World:
        made.append(World(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.database.close()


@pytest.fixture
def refused() -> Callable[..., dict[str, Any]]:
    """Calls something that must be refused; the answer: code, message and further members."""

    def call(operation: Callable[..., Any], **request: Any) -> dict[str, Any]:
        with pytest.raises(ClientError) as error:
            operation(**request)
        response: dict[str, Any] = dict(error.value.response)
        return {**response, "Code": response["Error"]["Code"], "Text": response["Error"]["Message"]}

    return call
