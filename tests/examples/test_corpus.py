"""The botocore corpus is loaded and read back: real documents through all layers.

What it proves: Scan, Query and a global index return real, deep, large documents without a changed attribute,
none missing, none twice, in order. Fifteen services in the fast tests, all of them in the slow ones."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from examples.botocore_corpus.run import Phase, run
from examples.botocore_corpus.source import (
    ITEM_SIZE_BYTES_MAX,
    SERVICE_DOCUMENT,
    all_services,
    items_of,
    shape_names,
)
from examples.botocore_corpus.table import TABLE
from examples.botocore_corpus.typed import NotStorable, differences, item_size_bytes, to_typed
from examples.endpoint import connect
from rich.progress import Progress

from faradisc.local import LocalDatabase
from faradisc.model.values.size import item_size
from fixtures.answers import watch
from fixtures.direct_client import CONFIG
from fixtures.served import Server

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("s3", "sts", "dynamodb")
"""In addition to the first twelve: the largest document, which is split, and DynamoDB's own model."""


def _some_services() -> list[str]:
    services = all_services()
    named = [service for service in services if service.partition("/")[0] in SERVICES]
    return sorted({*services[:12], *named})


def _check(phases: list[Phase], services: list[str]) -> None:
    assert [phase.name for phase in phases] == ["load", "scan", "query", "index"]
    for phase in phases:
        assert phase.differences == [], phase.name
        assert phase.tally.keys == phases[0].tally.keys
        assert phase.tally.size_bytes == phases[0].tally.size_bytes
    documents = sum(1 for service in services for _ in shape_names(service))
    parts = [key for key in phases[0].tally.keys if "#service#" in key[1]]
    assert len(phases[0].tally.keys) == documents + len(parts)
    assert parts, "nothing was large enough to be split"


def test_fifteen_services() -> None:
    services = _some_services()
    with LocalDatabase() as database:
        phases = run(lambda: watch(database.client(config=CONFIG)), services, progress=Progress(disable=True))
    _check(phases, services)


@pytest.mark.slow
def test_every_service(data_dir: Path) -> None:
    """Over HTTP, into RocksDB, by two processes; read again after the server is killed."""
    services = all_services()
    with Server("--data-dir", str(data_dir)) as server:
        phases = run(partial(connect, server.url), services, progress=Progress(disable=True), workers=2)
        _check(phases, services)
        server.kill()
    with Server("--data-dir", str(data_dir)) as server:
        found = run(
            partial(connect, server.url), services, progress=Progress(disable=True), workers=2, load=False
        )
        assert [phase.name for phase in found] == ["list", "scan", "query", "index"]
        assert all(phase.differences == [] and phase.tally.keys == phases[0].tally.keys for phase in found)
    for phase in phases:
        tally = phase.tally
        print(
            f"{phase.name}: {len(tally.keys):,} items, {tally.size_bytes / 1e6:.1f} MB, "
            f"{tally.requests:,} requests, {phase.seconds:.1f} s"
        )


def test_large_documents_are_split() -> None:
    """The sizes computed by the example equal the database's; no part is over the limit, and no entry is
    lost."""
    for service in _some_services():
        for shape, _ in shape_names(service):
            for item in items_of(service, shape):
                assert item_size_bytes(item) == item_size(item) <= ITEM_SIZE_BYTES_MAX
    parts = items_of("s3/2006-03-01", SERVICE_DOCUMENT)
    assert len(parts) > 1
    assert [part["part"]["N"] for part in parts] == [str(number + 1) for number in range(len(parts))]


def test_differences_are_found() -> None:
    """The comparison finds differences."""
    source = to_typed({"a": [1, {"b": ""}], "c": True})
    assert list(differences(source, to_typed({"a": [1, {"b": ""}], "c": True}), "x")) == []
    assert list(differences({"N": "10"}, {"N": "1E1"}, "x")) == []
    assert list(differences(source, to_typed({"a": [1, {"b": "z"}], "c": True}), "x")) == [
        "x.M.a.L[1].M.b.S: '' was read as 'z'"
    ]
    assert list(differences(source, to_typed({"a": [1], "c": True}), "x"))
    assert list(differences(source, to_typed({"a": [1, {"b": ""}]}), "x")) == ["x.M.c: missing"]
    assert list(differences(source, to_typed({"a": [2, {"b": ""}], "c": True}), "x"))


def test_documents_that_cannot_be_stored_are_reported() -> None:
    with pytest.raises(NotStorable):
        to_typed({"n": 10**126})
    with pytest.raises(NotStorable):
        to_typed({"n": 10**38 + 1})


@pytest.mark.slow
def test_as_a_program(memory_server: Server) -> None:
    """Loads and compares everything; after a deletion reports the missing item."""
    again = ["--services", "2", "--verify-only"]
    assert _program(memory_server, "--services", "2", "--verify").returncode == 0
    assert _program(memory_server, *again).returncode == 0
    client = connect(memory_server.url)
    key = {"Service": {"S": all_services()[0]}, "Shape": {"S": SERVICE_DOCUMENT}}
    client.delete_item(TableName=TABLE, Key=key)
    done = _program(memory_server, *again)
    assert done.returncode == 1
    assert f"scan: {all_services()[0]}/{SERVICE_DOCUMENT}: not found" in done.stdout


def _program(server: Server, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.botocore_corpus", "--endpoint-url", server.url, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
