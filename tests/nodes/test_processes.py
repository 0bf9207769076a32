"""`serve --processes`: several servers on one port over one store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any
from urllib.request import urlopen

import pytest

from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from fixtures.clients import http_client
from fixtures.cluster import wait_for
from fixtures.schemas import schema
from fixtures.served import Server


def alive(url: str) -> dict[str, Any]:
    """Returns the servers that live, by id; none if the one that was asked has just been killed."""
    try:
        with urlopen(url + "/_faradisc/nodes", timeout=10) as answer:
            found = json.loads(answer.read())
    except OSError:
        return {}
    return {each["id"]: each for each in found if each["status"] == "alive"}


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(each) for each in file.read().split()]


def test_servers_share_a_port_are_started_again_and_end_together(postgres_dsn: str) -> None:
    with Server("--store", postgres_dsn, "--processes", "2") as server:
        client = http_client(server.url)
        client.create_table(TableName="music", **schema("p:S"))
        before = alive(server.url)
        assert {each["address"] for each in before.values()} == {server.url}
        assert len(before) == 2
        first, second = children(server.pid)
        os.kill(second, signal.SIGKILL)
        wait_for(lambda: len(alive(server.url).keys() - before.keys()) == 1)
        assert first in children(server.pid)
        for _ in range(8):  # of either server
            with urlopen(server.url + "/health/ready", timeout=10) as answer:
                assert answer.status == 200
        assert server.stop() == 0
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)


def test_servers_end_with_a_parent_that_is_killed(postgres_dsn: str) -> None:
    with Server("--store", postgres_dsn, "--processes", "2") as server:
        pids = children(server.pid)
        server.kill()

        def ended() -> bool:
            return not any(os.path.exists(f"/proc/{pid}/cmdline") for pid in pids)

        wait_for(ended)


def test_a_mistake_is_reported_once() -> None:
    command = ["-m", "faradisc", "serve", "--port", "0", "--processes", "2", "--store"]
    ended = subprocess.run(
        [sys.executable, *command, "postgresql://nobody@127.0.0.1:1/none"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("PostgreSQL does not answer") == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"processes": 0}, "from 1 to 256"),
        ({"processes": 2}, "needs --store"),
        ({"processes": 2, "store": "postgres:x", "record_trace": "t"}, "excludes --record-trace"),
    ],
)
def test_what_processes_exclude(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        ServerSettings(**settings)
