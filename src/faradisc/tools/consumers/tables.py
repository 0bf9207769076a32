"""Creates the tables of a consumer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

_PAUSE_S = 0.2
_POLLS_MAX = 600


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def ensure_table(
    client: Any, name: str, *, hash_key: str, range_key: str | None = None, sleep: Callable[[float], None]
) -> None:
    """Creates a table with keys of type S unless it exists, and waits until it is ACTIVE.

    Raises ClientError; TimeoutError after two minutes.
    """
    keys = [(hash_key, "HASH")] + ([(range_key, "RANGE")] if range_key else [])
    for _ in range(_POLLS_MAX):
        try:
            if client.describe_table(TableName=name)["Table"]["TableStatus"] in ("ACTIVE", "UPDATING"):
                return
        except ClientError as error:
            if error_code(error) != "ResourceNotFoundException":
                raise
            _create(client, name, keys)
            continue
        sleep(_PAUSE_S)
    raise TimeoutError(f"the table {name} does not become ACTIVE")


def _create(client: Any, name: str, keys: list[tuple[str, str]]) -> None:
    try:
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in keys],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key, _ in keys],
            BillingMode="PAY_PER_REQUEST",
        )
    except ClientError as error:
        # Another worker has created it.
        if error_code(error) != "ResourceInUseException":
            raise
