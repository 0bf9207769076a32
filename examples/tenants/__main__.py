"""python -m examples.tenants URL: sets tenants up on a server with --auth strict, and tries to get out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import boto3

from examples.tenants import own_tables, shared_table


def connector(url: str) -> shared_table.Connect:
    """Returns a function that makes clients; without credentials they have the environment's key."""

    def connect(service: str, credentials: Mapping[str, Any] | None = None) -> Any:
        given = credentials or {}
        return boto3.client(
            service,
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id=given.get("AccessKeyId"),
            aws_secret_access_key=given.get("SecretAccessKey"),
            aws_session_token=given.get("SessionToken"),
        )

    return connect


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    connect = connector(sys.argv[1])
    for example in (shared_table, own_tables):
        print(f"--- {example.__name__}")
        example.main(connect)


if __name__ == "__main__":
    main()
