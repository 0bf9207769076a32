"""`faradisc serve`: start, shutdown and errors."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from faradisc.storage.format import FORMAT_FILE
from fixtures.clients import client_at
from fixtures.schemas import schema


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_prints_a_banner_and_exits_0(start_server: Any, tmp_path: Path, number: int) -> None:
    server = start_server()
    port = server.port
    assert get(port, "/") == (200, b"healthy: dynamodb.us-east-1.amazonaws.com ")
    assert get(port, "/health/live") == (200, b'{"status":"live"}\n')
    assert get(port, "/health/ready") == (200, b'{"status":"ready"}\n')
    idle = socket.create_connection(("127.0.0.1", port))
    code, output, errors = server.stop(number)
    idle.close()
    assert (code, errors) == (0, "")
    assert f"http://127.0.0.1:{port}\n" in output
    assert str(tmp_path / "faradisc-data") in output
    assert f"aws dynamodb list-tables --region us-east-1 --endpoint-url http://127.0.0.1:{port}\n" in output
    assert not server.port_file.exists()


def test_acknowledged_writes_survive_a_restart_and_a_kill(start_server: Any) -> None:
    server = start_server("--transition-ms", "0")
    dynamodb = client_at(server.port)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    dynamodb.put_item(TableName="things", Item={"pk": {"S": "first"}})
    assert server.stop()[0] == 0
    server = start_server()
    client_at(server.port).put_item(TableName="things", Item={"pk": {"S": "second"}})
    server.stop(signal.SIGKILL)
    found = client_at(start_server().port).scan(TableName="things")["Items"]
    assert sorted(item["pk"]["S"] for item in found) == ["first", "second"]


def test_memory_mode_writes_no_files(start_server: Any, tmp_path: Path) -> None:
    server = start_server("--memory", "--region", "eu-west-1", "--account", "123456789012")
    dynamodb = client_at(server.port)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    assert dynamodb.list_tables()["TableNames"] == ["things"]
    assert get(server.port, "/")[1].startswith(b"healthy: dynamodb.eu-west-1.")
    assert server.stop()[0] == 0
    assert not (tmp_path / "faradisc-data").exists()


def test_settings_from_the_environment(start_server: Any, tmp_path: Path) -> None:
    server = start_server("--region", "eu-west-2", FARADISC_REGION="eu-west-1", FARADISC_DATA_DIR="elsewhere")
    assert get(server.port, "/")[1].startswith(b"healthy: dynamodb.eu-west-2.")
    assert (tmp_path / "elsewhere").is_dir()
    assert server.stop()[0] == 0


def test_data_directory_on_the_command_line_overrides_memory_in_the_environment(
    start_server: Any, tmp_path: Path
) -> None:
    start_server("--data-dir", "here", FARADISC_MEMORY="1")
    assert (tmp_path / "here").is_dir()


def test_trust_network_allows_all_addresses(start_server: Any) -> None:
    server = start_server("--host", "0.0.0.0", "--trust-network", "--memory")
    assert get(server.port, "/health/ready")[0] == 200
    assert f"http://127.0.0.1:{server.port}\n" in server.stop()[1]


# --- Mistakes ------------------------------------------------------------------------------------


def assert_one_sentence(result: Any, code: int, text: str) -> None:
    assert result.returncode == code
    assert result.stdout == ""
    assert result.stderr.startswith("faradisc: ")
    assert result.stderr.count("\n") == 1
    assert re.search(text, result.stderr)


def test_port_in_use(command: Any, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = command("serve", "--port", str(port))
    assert_one_sentence(result, 1, f"Port {port} on 127.0.0.1 is in use .* choose another port with --port")
    assert list(tmp_path.iterdir()) == []


def test_second_server_on_the_same_directory(start_server: Any, command: Any, tmp_path: Path) -> None:
    server = start_server()
    result = command("serve", "--port", "0", "--port-file", str(server.port_file))
    where = re.escape(str(tmp_path / "faradisc-data"))
    assert_one_sentence(result, 1, f"{where} is in use by process {server.process.pid}; only one process")
    assert get(server.port, "/health/ready")[0] == 200  # its port file is left alone


def test_data_directory_that_is_a_file(command: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    # A handle left open is a warning; as an error it would make uvloop wait for ever at its end.
    ended = command("serve", "--port", "0", "--data-dir", "file", PYTHONWARNINGS="error")
    assert_one_sentence(ended, 1, "a file is in the way")


def test_data_directory_of_a_later_release(command: Any, tmp_path: Path) -> None:
    (tmp_path / "faradisc-data").mkdir()
    (tmp_path / "faradisc-data" / FORMAT_FILE).write_text("faradisc storage format 999\n")
    assert_one_sentence(command("serve", "--port", "0"), 1, "storage format 999; this release knows")


def test_port_file_that_cannot_be_written(command: Any) -> None:
    result = command("serve", "--memory", "--port", "0", "--port-file", "missing/port")
    assert_one_sentence(result, 1, "port file missing/port cannot be written")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_all_addresses_need_trust_network(rejected_serve: Any, host: str) -> None:
    assert_one_sentence(rejected_serve("--host", host), 2, "Refusing to listen .* add --trust-network")


def test_invalid_settings(rejected_serve: Any) -> None:
    assert_one_sentence(rejected_serve("--account", "1"), 2, "not a number of 12 digits")
    assert_one_sentence(rejected_serve("--memory", "--data-dir", "x"), 2, "Choose either")
    result = rejected_serve(FARADISC_PORT="many")
    assert result.returncode == 2
    assert "'many' is not a valid integer" in result.stderr


def test_a_mistake_in_the_file_of_faults_is_told_at_the_start(command: Any, tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    file.write_text('{"faults": [\n  {"fault": "Fire", "share": 1}\n]}')
    result = command("serve", "--memory", "--port", "0", "--emulate", f"faults={file}")
    assert result.returncode > 0 and "Traceback" not in result.stderr
    assert "faults.json: line 2: fault is one of InternalServerError, Throttle" in result.stderr


def test_an_answer_is_lost_after_the_write_was_made(start_server: Any, tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    rule = {"fault": "ConnectionClosed", "share": 1, "operations": ["PutItem"]}
    file.write_text(json.dumps({"faults": [rule]}))
    dynamodb = client_at(start_server("--memory", "--emulate", f"faults={file}").port)
    dynamodb.create_table(TableName="things", **schema("p:S"))
    with pytest.raises(ConnectionClosedError):
        dynamodb.put_item(TableName="things", Item={"p": {"S": "a"}})
    assert dynamodb.scan(TableName="things")["Count"] == 1


def test_help_lists_settings_and_environment_variables(rejected_serve: Any) -> None:
    text = rejected_serve("--help").stdout
    for name in ("--port", "--data-dir", "FARADISC_PORT", "--help-all"):
        assert name in text
    assert "--trust-network" not in text
    whole = rejected_serve("--help-all").stdout
    for name in ("--trust-network", "FARADISC_TRUST_NETWORK", "Security:", "conflict-rate=0.0"):
        assert name in whole


def test_ready_page_is_json(start_server: Any) -> None:
    assert json.loads(get(start_server("--memory").port, "/health/ready")[1]) == {"status": "ready"}


def test_data_is_readable_by_its_owner_only(start_server: Any, tmp_path: Path) -> None:
    data = tmp_path / "private"
    server = start_server("--data-dir", str(data))
    client_at(server.port).create_table(TableName="things", **schema("pk:S"))
    modes = {path: path.stat().st_mode & 0o777 for path in (data, *data.rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    server.stop()


def test_directory_of_an_earlier_release_is_closed_to_other_users(start_server: Any, tmp_path: Path) -> None:
    data = tmp_path / "earlier"
    start_server("--data-dir", str(data)).stop()
    (data / "rocks").chmod(0o755)
    server = start_server("--data-dir", str(data))
    assert (data / "rocks").stat().st_mode & 0o777 == 0o700
    server.stop()


def test_pages_of_other_sites_are_rejected(start_server: Any) -> None:
    port = start_server("--memory").port
    foreign = {"Origin": "https://evil.example"}
    for method, headers in (("OPTIONS", foreign), ("POST", foreign), ("POST", {"Host": "evil.example"})):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request(method, "/", b"{}", {"X-Amz-Target": "DynamoDB_20120810.ListTables", **headers})
        answer = connection.getresponse()
        assert answer.status == 403
        assert answer.getheader("Access-Control-Allow-Origin") is None
        assert b"ListTables" not in answer.read()
        connection.close()


def test_audit_log_is_whole_and_private_when_the_server_ends(start_server: Any, tmp_path: Path) -> None:
    server = start_server("--memory", "--audit-log", "audit.log", "--rate-limit", "0.001")
    client = client_at(server.port)
    client.list_tables()
    with pytest.raises(client.exceptions.ClientError, match="Rate exceeded"):
        client.list_tables()
    code, _, errors = server.stop()
    assert (code, errors) == (0, "")
    path = tmp_path / "audit.log"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert events[0]["eventName"] == "ListTables"
    assert "errorCode" not in events[0]
    assert {event["errorCode"] for event in events[1:]} == {"ThrottlingException"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_settings_of_the_audit_log_and_rates_are_checked(rejected_serve: Any) -> None:
    result = rejected_serve("--memory", "--audit-log", "missing/audit.log")
    assert_one_sentence(result, 2, "The audit log cannot be written")
    assert_one_sentence(rejected_serve("--rate-limit", "-1"), 2, "Rate limits are numbers")
