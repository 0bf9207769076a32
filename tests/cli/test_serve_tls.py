"""`faradisc tls self-signed`, and servers over TLS for boto3."""

from __future__ import annotations

import http.client
import signal
import ssl
import time
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import SSLError

from fixtures.certificates import client_files, server_files
from fixtures.schemas import schema

FILE = ("--credentials-file", "keys.json")
TLS = ("--tls-cert", "tls/cert.pem", "--tls-key", "tls/key.pem")


def client(port: int, verify: Path, certificate: tuple[Path, Path] | None = None) -> Any:
    files = None if certificate is None else tuple(map(str, certificate))
    return boto3.client(
        "dynamodb",
        endpoint_url=f"https://localhost:{port}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        verify=str(verify),
        config=Config(retries={"total_max_attempts": 1}, client_cert=files),
    )


@pytest.fixture
def serve_tls(start_server: Any, command: Any, tmp_path: Path) -> Any:
    def start(*options: str) -> Any:
        return start_server(*TLS, "--memory", *options, url="https://localhost")

    return start


def test_self_signed_files_are_private_and_never_replaced(command: Any, tmp_path: Path) -> None:
    made = command("tls", "self-signed", "tls", "--host", "db.example", "--host", "10.1.2.3")
    assert (made.returncode, made.stdout.split()) == (0, ["tls/cert.pem", "tls/key.pem"])
    paths = [tmp_path / "tls" / name for name in ("cert.pem", "key.pem")]
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o600, 0o600]
    ssl.create_default_context().load_cert_chain(*paths)
    again = command("tls", "self-signed", "tls")
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "tls/cert.pem exists" in again.stderr
    (tmp_path / "file").write_text("")
    for arguments, sentence in (
        (("file/sub",), "cannot be written"),
        (("new", "--host", "bücher.example"), "neither an address nor a name in ASCII"),
    ):
        failed = command("tls", "self-signed", *arguments)
        assert failed.returncode in (1, 2)
        assert sentence in failed.stderr


def test_boto3_works_over_tls_and_mistrusts_other_certificates(serve_tls: Any, tmp_path: Path) -> None:
    certificate, _ = server_files(tmp_path / "tls")
    other, _ = server_files(tmp_path / "other")
    server = serve_tls()
    dynamodb = client(server.port, certificate)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    item = {"pk": {"S": "a"}, "text": {"S": "x" * 390_000}}
    for _ in range(3):
        dynamodb.put_item(TableName="things", Item=item)
        assert dynamodb.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"] == item
    with pytest.raises(SSLError):
        client(server.port, other).list_tables()
    code, output, errors = server.stop()
    assert (code, errors) == (0, "")
    assert f"endpoint  https://127.0.0.1:{output.split('https://127.0.0.1:')[1].split()[0]}" in output


def test_mutual_tls_needs_a_certificate_of_the_authority(start_server: Any, tmp_path: Path) -> None:
    certificate, _ = server_files(tmp_path / "tls")
    _, *alice = client_files(tmp_path, "alice")
    _, *mallory = client_files(tmp_path, "mallory")
    server = start_server(*TLS, "--tls-client-ca", "alice-authority.pem", "--memory", wait=False)
    assert client(server.port, certificate, tuple(alice)).list_tables()["TableNames"] == []
    for files in (None, tuple(mallory)):
        with pytest.raises(Exception) as caught:
            client(server.port, certificate, files).list_tables()
        assert "ssl" in repr(caught.value).lower() or "connection" in repr(caught.value).lower()


def test_hangup_signal_reads_the_certificate_again(serve_tls: Any, tmp_path: Path) -> None:
    before = server_files(tmp_path / "tls")[0].read_text()
    server = serve_tls()
    (tmp_path / "before.pem").write_text(before)
    client(server.port, tmp_path / "before.pem").list_tables()
    certificate, _ = server_files(tmp_path / "tls")
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 30
    while ssl.get_server_certificate(("127.0.0.1", server.port)) == before and time.monotonic() < deadline:
        time.sleep(0.05)
    client(server.port, certificate).list_tables()
    (tmp_path / "tls" / "key.pem").write_text("damaged")
    server.process.send_signal(signal.SIGHUP)
    client(server.port, certificate).list_tables()
    code, _, errors = server.stop()
    assert code == 0
    assert "the certificate stays as it was" in errors
    assert "Traceback" not in errors


def test_plain_http_to_a_tls_server_gets_no_answer(serve_tls: Any, tmp_path: Path) -> None:
    server_files(tmp_path / "tls")
    server = serve_tls()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/health/ready")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.getresponse()
    connection.close()
    assert server.stop()[2] == ""


def test_wrong_files_and_settings_are_one_sentence(rejected_serve: Any, tmp_path: Path) -> None:
    server_files(tmp_path / "tls")
    server_files(tmp_path / "other")
    for arguments, sentence in (
        (("--tls-cert", "tls/cert.pem"), "--tls-cert and --tls-key need each other"),
        (("--tls-client-ca", "tls/cert.pem"), "--tls-client-ca needs TLS"),
        (("--tls-cert", "none", "--tls-key", "tls/key.pem"), "The file none cannot be read"),
        (("--tls-cert", "tls/cert.pem", "--tls-key", "other/key.pem"), "the key is not the certificate's"),
    ):
        failed = rejected_serve("--memory", *arguments)
        assert (failed.returncode, failed.stderr.count("\n")) == (2, 1), failed.stderr
        assert sentence in failed.stderr


def test_strict_server_beyond_this_machine_needs_tls_or_trust(
    command: Any, rejected_serve: Any, start_server: Any, tmp_path: Path
) -> None:
    certificate, _ = server_files(tmp_path / "tls")
    key = dict(line.split("=", 1) for line in command("credentials", "add", *FILE).stdout.splitlines())
    strict = ("--memory", "--host", "0.0.0.0", "--auth", "strict", *FILE)
    rejected = rejected_serve(*strict)
    assert rejected.returncode == 2
    assert "give --tls-cert and --tls-key" in rejected.stderr
    server = start_server(*strict, *TLS, url="https://localhost")
    dynamodb = boto3.client(
        "dynamodb",
        endpoint_url=f"https://localhost:{server.port}",
        region_name="us-east-1",
        aws_access_key_id=key["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=key["AWS_SECRET_ACCESS_KEY"],
        verify=str(certificate),
    )
    assert dynamodb.list_tables()["TableNames"] == []
