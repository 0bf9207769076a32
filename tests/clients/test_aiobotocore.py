"""aiobotocore and aioboto3 under `faradisc.local.patch`, each with the botocore that it declares.

The environment of the tests has a newer one, so they have environments of their own. aioboto3 declares
botocore 1.40, the oldest that Faradisc works with.
"""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AIOBOTO3 = ("aioboto3==15.5.0", "aiobotocore==2.25.1", "boto3")
AIOBOTOCORE = ("aiobotocore==3.10.0", "boto3", "moto[s3]==5.2.5")
PROGRAM = """
import asyncio, warnings
warnings.simplefilter("error")
import faradisc.local

TABLE = {
    "TableName": "users",
    "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "name", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}

@faradisc.local.patch()
async def imported_under_the_patch():
    import aioboto3
    async with aioboto3.Session(profile_name="missing").resource("dynamodb") as resource:
        table = await resource.create_table(**TABLE)
        await table.wait_until_exists()
        await asyncio.gather(*(table.put_item(Item={"name": str(number)}) for number in range(30)))
    async with aioboto3.Session().client("dynamodb", region_name="eu-west-1") as client:
        await client.get_waiter("table_exists").wait(TableName="users")
        pages = client.get_paginator("scan").paginate(TableName="users", PaginationConfig={"PageSize": 7})
        assert sum([page["Count"] async for page in pages]) == 30
        assert (await client.generate_presigned_url("list_tables")).startswith("https://dynamodb.eu-west-1")
        try:
            await client.get_item(TableName="missing", Key={"name": {"S": "a"}})
        except client.exceptions.ResourceNotFoundException as error:
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        else:
            raise AssertionError
    for service in ("cloudwatch", "application-autoscaling", "dynamodbstreams"):
        async with aioboto3.Session().client(service) as client:
            if service == "cloudwatch":
                assert (await client.list_metrics())["Metrics"] == []
            elif service == "dynamodbstreams":
                assert (await client.list_streams())["Streams"] == []
            else:
                found = await client.describe_scalable_targets(ServiceNamespace="dynamodb")
                assert found["ScalableTargets"] == []

async def refused(call, sentence):
    try:
        await call()
    except RuntimeError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError

async def made_before_the_patch():
    import aioboto3
    from aiobotocore.endpoint import AioEndpoint
    original = AioEndpoint._send
    key = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    async with aioboto3.Session().client("dynamodb", region_name="eu-west-1", **key) as client:
        with faradisc.local.patch(strict=True):
            await client.create_table(**TABLE)
            assert (await client.list_tables())["TableNames"] == ["users"]
            async with aioboto3.Session().client("s3") as other:
                await refused(other.list_buckets, "was refused")
            async with aioboto3.Session().client("dynamodb") as later:
                assert (await later.list_tables())["TableNames"] == ["users"]
        await refused(later.list_tables, "which has ended")
    assert AioEndpoint._send is original

asyncio.run(imported_under_the_patch())
asyncio.run(made_before_the_patch())
print("done")
"""


BESIDE_MOTO = """
import asyncio, warnings
import aiobotocore.awsrequest, aiobotocore.endpoint
import boto3
from aiobotocore.session import get_session
from moto import mock_aws
import faradisc.local

class MotoResponse(aiobotocore.awsrequest.AioAWSResponse):
    # As programs write it that let moto answer aiobotocore: moto's responses have their content as bytes.
    def __init__(self, response):
        self._moto_response = response
        self.status_code, self.headers = response.status_code, response.headers
        self.raw = response.raw
    async def _content_prop(self):
        return self._moto_response.content
    @property
    def content(self):
        return self._content_prop()

convert = aiobotocore.endpoint.convert_to_response_dict
aiobotocore.endpoint.convert_to_response_dict = lambda response, model: convert(MotoResponse(response), model)

async def both():
    async with get_session().create_client("dynamodb") as client:
        assert (await client.list_tables())["TableNames"] == ["things"]
        try:
            await client.describe_table(TableName="missing")
        except client.exceptions.ResourceNotFoundException:
            pass
        else:
            raise AssertionError
    async with get_session().create_client("s3", region_name="us-east-1") as client:
        await client.create_bucket(Bucket="bucket")
    assert [each["Name"] for each in boto3.client("s3").list_buckets()["Buckets"]] == ["bucket"]

passed = {"core": {"passthrough": {"services": ["dynamodb"]}}}
with mock_aws(config=passed), faradisc.local.patch():
    boto3.client("dynamodb", "us-east-1").create_table(
        TableName="things", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
    )
    asyncio.run(both())
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("installed", "program"), [(AIOBOTO3, PROGRAM), (AIOBOTOCORE, BESIDE_MOTO)], ids=["aioboto3", "moto"]
)
def test_asynchronous_clients_are_redirected(
    installed: tuple[str, ...], program: str, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", f"{ROOT}[local]", *installed], check=True)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [python, "-c", program],
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
