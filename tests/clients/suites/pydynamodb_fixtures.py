"""The fixtures that PyDynamoDB's tests ask for by name: its sdist carries the tests without their conftest.py
and without `ENV`, in which the tests look whether the server is a local one.

The tables have the names and keys that the tests use. `PYDYNAMODB_ENDPOINT` is the server's address.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pydynamodb
import pytest
import sqlalchemy
import tests  # of PyDynamoDB: the folder has no __init__.py
from pydynamodb.converter import DefaultTypeConverter
from pydynamodb.cursor import DictCursor
from pydynamodb.superset_dynamodb.pydynamodb import SupersetCursor

ENDPOINT = os.environ["PYDYNAMODB_ENDPOINT"]
REGION = "us-east-1"
TABLES = (*(f"pydynamodb_test_case0{number}" for number in range(1, 6)), "user")

tests.ENV = SimpleNamespace(use_local_ddb=True)


@pytest.fixture(scope="session", autouse=True)
def tables() -> None:
    client = boto3.client("dynamodb", region_name=REGION, endpoint_url=ENDPOINT)
    for name in TABLES:
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "key_partition", "KeyType": "HASH"},
                {"AttributeName": "key_sort", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "key_partition", "AttributeType": "S"},
                {"AttributeName": "key_sort", "AttributeType": "N"},
            ],
        )


@pytest.fixture
def converter() -> Any:
    return DefaultTypeConverter()


@pytest.fixture
def conn() -> Iterator[Any]:
    with pydynamodb.connect(region_name=REGION, endpoint_url=ENDPOINT) as connection:
        yield connection


@pytest.fixture
def cursor(conn: Any) -> Any:
    return conn.cursor()


@pytest.fixture
def dict_cursor(conn: Any) -> Any:
    return conn.cursor(DictCursor)


@pytest.fixture
def superset_cursor(conn: Any) -> Any:
    return conn.cursor(SupersetCursor)


def _engine(**more: str) -> Iterator[tuple[Any, Any]]:
    query = urllib.parse.urlencode({"endpoint_url": ENDPOINT, **more})
    engine = sqlalchemy.create_engine(f"dynamodb://any:any@dynamodb.{REGION}.amazonaws.com:443?{query}")
    with engine.connect() as connection:
        yield engine, connection
    engine.dispose()


@pytest.fixture
def engine() -> Iterator[tuple[Any, Any]]:
    yield from _engine()


@pytest.fixture
def superset_engine() -> Iterator[tuple[Any, Any]]:
    yield from _engine(connector="superset")
