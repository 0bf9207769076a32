"""`faradisc.local.patch`: clients of every kind use the database in the process, and nothing leaves it."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from boto3.dynamodb.conditions import Key
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.credentials import RefreshableCredentials
from botocore.endpoint import Endpoint
from botocore.exceptions import ClientError, NoCredentialsError, ProfileNotFound
from botocore.httpsession import URLLib3Session
from botocore.regions import EndpointRulesetResolver
from botocore.session import Session
from botocore.signers import RequestSigner
from botocore.stub import Stubber

from faradisc import local
from faradisc.local.redirecting import exempt
from faradisc.protocol.http import HttpResponse
from fixtures.schemas import schema

SCHEMA = schema("pk:S")
HOOKED = (
    *((Session, name) for name in ("__init__", "create_client", "get_scoped_config")),
    *((EndpointRulesetResolver, "_resolve_param_as_builtin"), (RequestSigner, "get_auth_instance")),
    (Endpoint, "_send"),
)
ORIGINALS = [vars(owner)[name] for owner, name in HOOKED]


class LeftTheProcessError(Exception):
    """A request, or a question for credentials, has gone to the network."""


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No credentials, no region, no configuration, no network. After the test nothing is patched."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    def send(_: URLLib3Session, request: Any) -> None:
        raise LeftTheProcessError(request.url)

    monkeypatch.setattr(URLLib3Session, "send", send)
    yield
    assert [vars(owner)[name] for owner, name in HOOKED] == ORIGINALS


def create(client: Any, name: str = "things") -> None:
    client.create_table(TableName=name, **SCHEMA)


def made_before(service: str = "dynamodb", region: str = "us-east-1") -> Any:
    """Returns a client without credentials, made while nothing is patched."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")  # else botocore asks for credentials there
        return boto3.Session().client(service, region)


def tables(client: Any) -> list[str]:
    return list(client.list_tables()["TableNames"])


