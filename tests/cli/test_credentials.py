"""`faradisc credentials`, and a server that verifies signatures with its keys."""

from __future__ import annotations

import http.client
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

FILE = ("--credentials-file", "keys.json")


def keys_in(output: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in output.splitlines())


def client(port: int, key: dict[str, str], region: str = "us-east-1") -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name=region,
        aws_access_key_id=key["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=key["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=key.get("AWS_SESSION_TOKEN"),
        config=Config(retries={"total_max_attempts": 1}),
    )


def error_code(dynamodb: Any) -> str:
    with pytest.raises(ClientError) as caught:
        dynamodb.list_tables()
    return str(caught.value.response["Error"]["Code"])


def test_key_is_added_listed_used_and_revoked(command: Any, start_server: Any) -> None:
    lasting = keys_in(command("credentials", "add", *FILE).stdout)
    ending = keys_in(command("credentials", "add", *FILE, "--temporary", "600").stdout)
    listed = command("credentials", "list", *FILE).stdout
    assert re.fullmatch(
        rf"{lasting['AWS_ACCESS_KEY_ID']}  created .* UTC\n"
        rf"{ending['AWS_ACCESS_KEY_ID']}  created .* UTC  until .* UTC\n",
        listed,
    )
    server = start_server("--memory", "--auth", "strict", *FILE)
    for key in (lasting, ending):
        assert client(server.port, key).list_tables()["TableNames"] == []
    wrong = {**lasting, "AWS_SECRET_ACCESS_KEY": "another"}
    assert error_code(client(server.port, wrong)) == "InvalidSignatureException"
    assert error_code(client(server.port, lasting, "eu-west-1")) == "InvalidSignatureException"
    assert (
        error_code(client(server.port, {**lasting, "AWS_SESSION_TOKEN": "x"}))
        == "UnrecognizedClientException"
    )
    assert (
        error_code(client(server.port, {**lasting, "AWS_ACCESS_KEY_ID": "x"}))
        == "UnrecognizedClientException"
    )
    revoked = command("credentials", "revoke", *FILE, lasting["AWS_ACCESS_KEY_ID"])
    assert revoked.stdout == f"revoked {lasting['AWS_ACCESS_KEY_ID']}\n"
    assert command("credentials", "list", *FILE).stdout.count("\n") == 1


def unsigned(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


PAGES = ("/_faradisc/", "/_faradisc/tables", "/_faradisc/events", "/metrics")


def test_administration_accepts_the_same_signatures(command: Any, start_server: Any) -> None:
    key = keys_in(command("credentials", "add", *FILE).stdout)
    port = start_server("--memory", "--auth", "strict", *FILE).port
    assert [unsigned(port, path) for path in PAGES] == [403] * len(PAGES)
    assert unsigned(port, "/health/ready") == 200
    checked = ("check", "--url", f"http://127.0.0.1:{port}")
    assert command(*checked, **key).returncode == 0
    rejected = command(*checked, **{**key, "AWS_SECRET_ACCESS_KEY": "another"})
    assert rejected.returncode == 2
    assert "answered 403 to POST /_faradisc/check" in rejected.stderr


def test_administration_without_signatures_is_an_option_for_loopback(
    command: Any, rejected_serve: Any, start_server: Any
) -> None:
    command("credentials", "add", *FILE)
    strict = ("--memory", "--auth", "strict", *FILE, "--admin", "unsigned")
    port = start_server(*strict).port
    assert [unsigned(port, path) for path in PAGES] == [200] * len(PAGES)
    elsewhere = rejected_serve(*strict, "--host", "0.0.0.0", "--trust-network")
    assert elsewhere.returncode == 2
    assert "Unsigned administration is for this machine only" in elsewhere.stderr


def test_secret_from_standard_input(tmp_path: Path, command: Any) -> None:
    added = command("credentials", "add", *FILE, "--access-key-id", "mine", "--secret-stdin")
    assert (added.returncode, added.stderr) == (1, "faradisc: A secret has at least 8 characters.\n")
    assert not (tmp_path / "keys.json").exists()


def test_errors_are_one_sentence(command: Any, rejected_serve: Any) -> None:
    assert command("credentials", "add", *FILE).returncode == 0
    for arguments, sentence in (
        (("credentials", "add", *FILE, "--access-key-id", "a b"), "An access key id is 3 to 128"),
        (("credentials", "revoke", *FILE, "missing"), "There is no access key missing in keys.json."),
        (("credentials", "list", "--credentials-file", "none"), "The credentials file none cannot be read"),
        (("serve", "--memory", "--auth", "strict"), "--auth strict and --credentials-file need each other"),
        (("serve", "--memory", *FILE), "--auth strict and --credentials-file need each other"),
        (("serve", "--memory", "--auth", "loose"), "Authentication is lenient or strict, not 'loose'."),
    ):
        failed = rejected_serve(*arguments[1:]) if arguments[0] == "serve" else command(*arguments)
        assert failed.returncode in (1, 2)
        assert failed.stderr.startswith(f"faradisc: {sentence}"), failed.stderr
        assert failed.stderr.count("\n") == 1


def test_server_with_strict_signatures_may_listen_on_all_addresses(
    command: Any, rejected_serve: Any, start_server: Any
) -> None:
    key = keys_in(command("credentials", "add", *FILE).stdout)
    rejected = rejected_serve("--memory", "--host", "0.0.0.0")
    assert "verify them with --auth strict, or add --trust-network" in rejected.stderr
    server = start_server("--memory", "--host", "0.0.0.0", "--auth", "strict", *FILE, "--trust-network")
    assert client(server.port, key).list_tables()["TableNames"] == []
