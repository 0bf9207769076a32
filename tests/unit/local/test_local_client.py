"""boto3 clients inside the process: their answers, without any network access."""

from __future__ import annotations

import socket
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import botocore.credentials
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError

import faradisc.local
from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from faradisc.local.transport import attach, request_of, response_of
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.storage.api import InUse

KEY = {"pk": {"S": "a"}}


def create(client: Any, name: str = "things") -> None:
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails on a connection, a search for credentials, or a sleep."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a local client must not do this")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(botocore.credentials.CredentialResolver, "load_credentials", refuse)
    monkeypatch.setattr(time, "sleep", refuse)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def database() -> Iterator[LocalDatabase]:
    with LocalDatabase() as opened:
        yield opened


# --- A client of a database ----------------------------------------------------------------------


def test_put_item_can_be_read(database: LocalDatabase) -> None:
    client = database.client()
    create(client)
    client.put_item(TableName="things", Item={**KEY, "n": {"N": "1.50"}, "b": {"B": b"\x00\xff"}})
    answer = client.get_item(TableName="things", Key=KEY)
    assert answer["Item"] == {**KEY, "n": {"N": "1.5"}, "b": {"B": b"\x00\xff"}}
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert answer["ResponseMetadata"]["RetryAttempts"] == 0
    assert len(answer["ResponseMetadata"]["RequestId"]) == 52


def test_table_is_active_at_once(database: LocalDatabase) -> None:
    client = database.client()
    create(client)
    client.get_waiter("table_exists").wait(TableName="things")
    client.delete_table(TableName="things")
    client.get_waiter("table_not_exists").wait(TableName="things")


def test_states_follow_the_clock_with_transition_ms() -> None:
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=1000) as database:
        client = database.client()
        create(client)
        assert client.describe_table(TableName="things")["Table"]["TableStatus"] == "CREATING"
        clock.advance(1)
        assert client.describe_table(TableName="things")["Table"]["TableStatus"] == "ACTIVE"


def test_resource_is_a_boto3_resource(database: LocalDatabase) -> None:
    create(database.client())
    table = database.resource().Table("things")
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": str(number), "number": number})
    assert sorted(int(item["number"]) for item in table.scan()["Items"]) == list(range(60))


def test_errors_are_the_clients_own_classes(database: LocalDatabase) -> None:
    client = database.client()
    with pytest.raises(client.exceptions.ResourceNotFoundException) as rejection:
        client.get_item(TableName="missing", Key=KEY)
    assert rejection.value.response["Error"]["Message"] == "Requested resource not found"


def test_paginators(database: LocalDatabase) -> None:
    client = database.client()
    for number in range(5):
        create(client, f"table-{number}")
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    assert [len(page["TableNames"]) for page in pages] == [2, 2, 1]


