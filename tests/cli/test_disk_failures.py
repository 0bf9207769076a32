"""A server with a full, limited, damaged or read-only disk.

What it proves, with real errors of the operating system: acknowledged writes are present when the disk works
again, no answer is wrong, the state is reported, and an impossible start reports its reason."""

from __future__ import annotations

import hashlib
import http.client
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fixtures.clients import client_at
from fixtures.schemas import schema

resource = pytest.importorskip("resource")

CONTENT = "x" * 50_000


def noise(seed: str) -> str:
    """Returns 2,000 incompressible characters, equal for equal seeds."""
    return "".join(hashlib.sha256(f"{seed} {number}".encode()).hexdigest() for number in range(32))[:2000]


def ready(port: int) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/health/ready")
    answer = connection.getresponse()
    page = json.loads(answer.read())
    connection.close()
    return answer.status, page


def write_until_error(dynamodb: Any, most: int = 2000) -> list[str]:
    """Returns the keys that were acknowledged before the first error."""
    acknowledged: list[str] = []
    for number in range(most):
        name = f"item {number}"
        try:
            dynamodb.put_item(TableName="things", Item={"pk": {"S": name}, "c": {"S": CONTENT}})
        except ClientError as error:
            assert error.response["Error"]["Code"] == "InternalServerError"
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 500
            return acknowledged
        acknowledged.append(name)
    raise AssertionError("the disk never failed")


def assert_read_only(port: int, acknowledged: list[str]) -> str:
    """Checks the answers of a server that accepts no writes. Returns the reason that it reports."""
    dynamodb = client_at(port)
    for name in (acknowledged[0], "new"):
        with pytest.raises(ClientError, match="InternalServerError"):
            dynamodb.put_item(TableName="things", Item={"pk": {"S": name}})
    for name in acknowledged[:20]:
        found = dynamodb.get_item(TableName="things", Key={"pk": {"S": name}})["Item"]
        assert found["c"]["S"] == CONTENT
    status, page = ready(port)
    assert (status, page["status"]) == (503, "failed")
    return str(page["reason"])


