"""Definitions of tables: CreateTable requests from answers of DescribeTable."""

from __future__ import annotations

import threading
from typing import Any

from faradisc.errors import RequestRejected
from faradisc.tools.transfer.endpoints import Endpoint
from faradisc.tools.transfer.putting import TableUnusable

POLLS_MAX = 600
PAUSE_S = 0.2
_INDEX_MEMBERS = ("IndexName", "KeySchema", "Projection")
_VECTOR_MEMBERS = (
    *("IndexName", "VectorAttribute", "SearchSchema", "Projection", "Dimensions", "DistanceFunction"),
)


def describe(endpoint: Endpoint, table: str) -> dict[str, Any]:
    """Raises RequestRejected, Unreachable."""
    described: dict[str, Any] = endpoint.call("DescribeTable", {"TableName": table})["Table"]
    return described


def key_names_of(described: dict[str, Any]) -> tuple[str, ...]:
    return tuple(element["AttributeName"] for element in described["KeySchema"])


def definition_of(described: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns the CreateTable request for a table with the same keys and indexes, on demand, without stream
    and tags."""
    definition: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": described["AttributeDefinitions"],
        "KeySchema": described["KeySchema"],
        "BillingMode": "PAY_PER_REQUEST",
    }
    for kind, members in (
        ("LocalSecondaryIndexes", _INDEX_MEMBERS),
        ("GlobalSecondaryIndexes", _INDEX_MEMBERS),
        ("VectorIndexes", _VECTOR_MEMBERS),
    ):
        if described.get(kind):
            definition[kind] = [
                {member: index[member] for member in members if member in index} for index in described[kind]
            ]
    return definition


def create_missing(endpoint: Endpoint, definition: dict[str, Any]) -> None:
    """Creates a table unless it exists, and waits until it is ACTIVE.

    Raises TableUnusable when it exists with another key, or does not become ACTIVE; RequestRejected,
    Unreachable.
    """
    name = definition["TableName"]
    try:
        present = describe(endpoint, name)
    except RequestRejected as error:
        if error.code != "ResourceNotFoundException":
            raise
        endpoint.call("CreateTable", definition)
    else:
        if key_names_of(present) != key_names_of(definition):
            raise TableUnusable(f"The table {name} exists with another key.")
    waiting = threading.Event()
    for _ in range(POLLS_MAX):
        if describe(endpoint, name)["TableStatus"] in ("ACTIVE", "UPDATING"):
            return
        waiting.wait(PAUSE_S)
    raise TableUnusable(f"The table {name} does not become ACTIVE.")