def test_many_threads_share_a_client(database: LocalDatabase) -> None:
    client = database.client()
    create(client)

    def add(_: int) -> None:
        client.update_item(
            TableName="things",
            Key=KEY,
            UpdateExpression="ADD hits :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(200)))
    assert client.get_item(TableName="things", Key=KEY)["Item"]["hits"] == {"N": "200"}


def test_closed_database_raises_runtime_error_without_retries(database: LocalDatabase) -> None:
    client = database.client()
    database.close()
    database.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.list_tables()
    with pytest.raises(RuntimeError, match="closed"):
        database.reset()


# --- Which database ------------------------------------------------------------------------------


def test_databases_are_separate_and_reset_empties_one(database: LocalDatabase) -> None:
    client = database.client()
    with LocalDatabase() as other:
        create(client)
        assert other.client().list_tables()["TableNames"] == []
        other.reset()
    assert client.list_tables()["TableNames"] == ["things"]
    database.reset()
    assert client.list_tables()["TableNames"] == []


def test_reset_clears_metrics() -> None:
    """The next test's tables of the same names have no metrics of this one."""
    clock = ManualClock()
    with LocalDatabase(clock=clock) as database:
        client, metrics = database.client(), database.client("cloudwatch")
        create(client)
        client.put_item(TableName="things", Item=KEY)
        clock.advance(120)
        client.list_tables()
        assert metrics.list_metrics()["Metrics"]
        client.put_item(TableName="things", Item=KEY)
        database.reset()
        assert metrics.list_metrics()["Metrics"] == []
        create(client)
        clock.advance(120)
        client.list_tables()
        counted = metrics.get_metric_statistics(
            Namespace="AWS/DynamoDB",
            MetricName="ConsumedWriteCapacityUnits",
            Dimensions=[{"Name": "TableName", "Value": "things"}],
            StartTime=clock.now_ns() / 1e9 - 600,
            EndTime=clock.now_ns() / 1e9,
            Period=600,
            Statistics=["Sum"],
        )["Datapoints"]
        assert [each["Sum"] for each in counted] == [0] * len(counted) != []


def test_the_process_shares_one_database() -> None:
    try:
        create(faradisc.local.client("dynamodb"))
        table = faradisc.local.resource("dynamodb", region_name="eu-west-1").Table("things")
        assert table.table_status == "ACTIVE"
        faradisc.local.reset()
        assert faradisc.local.client("dynamodb").list_tables()["TableNames"] == []
    finally:
        faradisc.local.database().close()
    faradisc.local.reset()
    assert not faradisc.local.database().closed


def test_a_directory_keeps_its_items_and_has_one_owner(tmp_path: Path) -> None:
    first = faradisc.local.client("dynamodb", path=tmp_path / "data")
    create(first)
    first.put_item(TableName="things", Item=KEY)
    again = faradisc.local.resource("dynamodb", path=str(tmp_path / "." / "data"))
    assert again.Table("things").scan()["Count"] == 1
    with pytest.raises(InUse, match="this process"):
        LocalDatabase(tmp_path / "data")
    faradisc.local.database(tmp_path / "data").close()
    with LocalDatabase(tmp_path / "data") as reopened:
        client = faradisc.local.client("dynamodb", database=reopened)
        assert client.get_item(TableName="things", Key=KEY)["Item"] == KEY


def test_a_directory_is_served_to_many_threads(tmp_path: Path) -> None:
    with LocalDatabase(tmp_path) as database:
        client = database.client()
        create(client)

        def put(number: int) -> None:
            client.put_item(TableName="things", Item={"pk": {"S": str(number)}})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(put, range(40)))
        assert client.scan(TableName="things", Select="COUNT")["Count"] == 40


