"""The audit log: an event for each request, in CloudTrail's shape, without secrets and items."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.server import audit
from faradisc.server.setting import SettingsError
from fixtures.identity_world import ACCOUNT, IdentityWorld, allow, document, entity_arn, error_of, trust
from fixtures.schemas import schema

TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Games"
KEY = {"id": {"S": "a"}}


class Audited:
    """A world with an audit log; `events` ends the log and returns what it holds."""

    def __init__(self, world: IdentityWorld, path: Path) -> None:
        self.world = world
        self.path = path
        world.client("dynamodb").create_table(TableName="Games", **schema("id:S"))
        world.restart(audit_log=str(path))

    def events(self) -> list[dict[str, Any]]:
        assert self.world.access.audit is not None
        self.world.access.close()
        assert not self.world.access.audit._decided
        self.world.access.audit = None
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def event(self) -> dict[str, Any]:
        """Returns the last one."""
        return self.events()[-1]


@pytest.fixture
def audited(identity_world: IdentityWorld, tmp_path: Path) -> Audited:
    return Audited(identity_world, tmp_path / "audit.log")


def test_event_names_caller_place_resource_and_policy(audited: Audited) -> None:
    world = audited.world
    key = world.user("alice", {**allow("dynamodb:GetItem"), "Sid": "Read"}, Path="/team/")
    world.client("dynamodb", key).get_item(TableName="Games", Key=KEY)
    event = audited.event()
    user = world.access.keyring.identities.users["alice"]  # type: ignore[union-attr]
    assert event.pop("eventTime").endswith("Z")
    assert "Boto" in event.pop("userAgent")
    assert event.pop("requestID") == event.pop("eventID")
    assert event == {
        "eventVersion": "1.11",
        "eventSource": "dynamodb.amazonaws.com",
        "eventName": "GetItem",
        "awsRegion": "us-east-1",
        "sourceIPAddress": "192.0.2.7",
        "userIdentity": {
            "type": "IAMUser",
            "principalId": user.id,
            "arn": entity_arn("user/team/alice"),
            "accountId": ACCOUNT,
            "accessKeyId": key["AccessKeyId"],
            "userName": "alice",
        },
        "eventType": "AwsApiCall",
        "readOnly": True,
        "recipientAccountId": ACCOUNT,
        "resources": [{"ARN": TABLE, "type": "AWS::DynamoDB::Table"}],
        "additionalEventData": {
            "decision": "Allow",
            "explicit": True,
            "policyType": "identity-based policy",
            "policy": "user/team/alice:own",
            "sid": "Read",
        },
    }


def test_denial_names_the_policy_that_denied(audited: Audited) -> None:
    world = audited.world
    deny = {"Effect": "Deny", "Action": "dynamodb:DeleteItem", "Resource": TABLE, "Sid": "Keep"}
    dynamodb = world.client("dynamodb", world.user("alice", allow("dynamodb:*"), deny))
    assert error_of(dynamodb.delete_item, TableName="Games", Key=KEY)[0] == "AccessDeniedException"
    transaction = [
        {"Put": {"TableName": "Games", "Item": KEY}},
        {"Delete": {"TableName": "Games", "Key": {"id": {"S": "b"}}}},
    ]
    assert error_of(dynamodb.transact_write_items, TransactItems=transaction)[0] == "AccessDeniedException"
    for event in audited.events()[-2:]:
        assert event["errorCode"] == "AccessDenied"
        assert event["readOnly"] is False
        assert event["additionalEventData"] == {
            "decision": "Deny",
            "explicit": True,
            "policyType": "identity-based policy",
            "policy": "user/alice:own",
            "sid": "Keep",
        }


def test_session_names_its_role(audited: Audited) -> None:
    world = audited.world
    role = entity_arn("role/reader")
    trusted = trust(entity_arn("root"), actions=["sts:AssumeRole", "sts:SetSourceIdentity"])
    world.iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trusted)
    session = world.client("sts").assume_role(RoleArn=role, RoleSessionName="work", SourceIdentity="alice")
    assert (
        error_of(world.client("dynamodb", session["Credentials"]).list_tables)[0] == "AccessDeniedException"
    )
    assumed, event = audited.events()[-2:]
    assert (assumed["eventSource"], assumed["eventName"]) == ("sts.amazonaws.com", "AssumeRole")
    assert assumed["userIdentity"]["type"] == "Root"
    assert assumed["resources"] == [{"ARN": role, "type": "AWS::IAM::Role"}]
    identity = event["userIdentity"]
    assert (identity["type"], identity["arn"]) == (
        "AssumedRole",
        f"arn:aws:sts::{ACCOUNT}:assumed-role/reader/work",
    )
    context = identity["sessionContext"]
    assert context["sessionIssuer"] == {"type": "Role", "arn": role}
    assert context["sourceIdentity"] == "alice"
    assert event["resources"] == []


def test_requests_of_the_account_name_the_tables_they_use(audited: Audited) -> None:
    dynamodb = audited.world.client("dynamodb")
    dynamodb.batch_get_item(RequestItems={"Games": {"Keys": [KEY]}})
    dynamodb.describe_table(TableName="Games")
    assert error_of(dynamodb.get_item, TableName="Missing", Key=KEY)[0] == "ResourceNotFoundException"
    audited.world.iam.create_user(UserName="bob")
    read, described, missing, created = audited.events()
    assert read["userIdentity"] == {
        "type": "Root",
        "principalId": ACCOUNT,
        "arn": entity_arn("root"),
        "accountId": ACCOUNT,
        "accessKeyId": "ADMIN",
    }
    assert [each["ARN"] for each in read["resources"]] == [TABLE]
    assert [each["ARN"] for each in described["resources"]] == [TABLE]
    assert missing["errorCode"] == "ResourceNotFoundException"
    assert missing["resources"][0]["ARN"] == TABLE.replace("Games", "Missing")
    assert (created["eventSource"], created["eventName"]) == ("iam.amazonaws.com", "CreateUser")


def test_callers_that_are_not_verified_are_unknown(audited: Audited) -> None:
    world = audited.world
    wrong = {"AccessKeyId": "ADMIN", "SecretAccessKey": "another"}
    assert error_of(world.client("dynamodb", wrong).list_tables)[0] == "InvalidSignatureException"
    assert error_of(world.client("iam", wrong).list_users)[0] == "SignatureDoesNotMatch"
    for event, source, name, code in zip(
        audited.events(),
        ("dynamodb", "iam"),
        ("ListTables", "ListUsers"),
        ("InvalidSignatureException", "SignatureDoesNotMatch"),
        strict=True,
    ):
        assert event["userIdentity"] == {"type": "Unknown", "accessKeyId": "ADMIN"}
        assert (event["eventSource"], event["eventName"]) == (f"{source}.amazonaws.com", name)
        assert event["errorCode"] == code


def test_lenient_server_names_no_caller(audited: Audited) -> None:
    audited.world.restart(audit_log=str(audited.path), auth="lenient", credentials_file="")
    audited.world.client("dynamodb").list_tables()
    assert audited.event()["userIdentity"] == {"type": "Unknown", "accessKeyId": "ADMIN"}


def test_log_holds_no_secret_and_no_item(audited: Audited) -> None:
    world = audited.world
    private = "ITEM-7c1d"
    key = world.user("alice", allow("dynamodb:*", "*", {"StringNotEquals": {"aws:Referer": private}}))
    world.iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(entity_arn("root")))
    session = world.client("sts").assume_role(RoleArn=entity_arn("role/reader"), RoleSessionName="work")
    secrets = [
        key["SecretAccessKey"],
        *(session["Credentials"][name] for name in ("SecretAccessKey", "SessionToken")),
    ]
    error_of(world.client("dynamodb", session["Credentials"]).get_item, TableName="Games", Key=KEY)
    dynamodb = world.client("dynamodb", key)
    item = {"id": {"S": private}, "text": {"S": private}}
    dynamodb.put_item(TableName="Games", Item=item)
    dynamodb.get_item(TableName="Games", Key={"id": {"S": private}})
    dynamodb.execute_statement(Statement=f"""SELECT * FROM "Games" WHERE "id" = '{private}'""")
    condition = {"ConditionExpression": "attribute_not_exists(id)", "TableName": "Games"}
    error_of(dynamodb.put_item, **condition, Item=item, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    error_of(dynamodb.put_item, TableName="Games", Item={"id": {"N": private}})
    error_of(dynamodb.update_item, TableName="Games", Key={"id": {"S": private}}, UpdateExpression=private)
    assert len(audited.events()) > 8
    text = audited.path.read_text()
    for secret in (*secrets, private):
        assert secret not in text
    assert audited.path.stat().st_mode & 0o777 == 0o600


def test_full_files_are_renamed(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "FILE_BYTES", 2000)
    monkeypatch.setattr(audit, "BATCH_MAX", 1)
    for _ in range(10):
        audited.world.client("dynamodb").list_tables()
    last = audited.events()
    files = sorted(audited.path.parent.glob("audit.log.*"))
    assert len(files) > 1
    assert all(file.stat().st_size <= 2000 for file in files)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert len(lines) + len(last) == 10
    times = [event["eventTime"] for event in (*lines, *last)]
    assert times == sorted(times)


class FullDisk:
    """Writes half of the first batch, then fails until there is room."""

    def __init__(self, write: Callable[[int, Any], int]) -> None:
        self._write = write
        self.is_full = True
        self.failed = threading.Event()

    def __call__(self, descriptor: int, data: bytes) -> int:
        if not self.is_full:
            return self._write(descriptor, data)
        if not self.failed.is_set() and len(data) > 1:
            self.failed.set()
            return self._write(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_is_logged_and_stops_no_request(
    audited: Audited, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = audited.world.access.audit
    assert log is not None
    disk = FullDisk(os.write)
    monkeypatch.setattr(audit.os, "write", disk)
    dynamodb = audited.world.client("dynamodb")
    dynamodb.list_tables()
    disk.failed.wait(30)
    while not log._unwritten:  # until the failure has been counted
        pass
    dynamodb.describe_limits()
    while log._unwritten < 2:
        pass
    disk.is_full = False
    dynamodb.describe_endpoints()
    events = audited.events()
    assert [event["eventName"] for event in events] == ["DescribeEndpoints"]
    assert "cannot be written, and misses events" in caplog.text
    assert caplog.text.count("No space left on device") == 1
    assert "misses 2 events" in caplog.text


def test_events_that_wait_are_limited(
    audited: Audited, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audit, "WAITING_MAX", 0)
    audited.world.client("dynamodb").list_tables()
    monkeypatch.setattr(audit, "WAITING_MAX", 10)
    audited.world.client("dynamodb").describe_limits()
    assert [event["eventName"] for event in audited.events()] == ["DescribeLimits"]
    assert "misses 1 events" in caplog.text


def test_file_that_cannot_be_opened_is_explained(audited: Audited) -> None:
    with pytest.raises(SettingsError, match="The audit log cannot be written"):
        audited.world.restart(audit_log=str(audited.path.parent))


def test_policy_of_a_group_is_named(audited: Audited) -> None:
    world = audited.world
    world.iam.create_group(GroupName="team")
    world.iam.put_group_policy(
        GroupName="team", PolicyName="read", PolicyDocument=document(allow("dynamodb:GetItem"))
    )
    key = world.user("alice")
    world.iam.add_user_to_group(GroupName="team", UserName="alice")
    world.client("dynamodb", key).get_item(TableName="Games", Key=KEY)
    assert audited.event()["additionalEventData"]["policy"] == "group/team:read"
