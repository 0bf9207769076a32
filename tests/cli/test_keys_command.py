"""`faradisc keys`, and servers with its file or a KMS: no file and no output has an item."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from fixtures.encrypted import SECRET
from fixtures.kms import ALIAS, denied, kms_served
from fixtures.schemas import item, schema

FILE = ("--keys", "master.json")
KEY = {"p": {"S": "a"}}


def client(server: Any) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{server.port}",
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )


def make_table(dynamodb: Any, key: str) -> None:
    dynamodb.create_table(
        TableName="table",
        **schema("p:S"),
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key},
    )
    dynamodb.get_waiter("table_exists").wait(TableName="table")
    dynamodb.put_item(TableName="table", Item=item(p="a", v=SECRET))


def value(dynamodb: Any) -> str:
    found: str = dynamodb.get_item(TableName="table", Key=KEY)["Item"]["v"]["S"]
    return found


def files_with_secret(directory: Path) -> list[str]:
    return [
        str(each) for each in directory.rglob("*") if each.is_file() and SECRET.encode() in each.read_bytes()
    ]


def test_keys_are_created_listed_and_described(command: Any) -> None:
    arn = command(
        "keys", "create", *FILE, "--alias", "alias/orders", "--description", "Orders"
    ).stdout.strip()
    assert re.fullmatch(r"arn:aws:kms:us-east-1:000000000000:key/[0-9a-f-]{36}", arn)
    listed = command("keys", "list", *FILE).stdout.splitlines()
    assert len(listed) == 2
    assert "alias/aws/dynamodb" in listed[0]
    assert listed[1].split() == [arn, "enabled", "alias/orders"]
    described = command("keys", "describe", *FILE, "alias/orders").stdout
    assert f"arn          {arn}" in described
    assert "description  Orders" in described
    assert "has 2 versions" in command("keys", "rotate", *FILE, "alias/orders").stdout
    assert command("keys", "disable", *FILE, arn).stdout == f"{arn}: disabled\n"
    assert command("keys", "enable", *FILE, arn).stdout == f"{arn}: enabled\n"
    assert "is deleted on" in command("keys", "schedule-deletion", *FILE, arn, "--days", "7").stdout
    assert command("keys", "cancel-deletion", *FILE, arn).stdout == f"{arn}: disabled\n"
    command("keys", "alias", *FILE, "alias/other", arn)
    assert "alias/orders, alias/other" in command("keys", "list", *FILE).stdout
    assert command("keys", "delete", *FILE, arn, "--yes").stdout == f"deleted {arn}\n"
    assert arn not in command("keys", "list", *FILE).stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("list",), "cannot be read"),
        (("create", "--alias", "orders"), "An alias is `alias/` and"),
        (("delete", "alias/aws/dynamodb"), "add --yes"),
        (("rotate", "alias/unknown"), "There is no key alias/unknown"),
    ],
)
def test_mistake_gets_a_sentence(command: Any, arguments: tuple[str, ...], text: str) -> None:
    name, *rest = arguments
    if name != "list":
        command("keys", "create", *FILE)
    answer = command("keys", name, *FILE, *rest)
    assert (answer.returncode, text in answer.stderr) == (1, True)
    assert "Traceback" not in answer.stderr


def test_server_follows_its_key_file_and_its_files_have_no_item(
    command: Any, start_server: Any, tmp_path: Path
) -> None:
    arn = command("keys", "create", *FILE).stdout.strip()
    server = start_server("--data-dir", "data", *FILE)
    dynamodb = client(server)
    make_table(dynamodb, arn)
    assert value(dynamodb) == SECRET
    assert files_with_secret(tmp_path) == []
    command("keys", "disable", *FILE, arn)
    with denied(f"{arn} is disabled"):
        while True:  # the server looks at the file in its background work
            value(dynamodb)
    command("keys", "enable", *FILE, arn)
    assert SECRET not in "".join(server.stop()[1:])
    assert files_with_secret(tmp_path) == []
    report = json.loads(command("check", "data", "--json").stdout)
    assert "table table is encrypted and was not checked" in report["notes"][0]
    server = start_server("--data-dir", "data", *FILE)
    assert value(client(server)) == SECRET


def test_server_uses_a_kms(start_server: Any, tmp_path: Path) -> None:
    known = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
    with kms_served() as kms:
        server = start_server("--data-dir", "data", "--kms-endpoint", kms.url, **known)
        dynamodb = client(server)
        make_table(dynamodb, ALIAS)
        with denied("does not exist"):
            dynamodb.create_table(
                TableName="other",
                **schema("p:S"),
                SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/unknown"},
            )
        server.stop()
        server = start_server("--data-dir", "data", "--kms-endpoint", kms.url, **known)
        assert value(client(server)) == SECRET
        server.stop()
        assert "Decrypt" in kms.calls
    assert files_with_secret(tmp_path / "data") == []


def test_settings_that_exclude_each_other_are_refused(command: Any, rejected_serve: Any) -> None:
    answer = rejected_serve(*FILE, "--kms-endpoint", "aws")
    assert (answer.returncode, "give --keys or --kms-endpoint" in answer.stderr) == (2, True)
    answer = command("serve", *FILE)
    assert (answer.returncode, "The key file master.json cannot be read" in answer.stderr) == (2, True)
