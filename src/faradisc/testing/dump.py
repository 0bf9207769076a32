"""The content of the databases of a test that has failed, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from faradisc.local import LocalDatabase, patched

ITEMS_MAX = 100
"""Shown of each table."""
_CONFIG = Config(retries={"total_max_attempts": 1})
"""A table that is throttled is not waited for."""


def tables_as_text() -> list[tuple[str, str]]:
    """Returns title and text of each database that clients are redirected to, the innermost last."""
    return [(f"faradisc: {database!r}", "\n".join(_lines(database))) for database in patched()]


def _lines(database: LocalDatabase) -> Iterator[str]:
    """Yields the tables of the database's region, each with its items as JSON."""
    try:
        client = database.client(config=_CONFIG)
        names = [
            name for page in client.get_paginator("list_tables").paginate() for name in page["TableNames"]
        ]
        if not names:
            yield "no tables"
        for name in names:
            yield from _table(client, name)
    except (ClientError, BotoCoreError, RuntimeError) as error:  # RuntimeError: it is closed
        yield f"cannot be read: {error}"


def _table(client: Any, name: str) -> Iterator[str]:
    try:
        page = client.scan(TableName=name, Limit=ITEMS_MAX)
    except ClientError as error:
        yield f"{name}: {error}"
        return
    more = " and more" if "LastEvaluatedKey" in page else ""
    yield f"{name}: {page['Count']} item{'' if page['Count'] == 1 else 's'}{more}"
    deserialize = TypeDeserializer().deserialize
    for item in page["Items"]:
        plain = {attribute: deserialize(value) for attribute, value in item.items()}
        yield f"  {json.dumps(plain, default=_shown, ensure_ascii=False)}"


def _shown(value: Any) -> Any:
    """Returns what JSON has no form for: numbers, binaries and sets."""
    if isinstance(value, set):
        return sorted(str(_shown(each)) for each in value)
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return repr(bytes(value)) if isinstance(value, Binary) else str(value)
