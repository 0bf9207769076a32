"""What the shop asks of its table: the design begins here, and keys and indexes follow from it.

Queries take their key condition and index from this table; tests compare each row with the requests.
"""

from __future__ import annotations

from examples.access_patterns import AccessPattern

BY_CUSTOMER, BY_STATE = "GSI1", "GSI2"
"""Indexes of the orders of a customer, and of the orders that are not finished."""
STATE_SHARDS = 16
"""Keys among which the orders of one state and month are divided."""

PATTERNS = {
    pattern.name: pattern
    for pattern in (
        AccessPattern("show a product and its stock", "Query", "PK = :pk", read=0.5),
        AccessPattern(
            "put a product into the cart", "PutItem", "PK = CART#customer, SK = LINE#product", write=1
        ),
        AccessPattern("show the cart", "Query", "PK = :pk", read=0.5),
        AccessPattern(
            "place an order of two lines",
            "TransactWriteItems",
            "the idempotency key, ORDER#id with META and LINE#n, each product's STOCK, the message",
            write=16,
        ),
        AccessPattern("show an order", "Query", "PK = :pk", read=0.5),
        AccessPattern("list the newest orders of a customer", "Query", "GSI1PK = :pk", BY_CUSTOMER, read=0.5),
        AccessPattern(
            "list the orders of a state and month",
            f"{STATE_SHARDS} x Query",
            "GSI2PK = :pk",
            BY_STATE,
            read=8,
        ),
        AccessPattern("record a payment", "UpdateItem", "PK = ORDER#id, SK = META", write=4),
        AccessPattern(
            "record a shipment", "TransactWriteItems", "PK = ORDER#id, SK = META; the message", write=6
        ),
        AccessPattern(
            "cancel an order of two lines",
            "Query + TransactWriteItems",
            "PK = :pk",
            read=0.5,
            write=10,
        ),
        AccessPattern("remove a message that was sent", "DeleteItem", "PK = OUTBOX#id, SK = META", write=1),
    )
}
