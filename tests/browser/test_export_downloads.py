"""The files of an export, downloaded from the S3 endpoint that the server and the console have."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from browser.conftest import expect
from faradisc.tools.console.endpoint import S3_URL
from fixtures.s3 import FakeS3

pytestmark = pytest.mark.slow
KEY = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}


@pytest.fixture
def exported(s3_endpoint: tuple[type[FakeS3], str], tmp_path: Path) -> Iterator[str]:
    """The console of a server with an export of 40 items."""
    _, url = s3_endpoint
    command = [sys.executable, "-m", "faradisc", "serve", "--memory", "--port", "0", "--s3-endpoint", url]
    variables = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", S3_URL: url}
    with subprocess.Popen(
        [*command, "--console", "--console-port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **variables},
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if line.startswith("Console of "))
            endpoint, console = re.findall(r"Console of (\S+) on (\S+)", line)[0]
            client = boto3.client("dynamodb", endpoint_url=endpoint, **KEY)  # type: ignore[call-overload]
            made = client.create_table(
                TableName="music",
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )["TableDescription"]
            client.get_waiter("table_exists").wait(TableName="music", WaiterConfig={"Delay": 1})
            for at in range(40):
                client.put_item(TableName="music", Item={"pk": {"S": f"song{at}"}})
            recovery = {"PointInTimeRecoveryEnabled": True}
            client.update_continuous_backups(TableName="music", PointInTimeRecoverySpecification=recovery)
            client.export_table_to_point_in_time(TableArn=made["TableArn"], S3Bucket="bucket")
            yield console
        finally:
            process.terminate()


def test_an_export_is_downloaded(page: Any, exported: str) -> None:
    page.goto(f"{exported}/operations")
    expect(page.get_by_text("export completed, 40 items")).to_be_visible()
    page.get_by_role("button", name="Files").click()
    files = page.get_by_role("dialog").get_by_role("link", name=".json.gz")
    expect(files.first).to_be_visible()
    with page.expect_download() as one:
        files.first.click()
    assert one.value.suggested_filename == files.first.inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all as one").click()
    assert re.fullmatch(r"music-\d+-\w+\.json\.gz", download.value.suggested_filename)
    lines = gzip.decompress(download.value.path().read_bytes()).splitlines()
    assert {json.loads(line)["Item"]["pk"]["S"] for line in lines} == {f"song{at}" for at in range(40)}
    answer = page.request.get(
        f"{exported}/exports/download?arn=arn:aws:dynamodb:us-east-1:0:table/x/export/1"
    )
    assert answer.status == 502
