"""Tenants try to reach each other's data by every way there is: each attempt must be denied by a policy.

What it proves: the policies of the examples hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from examples.tenants import own_tables, shared_table
from examples.tenants.shared_table import INDEX, ROLE, TABLE, key_of, session_of

from fixtures.identity_world import ACCOUNT, IdentityWorld, error_of
from fixtures.served import Server

ROOT = Path(__file__).resolve().parents[2]
DENIED = "AccessDeniedException"
SECRET = "of-globex-only"


def item(tenant: str, name: str = "a", text: str = SECRET) -> dict[str, Any]:
    return {"id": {"S": key_of(tenant, name)}, "state": {"S": key_of(tenant, "open")}, "text": {"S": text}}


def key(tenant: str, name: str = "a") -> dict[str, Any]:
    return {"id": {"S": key_of(tenant, name)}}


def names(operation: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in operation).lstrip("_")


# --- One table -------------------------------------------------------------------------------------


@pytest.fixture
def shared(identity_world: IdentityWorld) -> IdentityWorld:
    """The table with items of acme, of globex, and of a tenant whose name begins with acme."""
    shared_table.set_up(identity_world.client)
    for tenant in ("acme", "acme2", "globex"):
        text = "mine" if tenant == "acme" else SECRET
        identity_world.client("dynamodb").put_item(TableName=TABLE, Item=item(tenant, text=text))
    return identity_world


@pytest.fixture
def acme(shared: IdentityWorld) -> Any:
    return shared.client("dynamodb", session_of(shared.client, "acme"))


def test_tenant_uses_its_own_items(acme: Any) -> None:
    acme.put_item(TableName=TABLE, Item=item("acme", "b", "mine"))
    assert acme.get_item(TableName=TABLE, Key=key("acme", "b"))["Item"]["text"] == {"S": "mine"}
    update = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
    acme.update_item(TableName=TABLE, Key=key("acme", "b"), **update)
    acme.batch_write_item(RequestItems={TABLE: [{"PutRequest": {"Item": item("acme", "c", "mine")}}]})
    got = acme.batch_get_item(RequestItems={TABLE: {"Keys": [key("acme", "b"), key("acme", "c")]}})
    assert len(got["Responses"][TABLE]) == 2
    state = {":s": {"S": key_of("acme", "open")}}
    found = acme.query(
        TableName=TABLE,
        IndexName=INDEX,
        KeyConditionExpression="#s = :s",
        ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues=state,
    )
    assert found["Count"] == 3
    check = {"ConditionExpression": "attribute_exists(id)", "TableName": TABLE}
    acme.transact_write_items(
        TransactItems=[
            {"ConditionCheck": {**check, "Key": key("acme", "b")}},
            {"Delete": {"TableName": TABLE, "Key": key("acme", "c")}},
        ]
    )


OTHERS = ("globex", "acme2")
"""A name that begins with the tenant's own is the one that a careless pattern lets in."""