def assert_whole(server: Any, command: Any, acknowledged: list[str]) -> None:
    """Checks that acknowledged items are present, none is incomplete, and writes are accepted."""
    dynamodb = client_at(server.port)
    found = {
        item["pk"]["S"]: item.get("c", {}).get("S")
        for page in dynamodb.get_paginator("scan").paginate(TableName="things")
        for item in page["Items"]
    }
    assert set(acknowledged) <= set(found)
    assert set(found) - set(acknowledged) <= {f"item {len(acknowledged)}"}, "the write without an answer"
    assert set(found.values()) == {CONTENT}
    dynamodb.put_item(TableName="things", Item={"pk": {"S": "after"}})
    checked = command("check", "--url", f"http://127.0.0.1:{server.port}")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_file_size_limit(start_server: Any, command: Any) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, before[1]))
    try:
        server = start_server("--transition-ms", "0")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    dynamodb = client_at(server.port)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    acknowledged = write_until_error(dynamodb)
    assert len(acknowledged) > 20
    assert "File too large" in assert_read_only(server.port, acknowledged)
    code, _, errors = server.stop(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in errors
    assert_whole(start_server(), command, acknowledged)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB; skips the test where mounting is not allowed."""
    directory = tmp_path / "disk"
    directory.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=6m", "tmpfs", str(directory)):
        pytest.skip("mounting is not allowed here")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def _mount(*arguments: str) -> bool:
    """Returns whether the command failed."""
    try:
        return bool(subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode)
    except FileNotFoundError:
        return True


def test_full_disk_that_has_space_again(start_server: Any, command: Any, small_disk: Path) -> None:
    """The server recovers without a restart."""
    server = start_server("--transition-ms", "0", "--data-dir", str(small_disk / "data"))
    dynamodb = client_at(server.port)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    acknowledged = write_until_error(dynamodb)
    assert "The disk is full" in assert_read_only(server.port, acknowledged)
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    patience = time.monotonic() + 60
    while ready(server.port)[0] != 200:
        assert time.monotonic() < patience
        time.sleep(0.1)
    assert_whole(server, command, acknowledged)
    code, _, errors = server.stop(signal.SIGTERM)
    assert (code, errors.count("the database accepts writes again"), "Traceback" in errors) == (0, 1, False)


def test_full_disk(start_server: Any, command: Any, small_disk: Path) -> None:
    data = str(small_disk / "data")
    server = start_server("--transition-ms", "0", "--data-dir", data)
    dynamodb = client_at(server.port)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    acknowledged = write_until_error(dynamodb)
    assert len(acknowledged) > 20
    reason = assert_read_only(server.port, acknowledged)
    assert "The disk is full" in reason
    assert "No space left on device" in reason
    server.stop(signal.SIGKILL)

    failed = command("serve", "--port", "0", "--data-dir", data)
    if failed.returncode:  # the log may or may not fit into the remaining space
        assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
        assert "No space left" in failed.stderr or "full" in failed.stderr
    assert not _mount("-o", "remount,size=100m", str(small_disk))
    assert_whole(start_server("--data-dir", data), command, acknowledged)


def test_read_only_disk(start_server: Any, command: Any, small_disk: Path) -> None:
    data = str(small_disk / "data")
    server = start_server("--transition-ms", "0", "--data-dir", data)
    client_at(server.port).create_table(TableName="things", **schema("pk:S"))
    assert server.stop()[0] == 0
    assert not _mount("-o", "remount,ro", str(small_disk))
    for directory in (data, str(small_disk / "new")):
        failed = command("serve", "--port", "0", "--data-dir", directory)
        assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
        assert "is on a read-only file system; choose another one" in failed.stderr
    checked = command("check", data)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "table things" in checked.stdout
    assert "the system's catalog" in command("inspect", data).stdout
    repaired = command("check", data, "--repair")
    assert (repaired.returncode, repaired.stderr.count("\n")) == (2, 1)
    assert "read-only file system" in repaired.stderr


def test_damaged_block(start_server: Any, command: Any, tmp_path: Path) -> None:
    server = start_server("--transition-ms", "0")
    dynamodb = client_at(server.port)
    dynamodb.create_table(TableName="things", **schema("pk:S"))
    names = [f"item {number}" for number in range(200)]
    items = {name: {"pk": {"S": name}, "c": {"S": noise(name)}} for name in names}
    for item in items.values():
        dynamodb.put_item(TableName="things", Item=item)
    assert server.stop()[0] == 0
    (table,) = (tmp_path / "faradisc-data" / "rocks").glob("*.sst")
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 0xFF
    table.write_bytes(content)

    server = start_server()
    dynamodb = client_at(server.port)
    answers = {"whole": 0, "failed": 0}
    for name in names:
        try:
            found = dynamodb.get_item(TableName="things", Key={"pk": {"S": name}}).get("Item")
        except ClientError as error:
            assert error.response["Error"]["Code"] == "InternalServerError"
            answers["failed"] += 1
        else:
            assert found == items[name]
            answers["whole"] += 1
    assert answers["failed"] >= 1
    assert answers["whole"] >= 100
    with pytest.raises(ClientError, match="InternalServerError"):
        for _ in dynamodb.get_paginator("scan").paginate(TableName="things"):
            pass
    dynamodb.put_item(TableName="things", Item={"pk": {"S": "new"}})
    assert ready(server.port) == (200, {"status": "ready"})
    checked = command("check")
    assert checked.returncode == 1
    assert "PROBLEM table things: the data cannot be read to its end\n" in checked.stdout
    assert "no repair: it cannot be derived from other data: restore it from a backup" in checked.stdout
    assert server.stop()[0] == 0
