"""`faradisc streams tail|run|redrive` against a server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.clients import http_client
from fixtures.schemas import item, new_name, schema
from fixtures.served import Server

HANDLER = """
import json

def keep(event):
    with open("kept", "a") as file:
        for record in event["Records"]:
            if "poison" in record["dynamodb"]["Keys"]["p"]["S"]:
                raise RuntimeError("no")
            file.write(record["dynamodb"]["Keys"]["p"]["S"] + "\\n")
"""


@pytest.fixture
def table(memory_server: Server) -> Iterator[tuple[str, Any]]:
    client = http_client(memory_server.url)
    name = new_name()
    client.create_table(
        TableName=name,
        **schema("p:S"),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    client.get_waiter("table_exists").wait(TableName=name)
    yield name, client
    client.close()


def _streams(tmp_path: Path, server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "faradisc", "streams", *arguments, "--url", server.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_tail_prints_present_records(table: tuple[str, Any], memory_server: Server, tmp_path: Path) -> None:
    name, client = table
    client.put_item(TableName=name, Item=item(p="a", n=1))
    options = ("tail", name, "--from", "trim-horizon", "--once")
    done = _streams(tmp_path, memory_server, *options, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (record,) = map(json.loads, done.stdout.splitlines())
    assert record["dynamodb"]["NewImage"] == {"p": {"S": "a"}, "n": {"N": "1"}}
    done = _streams(tmp_path, memory_server, *options)
    assert 'INSERT {"p": {"S": "a"}} -> {' in done.stdout


def test_tail_follows_until_a_signal(table: tuple[str, Any], memory_server: Server, tmp_path: Path) -> None:
    name, client = table
    arguments = ["streams", "tail", name, "--from", "trim-horizon", "--json", "--url", memory_server.url]
    with subprocess.Popen(
        [sys.executable, "-m", "faradisc", *arguments], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        for number in range(3):
            client.put_item(TableName=name, Item=item(p="a", n=number))
            record = json.loads(process.stdout.readline())
            assert record["dynamodb"]["NewImage"]["n"] == {"N": str(number)}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_run_passes_records_and_stores_checkpoints(
    table: tuple[str, Any], memory_server: Server, tmp_path: Path
) -> None:
    name, client = table
    (tmp_path / "own_handler.py").write_text(HANDLER)
    options = ("run", name, "--handler", "own_handler:keep", "--group", "g", "--once", "--retries", "0")
    client.put_item(TableName=name, Item=item(p="a"))
    client.put_item(TableName=name, Item=item(p="poison"))
    done = _streams(tmp_path, memory_server, *options, "--dead-letter", "file:letters", "--bisect")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept").read_text() == "a\n"
    (letter,) = map(json.loads, (tmp_path / "letters").read_text().splitlines())
    assert letter["payload"]["Records"][0]["dynamodb"]["Keys"] == {"p": {"S": "poison"}}
    client.put_item(TableName=name, Item=item(p="b"))
    done = _streams(tmp_path, memory_server, *options)
    assert json.loads(done.stderr.splitlines()[-1])["records_done"] == 1
    assert (tmp_path / "kept").read_text() == "a\nb\n"


def test_redrive_delivers_letters_in_order_and_keeps_those_that_fail(
    table: tuple[str, Any], memory_server: Server, tmp_path: Path
) -> None:
    name, client = table
    letters = new_name()
    (tmp_path / "redriven_handler.py").write_text(HANDLER)
    for number, key in enumerate(("poison", "a", "poison", "b")):
        client.put_item(TableName=name, Item=item(p=key, n=number))
    options = ("run", name, "--handler", "no_such_key:f", "--group", "g", "--once", "--retries", "0")
    (tmp_path / "no_such_key.py").write_text("def f(event):\n    raise KeyError('x')\n")
    done = _streams(tmp_path, memory_server, *options, "--dead-letter", f"table:{letters}")
    assert done.returncode == 0, done.stderr
    assert client.scan(TableName=letters)["Count"] == 4
    done = _streams(
        tmp_path, memory_server, "redrive", letters, "--handler", "redriven_handler:keep", "--group", "g"
    )
    assert (done.returncode, done.stdout) == (3, "2 delivered, 2 left\n")
    assert "RuntimeError: no" in done.stderr
    assert "an earlier record of the item was not delivered" in done.stderr
    assert sorted((tmp_path / "kept").read_text().split()) == ["a", "b"]
    assert client.scan(TableName=letters)["Count"] == 2
    (tmp_path / "redriven_handler.py").write_text(HANDLER.replace("poison", "cured"))
    done = _streams(tmp_path, memory_server, "redrive", letters, "--handler", "redriven_handler:keep")
    assert (done.returncode, done.stdout) == (0, "2 delivered, 0 left\n")
    assert client.scan(TableName=letters)["Count"] == 0


def test_errors_are_one_sentence(
    table: tuple[str, Any], memory_server: Server, rejected_streams: Any
) -> None:
    name, client = table
    plain = new_name()
    client.create_table(TableName=plain, **schema("p:S"))
    for arguments, sentence in (
        (("tail", plain), "has no stream"),
        (("tail", "missing"), "ResourceNotFoundException"),
        (("run", name, "--group", "g", "--handler", "nothing:f"), "there is no handler nothing:f"),
        (("run", name, "--group", "g", "--handler", "json:dumps", "--batch-size", "0"), "batch_size is 0"),
    ):
        done = rejected_streams(*arguments, "--url", memory_server.url)
        assert done.returncode == 1
        assert done.stderr.startswith("faradisc: ")
        assert sentence in done.stderr


def test_missing_table_and_unreachable_server(memory_server: Server, rejected_streams: Any) -> None:
    result = rejected_streams("tail", "missing", "--url", memory_server.url)
    text = "ResourceNotFoundException: Requested resource not found: Table: missing not found"
    assert (result.returncode, result.stderr) == (1, f"faradisc: {text}\n")
    result = rejected_streams("tail", "missing", "--url", "http://127.0.0.1:1")
    assert result.returncode == 1
    assert result.stderr.startswith("faradisc: http://127.0.0.1:1/ does not answer: ")
    assert "HTTPConnection" not in result.stderr
