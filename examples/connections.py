"""boto3 clients of a database in this process, of an endpoint, or of the service."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3

from examples.endpoint import connect


@dataclass(frozen=True, slots=True)
class Connections:
    documents: Any
    """The client of a boto3 resource: attributes are Python values, not {"S": ...}."""
    dynamodb: Any
    streams: Any


@contextmanager
def connections(arguments: argparse.Namespace) -> Iterator[Connections]:
    """Yields the clients that the options chose."""
    if arguments.aws:
        documents = boto3.resource("dynamodb").meta.client
        yield Connections(documents, boto3.client("dynamodb"), boto3.client("dynamodbstreams"))
    elif arguments.endpoint_url:
        url = arguments.endpoint_url
        documents = connect(url, "dynamodb", resource=True).meta.client
        yield Connections(documents, connect(url), connect(url, "dynamodbstreams"))
    else:
        from faradisc.local import LocalDatabase  # noqa: PLC0415 - not needed against a server

        with LocalDatabase() as database:
            documents = database.resource("dynamodb").meta.client
            yield Connections(documents, database.client("dynamodb"), database.client("dynamodbstreams"))


def options(program: str, description: str | None) -> argparse.ArgumentParser:
    """Returns a parser with the options of `connections`."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--endpoint-url", help="of a server; default: a database in this process")
    where.add_argument("--aws", action="store_true", help="the service, with the environment's account")
    return parser


def create(dynamodb: Any, definition: dict[str, Any], *, time_to_live: str | None = None) -> None:
    """Creates a table with point-in-time recovery, and waits until it is ACTIVE."""
    name = definition["TableName"]
    dynamodb.create_table(**definition)
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    if time_to_live is not None:
        specification = {"Enabled": True, "AttributeName": time_to_live}
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)
    recovery = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)


def key_schema(partition_key: str, sort_key: str | None = None) -> list[dict[str, str]]:
    keys = [(partition_key, "HASH")] + ([] if sort_key is None else [(sort_key, "RANGE")])
    return [{"AttributeName": name, "KeyType": kind} for name, kind in keys]
