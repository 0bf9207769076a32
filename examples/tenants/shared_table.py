"""One table for all tenants. A broker gives out sessions; what a session reaches is decided by its tag."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Connect = Callable[..., Any]
"""connect(service, credentials) returns a boto3 client; without credentials, one with the account's key."""

TABLE = "Shared"
ROLE = "tenant"
SEPARATOR = "#"
"""Ends the tenant in a partition key: `acme#invoice-7`. Without it `acme` would reach the keys of `acme2`."""
INDEX = "by-state"
"""Its partition key begins with the tenant too, for example `acme#open`."""

OPERATIONS = (
    *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "Query"),
    *("BatchGetItem", "BatchWriteItem"),
)
"""Scan and PartiQL are missing: they read without naming a key, and would read all tenants."""


def set_up(connect: Connect) -> None:
    """Creates the table and the role, with the account's key."""
    account = connect("sts").get_caller_identity()["Account"]
    connect("dynamodb").create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "state")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": INDEX,
                "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    iam = connect("iam")
    trust = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {
            "ForAllValues:StringEquals": {"aws:TagKeys": ["tenant"]},
            "StringLike": {"aws:RequestTag/tenant": "?*"},  # a session of no tenant is of no use
        },
    }
    rights = {
        "Effect": "Allow",
        "Action": [f"dynamodb:{operation}" for operation in OPERATIONS],
        "Resource": [f"arn:aws:dynamodb:*:{account}:table/{TABLE}{part}" for part in ("", "/index/*")],
        "Condition": {
            "ForAllValues:StringLike": {
                "dynamodb:LeadingKeys": [f"${{aws:PrincipalTag/tenant}}{SEPARATOR}*"]
            },
            "Null": {"aws:PrincipalTag/tenant": "false"},
        },
    }
    iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=_document(trust))
    iam.put_role_policy(RoleName=ROLE, PolicyName="own-items", PolicyDocument=_document(rights))


def session_of(connect: Connect, tenant: str) -> dict[str, Any]:
    """Returns credentials of an hour for a program of a tenant. Only the broker may call this.

    Raises ValueError for a name that could be read as another tenant's.
    """
    if not re.fullmatch(r"[a-z0-9-]{1,60}", tenant):
        raise ValueError(f"{tenant!r} is no tenant")
    account = connect("sts").get_caller_identity()["Account"]
    answer = connect("sts").assume_role(
        RoleArn=f"arn:aws:iam::{account}:role/{ROLE}",
        RoleSessionName=f"program-of-{tenant}"[:64],
        Tags=[{"Key": "tenant", "Value": tenant}],
    )
    credentials: dict[str, Any] = answer["Credentials"]
    return credentials


def key_of(tenant: str, name: str) -> str:
    """Returns the partition key of a tenant's item."""
    return f"{tenant}{SEPARATOR}{name}"


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def main(connect: Connect) -> None:
    set_up(connect)
    for tenant in ("acme", "globex"):
        dynamodb = connect("dynamodb", session_of(connect, tenant))
        item = {"id": {"S": key_of(tenant, "invoice-7")}, "state": {"S": key_of(tenant, "open")}}
        dynamodb.put_item(TableName=TABLE, Item=item)
    acme = connect("dynamodb", session_of(connect, "acme"))
    for tenant in ("acme", "globex"):
        try:
            acme.get_item(TableName=TABLE, Key={"id": {"S": key_of(tenant, "invoice-7")}})
            print(f"acme reads {tenant}'s invoice")
        except acme.exceptions.ClientError as error:
            print(f"acme is refused {tenant}'s invoice: {error.response['Error']['Code']}")
