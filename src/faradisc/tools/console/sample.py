"""A sample table for a first look: a shop in single-table design with an index, items of four entities."""

from __future__ import annotations

import random
from typing import Any, Final

from faradisc.tools.console.endpoint import ServerEndpoint
from faradisc.tools.console.results import ResultWalk, put_all
from faradisc.tools.console.values import Item

TABLE: Final = "Shop"
CUSTOMERS: Final = 24
_SEED: Final = 7
_FIRST: Final = (
    "Ada",
    "Grace",
    "Edsger",
    "Barbara",
    "Alan",
    "Frances",
    "Donald",
    "Radia",
    "Tony",
    "Margaret",
)
_LAST: Final = ("Byron", "Murray", "Liskov", "Perlman", "Allen", "Hoare", "Hamilton", "Knuth")
_CITIES: Final = (("Lyon", "FR"), ("Gent", "BE"), ("Graz", "AT"), ("Porto", "PT"), ("Bergen", "NO"))
_PRODUCTS: Final = (
    ("coil", "4.20"),
    ("magnet", "12.50"),
    ("disc", "89.00"),
    ("brush", "2.75"),
    ("axle", "17.30"),
)


def request() -> dict[str, Any]:
    """Returns the CreateTable request."""
    names = ("PK", "SK", "GSI1PK", "GSI1SK")
    keys = [{"AttributeName": "GSI1PK", "KeyType": "HASH"}, {"AttributeName": "GSI1SK", "KeyType": "RANGE"}]
    return {
        "TableName": TABLE,
        "KeySchema": [
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "GlobalSecondaryIndexes": [
            {"IndexName": "GSI1", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def items() -> list[Item]:
    """Returns customers with their orders and lines, and the products; always the same ones."""
    chance = random.Random(_SEED)
    found: list[Item] = [
        _item(
            f"PRODUCT#{name}",
            "PRODUCT",
            name=name,
            price={"N": price},
            stock={"N": str(chance.randrange(90))},
        )
        for name, price in _PRODUCTS
    ]
    for number in range(1, CUSTOMERS + 1):
        customer, name = f"CUSTOMER#{number:05d}", f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
        city, country = chance.choice(_CITIES)
        address = {"M": {"city": {"S": city}, "country": {"S": country}, "street": {"S": "12 Rue Ampère"}}}
        mail = f"{name.lower().replace(' ', '.')}{number}@example.org"
        found.append(
            _item(
                customer, "PROFILE", name=name, email=mail, addresses={"M": {"home": address}},
                tags={"SS": ["newsletter", f"{country.lower()}-shop"]},
                GSI1PK=f"EMAIL#{mail}", GSI1SK="CUSTOMER",
            )
        )  # fmt: skip
        for _ in range(chance.randrange(1, 5)):
            day, hour = f"{chance.randrange(1, 12):02d}-{chance.randrange(1, 28):02d}", chance.randrange(24)
            at = f"2026-{day}T{hour:02d}:00Z"
            order, state = f"{1000 + len(found)}", chance.choice(("OPEN", "PAID", "SENT"))
            lines = chance.sample(_PRODUCTS, chance.randrange(1, 4))
            total = sum(round(float(price) * 100) for _, price in lines)
            found.append(
                _item(
                    customer, f"ORDER#{at}", orderId=order, status=state, currency="EUR",
                    total={"N": f"{total / 100:.2f}"}, gift={"BOOL": chance.random() < 0.2},
                    GSI1PK=f"ORDER#{order}", GSI1SK="ORDER",
                )
            )  # fmt: skip
            found += [
                _item(
                    f"ORDER#{order}", f"LINE#{line:03d}", product=product, price={"N": price},
                    quantity={"N": "1"}, GSI1PK=f"PRODUCT#{product}", GSI1SK=f"LINE#{order}#{line:03d}",
                )
                for line, (product, price) in enumerate(lines, 1)
            ]  # fmt: skip
    return found


def _item(partition: str, sort: str, **more: Any) -> Item:
    given = {name: {"S": value} if isinstance(value, str) else value for name, value in more.items()}
    return {"PK": {"S": partition}, "SK": {"S": sort}, **given}


async def load(endpoint: ServerEndpoint) -> None:
    """Creates the table and writes its items. Raises Failure."""
    await endpoint.call("CreateTable", request())
    wait = {"TableName": TABLE, "WaiterConfig": {"Delay": 1, "MaxAttempts": 120}}
    await endpoint.use(lambda client: client.get_waiter("table_exists").wait(**wait))
    await put_all(endpoint, TABLE, items(), ResultWalk())