def test_a_database_and_a_path_exclude_each_other(database: LocalDatabase, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not both"):
        faradisc.local.client("dynamodb", database=database, path=tmp_path)


@pytest.mark.parametrize("service", ["s3", "DynamoDB", ""])
def test_unsupported_services_raise_value_error(database: LocalDatabase, service: str) -> None:
    with pytest.raises(ValueError, match="dynamodb, dynamodbstreams, application-autoscaling, cloudwatch"):
        database.client(service)
    with pytest.raises(ValueError, match="dynamodb here"):
        database.resource("dynamodbstreams")


# --- Region, credentials, environment ------------------------------------------------------------


def arn_of(client: Any) -> str:
    create(client)
    return str(client.describe_table(TableName="things")["Table"]["TableArn"])


@pytest.mark.parametrize(
    ("environment", "of_database", "of_client", "expected"),
    [
        (None, None, None, "us-east-1"),
        ("eu-north-1", None, None, "eu-north-1"),
        ("eu-north-1", "eu-west-2", None, "eu-west-2"),
        ("eu-north-1", "eu-west-2", "ap-south-1", "ap-south-1"),
    ],
)
def test_the_region_of_arns(
    monkeypatch: pytest.MonkeyPatch,
    environment: str | None,
    of_database: str | None,
    of_client: str | None,
    expected: str,
) -> None:
    if environment:
        monkeypatch.setenv("AWS_DEFAULT_REGION", environment)
    with LocalDatabase(region=of_database, account="123456789012") as database:
        client = database.client(region_name=of_client)
        assert client.meta.region_name == expected
        assert arn_of(client) == f"arn:aws:dynamodb:{expected}:123456789012:table/things"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1"),
        ("AWS_ACCOUNT_ID_ENDPOINT_MODE", "required"),
        ("AWS_DEFAULTS_MODE", "auto"),
        ("AWS_ENABLE_ENDPOINT_DISCOVERY", "true"),
        ("AWS_ACCESS_KEY_ID", "without-a-secret"),
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
    ],
)
def test_environment_does_not_redirect_clients(
    monkeypatch: pytest.MonkeyPatch, database: LocalDatabase, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert database.client().list_tables()["TableNames"] == []


def credential_of(client: Any) -> tuple[str, str | None]:
    """Returns the access key and session token of a request."""
    seen: list[HttpRequest] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(200, b"{}", None, None, None)

    attach(client, answer)
    client.list_tables()
    headers = seen[0].headers
    key = headers[b"authorization"].split(b"Credential=")[1].split(b"/")[0].decode()
    token = headers.get(b"x-amz-security-token")
    return key, None if token is None else token.decode()


def test_credentials_come_from_the_call_the_environment_or_placeholders(
    monkeypatch: pytest.MonkeyPatch, database: LocalDatabase
) -> None:
    assert credential_of(database.client()) == ("faradisc", None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert credential_of(database.client()) == ("from-environment", "token")
    given = database.client(aws_access_key_id="given", aws_secret_access_key="secret")
    assert credential_of(given) == ("given", None)


# --- What stays botocore's own -------------------------------------------------------------------


class Script:
    """Answers in turn."""

    def __init__(self, *answers: HttpResponse) -> None:
        self.answers = list(answers)
        self.requests: list[HttpRequest] = []

    def __call__(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return self.answers.pop(0)


JSON = b"application/x-amz-json-1.0"
FINE = HttpResponse(200, b'{"TableNames":["a"]}', JSON, b"R", zlib.crc32(b'{"TableNames":["a"]}'))
BROKEN = HttpResponse(500, b'{"__type":"x#InternalServerError"}', JSON, b"R", None)
GARBLED = HttpResponse(200, FINE.body, JSON, b"R", 1)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
@pytest.mark.usefixtures("patient")
def test_failures_are_retried(database: LocalDatabase, mode: str) -> None:
    client = database.client(config=Config(retries={"mode": mode, "max_attempts": 4}))
    script = Script(BROKEN, BROKEN, FINE)
    attach(client, script)
    answer = client.list_tables()
    assert (answer["TableNames"], answer["ResponseMetadata"]["RetryAttempts"]) == (["a"], 2)
    assert len(script.requests) == 3


@pytest.mark.usefixtures("patient")
def test_a_wrong_checksum_is_noticed_and_retried(database: LocalDatabase) -> None:
    client = database.client(config=Config(retries={"mode": "legacy"}))
    script = Script(GARBLED, FINE)
    attach(client, script)
    assert client.list_tables()["ResponseMetadata"]["RetryAttempts"] == 1


def test_retries_can_be_turned_off(database: LocalDatabase) -> None:
    client = database.client(config=Config(retries={"total_max_attempts": 1}))
    attach(client, Script(BROKEN))
    with pytest.raises(ClientError) as error:
        client.list_tables()
    assert error.value.response["Error"]["Code"] == "InternalServerError"


def test_streams_requests_name_their_service(database: LocalDatabase) -> None:
    client = database.client("dynamodbstreams")
    script = Script(HttpResponse(200, b'{"Streams":[]}', JSON, None, None))
    attach(client, script)
    assert client.list_streams()["Streams"] == []
    assert script.requests[0].headers[b"x-amz-target"] == b"DynamoDBStreams_20120810.ListStreams"
    assert script.requests[0].headers[b"host"] == b"faradisc.invalid"


def test_specific_handler_precedes_and_general_stubber_follows(database: LocalDatabase) -> None:
    """moto handles `before-send` of all services; a test injects an error into one operation."""
    client = database.client()
    stubbed: Callable[..., AWSResponse] = lambda **_: response_of("", FINE)  # noqa: E731
    client.meta.events.register("before-send", stubbed)
    assert client.list_tables()["TableNames"] == []
    client.meta.events.register("before-send.dynamodb.ListTables", stubbed)
    assert client.list_tables()["TableNames"] == ["a"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [(None, b""), (b"x", b"x"), ("é", "é".encode()), (bytearray(b"x"), b"x"), (open, b"from a file")],
)
def test_every_kind_of_body(tmp_path: Path, body: Any, expected: bytes) -> None:
    (tmp_path / "body").write_bytes(b"from a file")
    make: Callable[[Any], AWSPreparedRequest] = lambda given: AWSPreparedRequest(  # noqa: E731
        "POST", "http://host:1/path?a=b", {"X-A": "text", "x-b": b"bytes"}, given, False
    )
    if body is open:
        with (tmp_path / "body").open("rb") as file:
            request = request_of(make(file))
    else:
        request = request_of(make(body))
    headers = {b"host": b"host:1", b"x-a": b"text", b"x-b": b"bytes"}
    assert request == HttpRequest("POST", b"/path?a=b", headers, expected)
