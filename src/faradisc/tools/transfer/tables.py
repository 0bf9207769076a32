"""Definitions of tables: what DescribeTable says of one, as CreateTable takes it for another."""

from __future__ import annotations

import threading
from typing import Any

from faradisc.tools.transfer.putting import Gone
from faradisc.tools.transfer.wire import Endpoint, Refused

LOOKS_MAX = 600
PAUSE_S = 0.2
_INDEX_MEMBERS = ("IndexName", "KeySchema", "Projection")
_VECTOR_MEMBERS = (
    *("IndexName", "VectorAttribute", "SearchSchema", "Projection", "Dimensions", "DistanceFunction"),
)


def describe(endpoint: Endpoint, table: str) -> dict[str, Any]:
    """Raises: Refused, Unreachable."""
    described: dict[str, Any] = endpoint.call("DescribeTable", {"TableName": table})["Table"]
    return described


def key_names_of(described: dict[str, Any]) -> tuple[str, ...]:
    return tuple(element["AttributeName"] for element in described["KeySchema"])


def definition_of(described: dict[str, Any], name: str) -> dict[str, Any]:
    """CreateTable for a table with the same keys and indexes, on demand; without stream and tags."""
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


def make(endpoint: Endpoint, definition: dict[str, Any]) -> bool:
    """Make a table unless there is one of its name, and wait until it is ACTIVE; whether it was made.

    Raises: Gone when it is there with another key, or does not become ACTIVE; Refused, Unreachable.
    """
    name = definition["TableName"]
    try:
        present = describe(endpoint, name)
    except Refused as refusal:
        if refusal.code != "ResourceNotFoundException":
            raise
        endpoint.call("CreateTable", definition)
        made = True
    else:
        if key_names_of(present) != key_names_of(definition):
            raise Gone(f"The table {name} is there, but its key is another one.")
        made = False
    waiting = threading.Event()
    for _ in range(LOOKS_MAX):
        if describe(endpoint, name)["TableStatus"] in ("ACTIVE", "UPDATING"):
            return made
        waiting.wait(PAUSE_S)
    raise Gone(f"The table {name} does not become ACTIVE.")
