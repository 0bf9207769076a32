"""The console beside a server with --auth strict and TLS: it shows what a key may do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from browser.conftest import expect

pytestmark = pytest.mark.slow

POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": ["dynamodb:DescribeTable", "dynamodb:Query"],
            "Resource": "arn:aws:dynamodb:*:*:table/games",
        },
        {"Effect": "Allow", "Action": "iam:SimulatePrincipalPolicy", "Resource": "*"},
    ],
}


SEEING = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": [
                "dynamodb:List*",
                "dynamodb:Describe*",
                "cloudwatch:GetMetric*",
                "iam:SimulatePrincipalPolicy",
            ],
            "Resource": "*",
        }
    ],
}
"""What somebody needs who may look at everything but items and records."""


@dataclass
class Guarded:
    console: str
    viewer: tuple[str, str, str]
    account: tuple[str, str, str]
    user: tuple[str, str, str]
    session: tuple[str, str, str]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with one table; keys of the account, of a user who may query it, of that user's session, and
    of one who may only look."""
    folder = tmp_path_factory.mktemp("guarded")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "faradisc", *arguments]
        environment = {**os.environ, "FARADISC_CREDENTIALS_FILE": "keys.json"}
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout

    run("tls", "self-signed", "tls")
    file = ("--credentials-file", "keys.json")
    key, secret = re.findall(r"=(\S+)", run("credentials", "add", *file))

    def user_of(name: str, policy: dict[str, Any]) -> tuple[str, str, str]:
        (folder / f"{name}.json").write_text(json.dumps(policy))
        run("iam", "create-user", "--user-name", name)
        document = ("--policy-name", "read", "--policy-document", f"file://{name}.json")
        run("iam", "put-user-policy", "--user-name", name, *document)
        made = json.loads(run("iam", "create-access-key", "--user-name", name))["AccessKey"]
        return made["AccessKeyId"], made["SecretAccessKey"], ""

    user, viewer = user_of("alice", POLICY), user_of("victor", SEEING)
    command = [
        sys.executable,
        "-m",
        "faradisc",
        "serve",
        "--memory",
        "--port",
        "0",
        "--auth",
        "strict",
        *file,
        "--regions",
        "us-east-1,eu-west-1",
    ]
    command += ["--tls-cert", "tls/cert.pem", "--tls-key", "tls/key.pem", "--console", "--console-port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if line.startswith("Console of "))
            endpoint, console = re.findall(r"Console of (\S+) on (\S+)", line)[0]
            dynamodb = client("dynamodb", endpoint, folder, key, secret)
            dynamodb.create_table(
                TableName="games",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
                StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
            )
            dynamodb.get_waiter("table_exists").wait(TableName="games", WaiterConfig={"Delay": 1})
            dynamodb.put_item(TableName="games", Item={"id": {"S": "chess"}})
            got = client("sts", endpoint, folder, *user[:2]).get_session_token()["Credentials"]
            session = (got["AccessKeyId"], got["SecretAccessKey"], got["SessionToken"])
            yield Guarded(console, viewer, (key, secret, ""), user, session)
        finally:
            process.terminate()


def client(service: str, endpoint: str, folder: Path, key: str, secret: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        verify=str(folder / "tls" / "cert.pem"),
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def enter(page: Any, console: str, key: tuple[str, str, str], region: str = "us-east-1") -> None:
    page.goto(f"{console}/key")
    page.get_by_label("Region").fill(region)
    for label, text in zip(("Access key ID", "Secret access key", "Session token"), key, strict=True):
        page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Start").wait_for()


def test_a_key_is_asked_for(page: Any, guarded: Guarded) -> None:
    page.goto(guarded.console)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Access key ID").wait_for()


def test_a_key_of_the_account_sees_all_through_tls(page: Any, guarded: Guarded) -> None:
    enter(page, guarded.console, guarded.account)
    page.goto(f"{guarded.console}/tables")
    page.get_by_role("gridcell", name="games").wait_for()
    page.goto(f"{guarded.console}/tables/games/throughput")
    page.get_by_text("Heat of the partitions").wait_for()


@pytest.mark.parametrize("who", ["user", "session"])
def test_a_key_with_few_rights_is_shown_what_it_may_see(page: Any, guarded: Guarded, who: str) -> None:
    enter(page, guarded.console, getattr(guarded, who))
    page.get_by_text("not authorized to perform: dynamodb:ListTables").wait_for()
    page.get_by_label("Name of a table that this key may use").fill("games")
    page.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="games / Overview").wait_for()
    page.goto(f"{guarded.console}/tables/games/items?partition=chess")
    page.get_by_text("1 item, 1 examined").wait_for()
    page.locator(".caller", has_text="user/alice").wait_for()
    # A session of GetSessionToken may not ask IAM: its buttons stay on until something was denied.
    expect(page.get_by_role("button", name="New item")).to_be_enabled(enabled=who == "session")
    page.goto(f"{guarded.console}/tables/games/throughput")
    page.get_by_text("whose admin API this key may use").wait_for()
    page.goto(f"{guarded.console}/tables/games/backups")
    page.get_by_text("not authorized to perform: dynamodb:DescribeContinuousBackups").wait_for()


def test_buttons_are_off_where_a_policy_denies_their_action(page: Any, guarded: Guarded) -> None:
    def is_off(name: str, *denied: str) -> None:
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", f"This key may not use {' and '.join(denied)} here")

    enter(page, guarded.console, guarded.viewer)
    page.goto(f"{guarded.console}/tables/games/throughput")
    is_off("Limits", "the admin API")
    page.goto(f"{guarded.console}/tables/games/stream")
    is_off("From the oldest record", "GetRecords", "GetShardIterator")
    expect(page.get_by_text("This key may not read the stream.")).to_be_visible()
    page.goto(f"{guarded.console}/servers")
    expect(page.get_by_text("are shown to keys that may use the admin API")).to_be_visible()
    page.goto(f"{guarded.console}/advice")
    page.get_by_text("games has no point-in-time recovery").click()
    is_off("Apply", "UpdateContinuousBackups")
    enter(page, guarded.console, guarded.viewer, region="eu-west-1")
    expect(page.get_by_text("No tables yet")).to_be_visible()
    is_off("Load the sample shop", "CreateTable", "BatchWriteItem")
    is_off("Create table", "CreateTable")
    is_off("Import from a bucket", "ImportTable")
    upload = page.locator(".q-uploader")
    expect(upload).to_have_class(re.compile("disabled"))
    expect(upload).to_have_attribute("title", re.compile("CreateTable"))
