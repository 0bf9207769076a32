"""`faradisc iam`: the operations of IAM on a credentials file, and a server that takes the changes over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from fixtures.identity_world import allow, document, trust

FILE = ("--credentials-file", "keys.json")


@pytest.fixture
def iam(command: Any) -> Any:
    """Runs `faradisc iam`; returns what it prints, or its sentence of a failure."""
    command("credentials", "add", *FILE)

    def run(*arguments: str) -> Any:
        done = command("iam", arguments[0], *FILE, *arguments[1:])
        if done.returncode:
            assert done.stderr.count("\n") == 1 or "Usage:" in done.stderr
            return done.stderr
        return json.loads(done.stdout) if done.stdout else None

    return run


def test_users_policies_and_keys(iam: Any, tmp_path: Path) -> None:
    (tmp_path / "read.json").write_text(document(allow("dynamodb:GetItem")))
    made = iam(
        "create-user", "--user-name", "alice", "--tags", "Key=team,Value=blue", "--tags", "Key=x,Value="
    )
    assert made["User"]["Arn"] == "arn:aws:iam::000000000000:user/alice"
    assert made["User"]["Tags"] == [{"Key": "team", "Value": "blue"}, {"Key": "x", "Value": ""}]
    assert made["User"]["CreateDate"].endswith("+00:00")
    put = ("put-user-policy", "--user-name", "alice", "--policy-name", "read", "--policy-document")
    assert iam(*put, "file://read.json") is None
    got = iam("get-user-policy", "--user-name", "alice", "--policy-name", "read")
    assert got["PolicyDocument"] == json.loads(document(allow("dynamodb:GetItem")))
    key = iam("create-access-key", "--user-name", "alice")["AccessKey"]
    listed = iam("list-access-keys", "--user-name", "alice")["AccessKeyMetadata"]
    assert [each["AccessKeyId"] for each in listed] == [key["AccessKeyId"]]
    assert "SecretAccessKey" not in listed[0]
    simulated = iam(
        "simulate-principal-policy",
        *("--policy-source-arn", made["User"]["Arn"], "--action-names", "dynamodb:GetItem"),
        *("--action-names", "dynamodb:PutItem"),
    )
    decisions = [each["EvalDecision"] for each in simulated["EvaluationResults"]]
    assert decisions == ["allowed", "implicitDeny"]


def test_mistakes_are_one_sentence(iam: Any, command: Any) -> None:
    missing = "faradisc: NoSuchEntity: The user with name bob cannot be found.\n"
    assert iam("get-user", "--user-name", "bob") == missing
    put = ("put-user-policy", "--user-name", "bob", "--policy-name", "read", "--policy-document")
    assert "none cannot be read" in iam(*put, "file://none")
    assert iam(*put, "{}") == missing
    assert iam("create-user", "--user-name", "a b").startswith("faradisc: Validation")
    assert "Missing option '--user-name'" in iam("create-user")
    assert "No such command 'create-login-profile'" in iam("create-login-profile")
    absent = command("iam", "list-users", "--credentials-file", "absent.json")
    assert absent.stderr.startswith("faradisc: The credentials file absent.json cannot be read")


def test_every_operation_has_help(command: Any) -> None:
    listed = command("iam", "--help").stdout
    assert "  create-user " in listed and "list-entities-for-policy" not in listed
    assert "--user-name TEXT" in command("iam", "create-user", "--help").stdout
    assert "--policy-arn TEXT" in command("iam", "list-entities-for-policy", "--help").stdout


def test_running_server_takes_changes_over(iam: Any, start_server: Any) -> None:
    server = start_server("--memory", "--auth", "strict", *FILE)
    iam("create-user", "--user-name", "alice")
    iam("create-role", "--role-name", "reader", "--assume-role-policy-document", trust("000000000000"))
    key = iam("create-access-key", "--user-name", "alice")["AccessKey"]

    def client(service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=f"http://127.0.0.1:{server.port}",
            region_name="us-east-1",
            aws_access_key_id=key["AccessKeyId"],
            aws_secret_access_key=key["SecretAccessKey"],
            config=Config(retries={"total_max_attempts": 10}),
        )

    def answer() -> str:
        try:
            client("dynamodb").list_tables()
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "allowed"

    def until(wanted: str) -> None:
        while answer() != wanted:
            pass

    until("AccessDeniedException")
    assert client("sts").get_caller_identity()["Arn"].endswith(":user/alice")
    policy = "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess"
    iam("attach-user-policy", "--user-name", "alice", "--policy-arn", policy)
    until("allowed")
