"""`faradisc serve --store`: a private PostgreSQL that servers share, and what is rejected at the start."""

from __future__ import annotations

import shutil
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faradisc.storage.postgres.private import SOCKET_NAME
from fixtures.clients import client_at
from fixtures.postgres import needs_programs, temporary_place
from fixtures.schemas import schema


@pytest.fixture
def cluster() -> Iterator[Path]:
    needs_programs()
    place = temporary_place(f"cluster-{uuid.uuid4().hex[:8]}")
    yield place
    shutil.rmtree(place)


def _runs(cluster: Path) -> bool:
    return (cluster / "socket" / SOCKET_NAME).exists()


def _names(server: Any) -> list[str]:
    items = client_at(server.port).scan(TableName="things")["Items"]
    return sorted(item["pk"]["S"] for item in items)


def _put(server: Any, name: str) -> None:
    client_at(server.port).put_item(TableName="things", Item={"pk": {"S": name}})


def test_the_last_server_stops_the_private_postgresql_and_a_killed_one_loses_nothing(
    start_server: Any, cluster: Path
) -> None:
    store = f"postgres:{cluster}"
    first = start_server("--store", store, "--transition-ms", "0")
    client_at(first.port).create_table(TableName="things", **schema("pk:S"))
    _put(first, "first")
    second = start_server("--store", store, "--transition-ms", "0")
    assert _names(second) == ["first"]
    code, output, errors = first.stop()
    assert (code, errors) == (0, "")
    assert f"PostgreSQL in {cluster}\n" in output
    assert _runs(cluster)
    _put(second, "second")
    second.stop(signal.SIGKILL)
    assert _runs(cluster)
    third = start_server("--store", store, "--transition-ms", "0")
    assert _names(third) == ["first", "second"]
    assert third.stop()[0] == 0
    assert not _runs(cluster)
    fourth = start_server("--store", store, "--transition-ms", "0")
    assert _names(fourth) == ["first", "second"]
    assert fourth.stop()[0] == 0


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (
            ["--store", "mysql://h/d"],
            2,
            "--store is postgresql://user@host/database, several of them, a file ",
        ),
        (
            ["--store", "postgres:"],
            2,
            "--store 'postgres:' is no address, and no file",
        ),
        (
            ["--store", "postgres:d", "--memory"],
            2,
            "Choose either --memory, which keeps nothing, or --store.",
        ),
        (["--store", "postgres:d", "--virtual-clock"], 2, "follow the machine's clock"),
        (["--store", "postgres:d", "--time-scale", "2"], 2, "follow the machine's clock"),
        (["--store", "postgresql://u:SECRET@h:port/d"], 1, "The address of PostgreSQL cannot be used: "),
        (["--store", "postgresql://u:SECRET@127.0.0.1:1/d"], 1, "PostgreSQL does not answer: "),
    ],
)
def test_a_store_that_cannot_be_used_is_a_sentence(
    command: Any, rejected_serve: Any, options: list[str], code: int, text: str
) -> None:
    pytest.importorskip("asyncpg")
    ended = rejected_serve(*options) if code == 2 else command("serve", "--port", "0", *options)
    assert ended.returncode == code
    assert text in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "SECRET" not in ended.stderr