def attempts(other: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Requests for another tenant's items, by a label: operation and members."""
    own, foreign = key("acme"), key(other)
    value = {":v": {"S": key_of(other, "a")}}
    by_state = {":v": {"S": key_of(other, "open")}}
    index = {"IndexName": INDEX, "ExpressionAttributeNames": {"#s": "state"}}
    on_item = {"TableName": TABLE, "Key": foreign}
    update = {"UpdateExpression": "SET x = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}}
    condition = {"ConditionExpression": "attribute_exists(id)"}
    select = f"""SELECT * FROM "{TABLE}" WHERE id = '{key_of(other, "a")}'"""
    return {
        "get": ("GetItem", on_item),
        "get a projection": ("GetItem", {**on_item, "ProjectionExpression": "id"}),
        "put": ("PutItem", {"TableName": TABLE, "Item": item(other)}),
        "put a new one": ("PutItem", {"TableName": TABLE, "Item": item(other, "new")}),
        "update": ("UpdateItem", {**on_item, **update}),
        "delete": ("DeleteItem", on_item),
        "batch": ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [own, foreign]}}}),
        "batch write": (
            "BatchWriteItem",
            {
                "RequestItems": {
                    TABLE: [{"PutRequest": {"Item": item("acme")}}, {"DeleteRequest": {"Key": foreign}}]
                }
            },
        ),
        "query": (
            "Query",
            {"TableName": TABLE, "KeyConditionExpression": "id = :v", "ExpressionAttributeValues": value},
        ),
        "query by old parameters": (
            "Query",
            {
                "TableName": TABLE,
                "KeyConditions": {"id": {"ComparisonOperator": "EQ", "AttributeValueList": [foreign["id"]]}},
            },
        ),
        "query the index": (
            "Query",
            {
                **index,
                "TableName": TABLE,
                "KeyConditionExpression": "#s = :v",
                "ExpressionAttributeValues": by_state,
            },
        ),
        "count in the index": (
            "Query",
            {
                **index,
                "TableName": TABLE,
                "Select": "COUNT",
                "KeyConditionExpression": "#s = :v",
                "ExpressionAttributeValues": by_state,
            },
        ),
        "scan": ("Scan", {"TableName": TABLE}),
        "scan with a filter on the own tenant": (
            "Scan",
            {
                "TableName": TABLE,
                "FilterExpression": "begins_with(id, :v)",
                "ExpressionAttributeValues": {":v": {"S": "acme#"}},
            },
        ),
        "scan the index": ("Scan", {"TableName": TABLE, "IndexName": INDEX}),
        "transaction": (
            "TransactGetItems",
            {"TransactItems": [{"Get": {"TableName": TABLE, "Key": each}} for each in (own, foreign)]},
        ),
        "transaction that checks": (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {"TableName": TABLE, "Item": item("acme")}},
                    {"ConditionCheck": {**on_item, **condition}},
                ]
            },
        ),
        "statement": ("ExecuteStatement", {"Statement": select}),
        "statement without a key": ("ExecuteStatement", {"Statement": f'SELECT * FROM "{TABLE}"'}),
        "statement on the index": ("ExecuteStatement", {"Statement": f'SELECT * FROM "{TABLE}"."{INDEX}"'}),
        "insert": (
            "ExecuteStatement",
            {"Statement": f"INSERT INTO \"{TABLE}\" VALUE {{'id': '{key_of(other, 'x')}'}}"},
        ),
        "statements in a transaction": (
            "ExecuteTransaction",
            {"TransactStatements": [{"Statement": select}]},
        ),
        "by ARN": (
            "GetItem",
            {"TableName": f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/{TABLE}", "Key": foreign},
        ),
        "by ARN of another region": (
            "GetItem",
            {"TableName": f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/{TABLE}", "Key": foreign},
        ),
        "streams on": (
            "UpdateTable",
            {
                "TableName": TABLE,
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            },
        ),
        "backup": ("CreateBackup", {"TableName": TABLE, "BackupName": "copy"}),
        "delete the table": ("DeleteTable", {"TableName": TABLE}),
        "policy of the table": (
            "PutResourcePolicy",
            {"ResourceArn": f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/{TABLE}", "Policy": "{}"},
        ),
    }


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("label", attempts("x"))
def test_tenant_does_not_reach_other_tenants(
    shared: IdentityWorld, acme: Any, other: str, label: str
) -> None:
    operation, members = attempts(other)[label]
    before = shared.client("dynamodb").scan(TableName=TABLE)["Items"]
    code, text = error_of(getattr(acme, names(operation)), **members)
    assert code == DENIED, text
    assert SECRET not in text
    assert shared.client("dynamodb").scan(TableName=TABLE)["Items"] == before


def test_statements_in_a_batch_return_nothing_of_others(acme: Any) -> None:
    statement = f"""SELECT * FROM "{TABLE}" WHERE id = '{key_of("globex", "a")}'"""
    try:
        answer = json.dumps(acme.batch_execute_statement(Statements=[{"Statement": statement}])["Responses"])
    except ClientError as error:
        answer = str(error)
    assert "AccessDenied" in answer
    assert SECRET not in answer


@pytest.mark.parametrize(
    "name", ["", "ac*", "*", "?cme", "acme#", "acme\n", "ACME", "a" * 61, "${aws:userid}"]
)
def test_broker_gives_no_session_of_a_name_with_a_meaning(shared: IdentityWorld, name: str) -> None:
    with pytest.raises(ValueError, match="is no tenant"):
        session_of(shared.client, name)


def test_session_without_a_tenant_is_not_given(shared: IdentityWorld) -> None:
    call = shared.client("sts").assume_role
    arn = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
    for tags in ([], [{"Key": "tenant", "Value": ""}], [{"Key": "other", "Value": "acme"}]):
        members = {"Tags": tags} if tags else {}
        assert error_of(call, RoleArn=arn, RoleSessionName="xx", **members)[0] == "AccessDenied"
    two = [{"Key": "tenant", "Value": "acme"}, {"Key": "admin", "Value": "true"}]
    assert error_of(call, RoleArn=arn, RoleSessionName="xx", Tags=two)[0] == "AccessDenied"


def test_wildcards_in_a_tag_are_no_wildcards(shared: IdentityWorld) -> None:
    """Even if the broker gave such a name out."""
    arn = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
    tags = [{"Key": "tenant", "Value": "*"}]
    assert error_of(shared.client("sts").assume_role, RoleArn=arn, RoleSessionName="xx", Tags=tags)[0] == (
        "ValidationError"
    )


def test_session_cannot_become_another(shared: IdentityWorld) -> None:
    session = session_of(shared.client, "acme")
    sts = shared.client("sts", session)
    arn = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
    tags = [{"Key": "tenant", "Value": "globex"}]
    assert error_of(sts.assume_role, RoleArn=arn, RoleSessionName="xx", Tags=tags)[0] == "AccessDenied"
    assert error_of(sts.get_session_token)[0] == "AccessDenied"
    iam = shared.client("iam", session)
    for call, members in (
        (iam.tag_role, {"RoleName": ROLE, "Tags": tags}),
        (iam.put_role_policy, {"RoleName": ROLE, "PolicyName": "own-items", "PolicyDocument": "{}"}),
        (iam.create_user, {"UserName": "mallory"}),
    ):
        assert error_of(call, **members)[0] == "AccessDenied"


# --- A table for each ------------------------------------------------------------------------------


@pytest.fixture
def apart(identity_world: IdentityWorld) -> Iterator[tuple[IdentityWorld, Callable[..., Any]]]:
    """Tenants acme, acme2 and globex; returns a function that makes clients of acme's session."""
    keys = {
        tenant: own_tables.add_tenant(identity_world.client, tenant) for tenant in ("acme", "acme2", "globex")
    }
    for tenant in keys:
        identity_world.client("dynamodb").put_item(
            TableName=f"{tenant}-invoices", Item={"id": {"S": "a"}, "text": {"S": SECRET}}
        )
    session = own_tables.session_of(identity_world.client, "acme", keys["acme"])
    yield identity_world, lambda service, given=session: identity_world.client(service, given)


def test_tenant_uses_its_own_tables(apart: Any) -> None:
    dynamodb = apart[1]("dynamodb")
    dynamodb.put_item(TableName="acme-invoices", Item={"id": {"S": "b"}})
    assert dynamodb.scan(TableName="acme-invoices")["Count"] == 2
    statement = """SELECT * FROM "acme-invoices" WHERE id = 'b'"""
    assert len(dynamodb.execute_statement(Statement=statement)["Items"]) == 1


@pytest.mark.parametrize("other", OTHERS)
def test_tenant_does_not_reach_other_tables(apart: Any, other: str) -> None:
    _, client = apart
    dynamodb = client("dynamodb")
    table, found = f"{other}-invoices", {"id": {"S": "a"}}
    own = {"TableName": "acme-invoices", "Key": found}
    for operation, members in (
        ("get_item", {"TableName": table, "Key": found}),
        ("put_item", {"TableName": table, "Item": found}),
        ("scan", {"TableName": table}),
        ("describe_table", {"TableName": table}),
        ("execute_statement", {"Statement": f'SELECT * FROM "{table}"'}),
        ("batch_get_item", {"RequestItems": {table: {"Keys": [found]}, "acme-invoices": {"Keys": [found]}}}),
        (
            "transact_get_items",
            {"TransactItems": [{"Get": own}, {"Get": {"TableName": table, "Key": found}}]},
        ),
        ("delete_table", {"TableName": table}),
        ("delete_table", {"TableName": "acme-invoices"}),
        (
            "restore_table_to_point_in_time",
            {"SourceTableName": table, "TargetTableName": "acme-copy", "UseLatestRestorableTime": True},
        ),
        ("export_table_to_point_in_time", {"TableArn": table_arn(table), "S3Bucket": "bucket"}),
        ("list_tables", {}),
    ):
        code, text = error_of(getattr(dynamodb, operation), **members)
        assert code == DENIED, (operation, text)
    sts = client("sts")
    role = f"arn:aws:iam::{ACCOUNT}:role/{other}-data"
    assert error_of(sts.assume_role, RoleArn=role, RoleSessionName="xx")[0] == "AccessDenied"


def table_arn(table: str) -> str:
    return f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/{table}"


def test_key_of_a_tenant_is_of_no_use_but_to_assume_its_role(identity_world: IdentityWorld) -> None:
    world = identity_world
    key = own_tables.add_tenant(world.client, "acme")
    assert error_of(world.client("dynamodb", key).scan, TableName="acme-invoices")[0] == DENIED
    assert error_of(world.client("iam", key).get_user)[0] == "AccessDenied"
    own_tables.add_tenant(world.client, "globex")
    with pytest.raises(ClientError, match="AccessDenied"):
        own_tables.session_of(world.client, "globex", key)


def test_programs_run_against_a_server(tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    added = subprocess.run(
        [sys.executable, "-m", "faradisc", "credentials", "add", "--credentials-file", file],
        capture_output=True,
        text=True,
        check=True,
    )
    key = dict(line.split("=", 1) for line in added.stdout.splitlines())
    with Server("--memory", "--auth", "strict", "--credentials-file", file) as server:
        done = subprocess.run(
            [sys.executable, "-m", "examples.tenants", server.url],
            cwd=ROOT,
            env={**os.environ, **key},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "acme reads acme's invoice" in lines
    assert "acme is refused globex's invoice: AccessDeniedException" in lines
    assert "acme writes to acme's table" in lines
    assert "acme is refused globex's table: AccessDeniedException" in lines
