"""A table, a role, a user and a key for each tenant."""

from __future__ import annotations

import json
from typing import Any

from examples.tenants.shared_table import Connect

DATA = ("*Item", "Query", "Scan", "PartiQL*", "DescribeTable")
"""Actions on the tenant's own tables."""


def add_tenant(connect: Connect, tenant: str) -> dict[str, Any]:
    """Creates everything of one tenant, with the account's key. Returns the key for its programs.

    The user may only assume the role: a program works with sessions of an hour, and the long-lived key is
    of no use without one more request, which the audit log shows.
    """
    account = connect("sts").get_caller_identity()["Account"]
    iam = connect("iam")
    user, role = f"{tenant}-program", f"{tenant}-data"
    iam.create_user(UserName=user)
    trust = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{account}:user/{user}"},
        "Action": "sts:AssumeRole",
    }
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=_document(trust))
    tables = f"arn:aws:dynamodb:*:{account}:table/{tenant}-*"  # with their indexes
    rights = {
        "Effect": "Allow",
        "Action": [f"dynamodb:{action}" for action in DATA],
        "Resource": tables,
    }
    iam.put_role_policy(RoleName=role, PolicyName="own-tables", PolicyDocument=_document(rights))
    connect("dynamodb").create_table(
        TableName=f"{tenant}-invoices",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    key: dict[str, Any] = iam.create_access_key(UserName=user)["AccessKey"]
    return key


def session_of(connect: Connect, tenant: str, key: dict[str, Any]) -> dict[str, Any]:
    """Returns credentials of an hour for a program that has the tenant's key."""
    sts = connect("sts", key)
    account = sts.get_caller_identity()["Account"]
    role = f"arn:aws:iam::{account}:role/{tenant}-data"
    answer: dict[str, Any] = sts.assume_role(RoleArn=role, RoleSessionName="program")
    credentials: dict[str, Any] = answer["Credentials"]
    return credentials


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def main(connect: Connect) -> None:
    keys = {tenant: add_tenant(connect, tenant) for tenant in ("acme", "globex")}
    acme = connect("dynamodb", session_of(connect, "acme", keys["acme"]))
    for tenant in keys:
        try:
            acme.put_item(TableName=f"{tenant}-invoices", Item={"id": {"S": "invoice-7"}})
            print(f"acme writes to {tenant}'s table")
        except acme.exceptions.ClientError as error:
            print(f"acme is refused {tenant}'s table: {error.response['Error']['Code']}")
