"""A boto3 client over the front end: signed requests, checksums and errors.

The client's `before-send` event answers in place of the network, as botocore's own stubs do.
"""

from __future__ import annotations

import io
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError

from faradisc.errors import ConditionalCheckFailedException
from faradisc.protocol.http import HttpRequest


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Any:
        return iter([self.read()])


@pytest.fixture(params=["legacy", "standard"])
def client(request: pytest.FixtureRequest, executor: Any, drive_front: Any) -> Any:
    """Both retry modes verify the checksum, each with its own code."""
    client = boto3.client(
        "dynamodb",
        region_name="ap-south-1",
        endpoint_url="http://localhost:1",
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=Config(retries={"mode": request.param, "total_max_attempts": 1}),
    )

    def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        headers = {
            name.lower().encode(): value if isinstance(value, bytes) else str(value).encode()
            for name, value in request.headers.items()
        }
        body = request.body if isinstance(request.body, bytes) else str(request.body).encode()
        response = drive_front(executor, HttpRequest(request.method, b"/", headers, body))
        sent = {"x-amz-crc32": str(response.crc32), "x-amzn-RequestId": str(response.request_id)}
        return AWSResponse(request.url, response.status, sent, _Raw(response.body))

    client.meta.events.register("before-send.dynamodb", answer)
    return client


def test_answers(client: Any, executor: Any) -> None:
    executor.outcome = {"Item": {"a": {"B": "AAAA"}, "b": {"S": "x" * 10_000}}}
    item = client.get_item(TableName="tbl", Key={"a": {"B": b"\0\0\0"}})["Item"]
    assert item == {"a": {"B": b"\0\0\0"}, "b": {"S": "x" * 10_000}}
    (call,) = executor.calls
    assert call.region == "ap-south-1"
    assert call.request == {"TableName": "tbl", "Key": {"a": {"B": "AAAA"}}}


def test_errors(client: Any, executor: Any) -> None:
    executor.outcome = ConditionalCheckFailedException()
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(TableName="tbl", Item={})
    assert caught.value.response["Error"]["Message"] == "The conditional request failed"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_constraint_errors(client: Any) -> None:
    with pytest.raises(ClientError, match="Failed to satisfy constraint: Member must satisfy enum") as caught:
        client.update_item(TableName="tbl", Key={}, ReturnValues="x")
    assert caught.value.response["Error"]["Code"] == "ValidationException"
