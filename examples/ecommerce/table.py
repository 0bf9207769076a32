"""The table of the shop: its definition, and the keys of its items.

    item             PK                          SK               attributes beside
    product          T#PRODUCT#<product>         META             name, price
    stock            T#PRODUCT#<product>         STOCK            available
    line of a cart   T#CART#<customer>           LINE#<product>   quantity, expires
    order            T#ORDER#<order>             META             customer, state, total, GSI1*, GSI2*
    line of an order T#ORDER#<order>             LINE#<number>    product, quantity, price
    idempotency key  T#IDEMPOTENCY#<key>         META             order, request, expires
    message          T#OUTBOX#<order>#<event>    META             body

`T` is TENANT#<tenant>. Keys of indexes begin with it as well, so a policy can confine a tenant's sessions by
`dynamodb:LeadingKeys` (examples/tenants).
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from examples.connections import key_schema
from examples.ecommerce.patterns import BY_CUSTOMER, BY_STATE, STATE_SHARDS

TABLE = "shop"
META, STOCK = "META", "STOCK"


def definition() -> dict[str, Any]:
    """Returns the parameters of CreateTable."""
    names = ("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")
    return {
        "TableName": TABLE,
        "KeySchema": key_schema("PK", "SK"),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": BY_CUSTOMER,
                "KeySchema": key_schema("GSI1PK", "GSI1SK"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state", "total"]},
            },
            {
                "IndexName": BY_STATE,
                "KeySchema": key_schema("GSI2PK", "GSI2SK"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }


def key(tenant: str, *parts: str) -> str:
    """Returns a key of a tenant. Raises ValueError when a part could be read as several."""
    for part in (tenant, *parts):
        if not part or "#" in part:
            raise ValueError(f"{part!r} cannot be part of a key")
    return "#".join(("TENANT", tenant, *parts))


def tenant_of(pk: str) -> str:
    return pk.split("#")[1]


def order_key(tenant: str, order: str) -> dict[str, str]:
    return {"PK": key(tenant, "ORDER", order), "SK": META}


def stock_key(tenant: str, product: str) -> dict[str, str]:
    return {"PK": key(tenant, "PRODUCT", product), "SK": STOCK}


def state_key(tenant: str, state: str, month: str, shard: int) -> str:
    """Returns a key of one part, of `STATE_SHARDS`, of a tenant's orders of a state and month."""
    return key(tenant, "STATE", state, month, str(shard))


def shard_of(order: str) -> int:
    return crc32(order.encode()) % STATE_SHARDS


def message(tenant: str, order: str, event: str, body: dict[str, Any]) -> dict[str, Any]:
    """Returns an item of the outbox. Equal events have equal keys, by which receivers see repetitions."""
    return {
        "PK": key(tenant, "OUTBOX", order, event),
        "SK": META,
        "type": "message",
        "body": {"event": event, "order": order, **body},
    }
