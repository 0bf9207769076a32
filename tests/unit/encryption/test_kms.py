"""Tables under the key of a KMS, over its JSON protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess
from fixtures.kms import ALIAS, ARN, Kms, denied, kms_served
from fixtures.schemas import item, schema

SPECIFICATION = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": ALIAS}
KEY = {"p": {"S": "a"}}


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kms]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with kms_served() as served:
        yield served


@pytest.fixture
def process(kms: Kms, bugs_surface: None) -> Iterator[InProcess]:
    made = InProcess(clock=ManualClock(), kms_endpoint_url=kms.url)
    made.client().create_table(TableName="table", **schema("p:S"), SSESpecification=SPECIFICATION)
    made.client().put_item(TableName="table", Item=item(p="a", v="secret"))
    yield made
    made.close()


def advance(process: InProcess, seconds: float) -> None:
    assert isinstance(process.clock, ManualClock)
    process.clock.advance(seconds)


def status(dynamodb: Any) -> str:
    shown: str = dynamodb.describe_table(TableName="table")["Table"]["TableStatus"]
    return shown


def test_data_key_is_generated_in_the_context_of_the_table(process: InProcess, kms: Kms) -> None:
    assert kms.calls == ["DescribeKey", "GenerateDataKey"]
    assert kms.contexts == [{"aws:dynamodb:tableName": "table", "aws:dynamodb:subscriberId": "000000000000"}]
    described = process.client().describe_table(TableName="table")["Table"]["SSEDescription"]
    assert described == {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": ARN}


def test_data_key_is_unwrapped_again_within_five_minutes(process: InProcess, kms: Kms) -> None:
    dynamodb = process.client()
    kms.calls.clear()
    for _ in range(10):
        advance(process, 60)
        assert dynamodb.get_item(TableName="table", Key=KEY)["Item"]["v"] == {"S": "secret"}
    assert kms.calls == ["Decrypt"] * 2


def test_disabled_key_makes_the_table_inaccessible_within_five_minutes(process: InProcess, kms: Kms) -> None:
    dynamodb = process.client()
    kms.state = "Disabled"
    assert dynamodb.get_item(TableName="table", Key=KEY)["Item"]["v"] == {"S": "secret"}
    advance(process, 300)
    with denied(f"DisabledException: {ARN} is disabled"):
        dynamodb.get_item(TableName="table", Key=KEY)
    assert status(dynamodb) == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    kms.state = "Enabled"
    advance(process, 30)
    assert dynamodb.get_item(TableName="table", Key=KEY)["Item"]["v"] == {"S": "secret"}
    assert status(dynamodb) == "ACTIVE"


def test_table_works_for_five_minutes_without_an_answer_of_the_kms(process: InProcess, kms: Kms) -> None:
    dynamodb = process.client()
    kms.down = True
    advance(process, 250)
    assert dynamodb.get_item(TableName="table", Key=KEY)["Item"]["v"] == {"S": "secret"}
    advance(process, 50)
    with denied("the key service does not answer"):
        dynamodb.get_item(TableName="table", Key=KEY)
    kms.down = False
    advance(process, 30)
    assert dynamodb.get_item(TableName="table", Key=KEY)["Item"]["v"] == {"S": "secret"}


def test_unknown_disabled_and_silent_keys_are_refused(process: InProcess, kms: Kms) -> None:
    dynamodb = process.client()

    def create(**specification: Any) -> None:
        dynamodb.create_table(
            TableName="other", **schema("p:S"), SSESpecification={**SPECIFICATION, **specification}
        )

    with denied("refers to a customer master key that does not exist"):
        create(KMSMasterKeyId="alias/unknown")
    kms.state = "PendingDeletion"
    with denied(f"KMSInvalidStateException: {ARN} is pending deletion"):
        create()
    kms.down = True
    with denied("does not answer"):
        create()
    assert dynamodb.list_tables()["TableNames"] == ["table"]