# --- Whose requests are redirected ---------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: boto3.client("dynamodb"),
        lambda: boto3.client("dynamodb", region_name="eu-west-3"),
        lambda: boto3.client("dynamodb", "us-gov-west-1", config=Config(use_fips_endpoint=True)),
        lambda: boto3.client("dynamodb", config=Config(region_name="ap-south-1", defaults_mode="auto")),
        lambda: boto3.client("dynamodb", endpoint_url="http://127.0.0.1:1"),
        lambda: boto3.client("dynamodb", aws_access_key_id="a", aws_secret_access_key="b"),
        lambda: boto3.client("dynamodb", config=Config(account_id_endpoint_mode="required")),
        lambda: boto3.Session(profile_name="missing").client("dynamodb"),
        lambda: boto3.Session(
            region_name="sa-east-1", aws_access_key_id="a", aws_secret_access_key="b"
        ).client("dynamodb"),
        lambda: boto3.resource("dynamodb").meta.client,
        lambda: botocore.session.get_session().create_client("dynamodb", "eu-west-1"),
        lambda: botocore.session.Session(profile="missing").create_client("dynamodb"),
    ],
)
def test_clients_of_every_kind_share_the_database(make: Callable[[], Any]) -> None:
    with local.patch() as database:
        create(make())
        assert tables(make()) == tables(database.client()) == ["things"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_PROFILE", "missing"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_DEFAULTS_MODE", "auto"),
        ("AWS_ACCOUNT_ID_ENDPOINT_MODE", "required"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/"),
        ("AWS_DEFAULT_REGION", "eu-north-1"),
    ],
)
def test_environment_changes_no_more_than_the_region(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with local.patch():
        client = boto3.client("dynamodb")
        assert client.meta.region_name == os.environ.get("AWS_DEFAULT_REGION", "us-east-1")
        assert tables(client) == []


def test_clients_of_the_other_services_are_redirected() -> None:
    with local.patch():
        boto3.client("dynamodb").create_table(
            TableName="things",
            **SCHEMA,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        )
        assert len(boto3.client("dynamodbstreams").list_streams()["Streams"]) == 1
        assert boto3.client("cloudwatch").list_metrics()["Metrics"] == []
        scaling = boto3.client("application-autoscaling")
        assert scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"] == []


def refuse_to_refresh() -> dict[str, str]:
    raise LeftTheProcessError("credentials")


def test_clients_made_before_are_redirected() -> None:
    """Also those whose credentials are missing, or would be asked for from somewhere."""
    refreshed = botocore.session.Session()
    refreshed._credentials = RefreshableCredentials("a", "b", "c", None, refuse_to_refresh, "sso")  # type: ignore[arg-type]
    before = [
        made_before(),
        boto3.resource("dynamodb", "eu-west-1", aws_access_key_id="a", aws_secret_access_key="b").meta.client,
        refreshed.create_client("dynamodb", "us-west-2"),
    ]
    refreshed._credentials.refresh_needed = lambda refresh_in=None: True  # type: ignore[method-assign]
    with pytest.raises(LeftTheProcessError):
        before[2].list_tables()
    with local.patch():
        for number, client in enumerate(before):
            create(client, f"things-{number}")
            assert len(tables(client)) == number + 1
    with pytest.raises(NoCredentialsError):
        tables(before[0])
    with pytest.raises(LeftTheProcessError):
        tables(before[2])


def test_regions_share_tables_unless_they_are_kept_apart() -> None:
    with local.patch():
        create(boto3.client("dynamodb", "eu-west-1"))
        assert tables(boto3.client("dynamodb", "us-west-2")) == ["things"]
    with local.patch(per_region=True, account="123456789012"):
        client = boto3.client("dynamodb", "eu-west-1")
        create(client)
        arn = client.describe_table(TableName="things")["Table"]["TableArn"]
        assert arn == "arn:aws:dynamodb:eu-west-1:123456789012:table/things"
        assert tables(boto3.client("dynamodb", "us-west-2")) == []


def test_other_services_go_where_they_went() -> None:
    with local.patch():
        with pytest.raises(NoCredentialsError):
            made_before("s3").list_buckets()
        with pytest.raises(ProfileNotFound):
            boto3.Session(profile_name="missing").client("s3")
        key = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        with pytest.raises(LeftTheProcessError, match=r"amazonaws\.com"):
            boto3.client("s3", "eu-west-1", **key).list_buckets()


def test_strict_refuses_other_services_but_not_stubbed_ones() -> None:
    before = made_before("s3")
    with local.patch(strict=True):
        assert tables(boto3.client("dynamodb")) == []
        sns = boto3.Session(profile_name="missing").client("sns")
        for call in (before.list_buckets, sns.list_topics):
            with pytest.raises(RuntimeError, match=r"was refused: .* only dynamodb, dynamodbstreams"):
                call()
        with Stubber(sns) as stubber:
            stubber.add_response("list_topics", {"Topics": []})
            assert sns.list_topics()["Topics"] == []


def test_unsigned_requests_are_answered_as_by_a_server() -> None:
    with local.patch(), pytest.raises(ClientError) as error:
        boto3.client("dynamodb", config=Config(signature_version=UNSIGNED)).list_tables()
    assert error.value.response["Error"]["Code"] == "MissingAuthenticationTokenException"


def test_clients_of_an_exempt_server_reach_it() -> None:
    exempt("http://127.0.0.1:9")
    with local.patch():
        client = boto3.client(
            *("dynamodb", "us-east-1"),
            endpoint_url="http://127.0.0.1:9",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        with pytest.raises(LeftTheProcessError, match="127"):
            client.list_tables()


def test_clients_of_other_local_databases_keep_theirs() -> None:
    with local.LocalDatabase() as other, local.patch():
        create(other.client())
        assert tables(boto3.client("dynamodb")) == []
        during = other.client()
    with local.LocalDatabase() as other:
        with local.patch():
            during = other.client()
        assert tables(during) == []


# --- What a client can do ------------------------------------------------------------------------


def test_waiters_and_paginators_never_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError("a client sleeps")

    monkeypatch.setattr(time, "sleep", sleep)
    with local.patch():
        client = boto3.client("dynamodb")
        create(client)
        client.get_waiter("table_exists").wait(TableName="things")
        table = boto3.resource("dynamodb").Table("things")
        with table.batch_writer() as batch:
            for number in range(30):
                batch.put_item(Item={"pk": str(number)})
        pages = client.get_paginator("scan").paginate(TableName="things", PaginationConfig={"PageSize": 7})
        assert sum(page["Count"] for page in pages) == 30
        assert table.query(KeyConditionExpression=Key("pk").eq("3"))["Count"] == 1
        table.delete()
        table.wait_until_not_exists()


def test_urls_are_signed_without_credentials() -> None:
    with local.patch():
        url = boto3.client("dynamodb", "eu-west-1").generate_presigned_url("list_tables")
    assert url.startswith("https://dynamodb.eu-west-1.amazonaws.com/?X-Amz-Algorithm")


def test_stubbers_precede_the_database() -> None:
    with local.patch():
        client = boto3.client("dynamodb")
        with Stubber(client) as stubber:
            stubber.add_response("list_tables", {"TableNames": ["stubbed"]})
            assert tables(client) == ["stubbed"]

        def before_send(request: Any, **_: Any) -> AWSResponse:
            return local.transport.response_of(
                request.url, HttpResponse(200, b'{"TableNames":["a"]}', b"application/json", None, None)
            )

        client.meta.events.register("before-send.dynamodb.ListTables", before_send)
        assert tables(client) == ["a"]


# --- Beginning and end ---------------------------------------------------------------------------


def test_a_client_made_under_the_patch_sends_nothing_after_it() -> None:
    with local.patch():
        client = boto3.client("dynamodb")
        assert tables(client) == []
    with pytest.raises(RuntimeError, match="which has ended"):
        tables(client)
    with local.patch() as database:
        create(database.client())
        assert tables(client) == ["things"]


def test_patches_nest_and_end_in_any_order() -> None:
    client = made_before()
    first, second = local.patch(), local.patch()
    with local.patch():
        create(client, "outer")
        with local.patch() as inner:
            create(client, "inner")
            assert tables(inner.client()) == ["inner"]
            with local.patch(inner):
                assert tables(client) == ["inner"]
            assert not inner.closed
        assert inner.closed
        assert tables(client) == ["outer"]
    first.__enter__()
    create(client, "first")
    second.__enter__()
    create(client, "second")
    first.__exit__(None, None, None)
    assert tables(client) == ["second"]
    second.__exit__(None, None, None)


def test_one_patch_can_be_entered_again() -> None:
    patch = local.patch()
    with patch as outer, patch as inner:
        assert inner is not outer
    with patch as later:
        assert not later.closed
    assert outer.closed and inner.closed


def test_a_given_database_is_used_and_stays_open() -> None:
    with local.LocalDatabase() as database:
        create(database.client())
        with local.patch(database):
            assert tables(boto3.client("dynamodb")) == ["things"]
        assert not database.closed
        with pytest.raises(TypeError, match="the settings of a new one"):
            local.patch(database, per_region=True)


def test_settings_of_another_name_are_rejected() -> None:
    with pytest.raises(TypeError, match="troughput"):
        local.patch(troughput="aws").__enter__()


def test_an_exception_ends_the_patch() -> None:
    with pytest.raises(KeyError), local.patch():
        raise KeyError
    assert Endpoint._send is ORIGINALS[-1]


def test_a_wrapper_of_another_library_is_left_in_place() -> None:
    key = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    try:
        with local.patch():
            patched = Endpoint._send

            def wrapper(self: Endpoint, request: Any) -> Any:
                return patched(self, request)

            Endpoint._send = wrapper  # type: ignore[method-assign]
            assert tables(boto3.client("dynamodb")) == []
        assert Endpoint._send is wrapper
        with pytest.raises(LeftTheProcessError):
            tables(boto3.client("dynamodb", "us-east-1", **key))
    finally:
        Endpoint._send = ORIGINALS[-1]


# --- As a decorator ------------------------------------------------------------------------------


def test_each_call_of_a_decorated_function_has_a_database() -> None:
    @local.patch()
    def use(name: str) -> list[str]:
        client = boto3.client("dynamodb")
        create(client, name)
        return tables(client)

    @local.patch()
    async def use_async(name: str) -> list[str]:
        await asyncio.sleep(0)
        return use(name)

    @local.patch()
    def generate() -> Iterator[Any]:
        client = boto3.client("dynamodb")
        create(client)
        yield client
        assert tables(client) == ["things"]

    @local.patch()
    async def generate_async() -> AsyncIterator[Any]:
        for client in generate():
            yield client

    async def listed() -> list[str]:
        return [name async for client in generate_async() for name in tables(client)]

    assert use("first") == ["first"]
    assert use(name="second") == ["second"]
    assert asyncio.run(use_async("third")) == ["third"]
    assert [tables(client) for client in generate()] == [["things"]]
    assert asyncio.run(listed()) == ["things"]
    assert use.__name__ == "use"
    assert inspect.iscoroutinefunction(use_async)
    with pytest.raises(TypeError, match="decorates functions and classes"):
        local.patch()("text")  # type: ignore[call-overload, type-var]


# --- Threads -------------------------------------------------------------------------------------


def test_threads_use_one_client_and_their_own() -> None:
    shared = made_before()

    def work(number: int) -> None:
        shared.put_item(TableName="things", Item={"pk": {"S": str(number)}})
        own = boto3.Session().client("dynamodb")
        own.put_item(TableName="things", Item={"pk": {"S": f"own {number}"}})

    with local.patch():
        create(shared)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert shared.scan(TableName="things", Select="COUNT")["Count"] == 8


def test_threads_begin_and_end_patches_at_once() -> None:
    client = made_before()

    def work(number: int) -> None:
        for _ in range(8):
            with local.patch() as database:
                create(database.client())

    with local.patch() as outer, ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
        assert tables(client) == tables(outer.client()) == []
