"""Servers of two regions, as processes: https between them, strict signatures, one over PostgreSQL."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest

from crash.test_peers_killed import free_port
from faradisc.clock import SystemClock
from faradisc.engine.check import Check
from faradisc.engine.replication.peers import PeerUnusable
from faradisc.server.peering import PeerServer
from faradisc.storage.postgres.store import open_postgres
from fixtures.certificates import server_files
from fixtures.cluster import wait_for
from fixtures.regions import EU, TABLE, US
from fixtures.schemas import schema
from fixtures.served import Server

CREDENTIALS = ("-m", "faradisc", "credentials", "add", "--credentials-file")


class Region:
    """The servers of one region, as its clients see the first of them."""

    def __init__(self, name: str, port: int, certificate: Path, key: tuple[str, str]) -> None:
        self.name = name
        self.url = f"https://localhost:{port}"
        self.port = port
        self.client = boto3.client(
            "dynamodb",
            endpoint_url=self.url,
            region_name=name,
            aws_access_key_id=key[0],
            aws_secret_access_key=key[1],
            verify=str(certificate),
        )

    def put(self, key: str, value: int) -> None:
        self.client.put_item(TableName=TABLE, Item={"p": {"S": key}, "v": {"N": str(value)}})

    def has(self, key: str, value: int) -> bool:
        found = self.client.get_item(TableName=TABLE, Key={"p": {"S": key}}, ConsistentRead=True)
        return bool(found.get("Item", {}).get("v") == {"N": str(value)})

    def statuses(self) -> list[Any]:
        described = self.client.describe_table(TableName=TABLE)["Table"]
        return [each["ReplicaStatus"] for each in described.get("Replicas", ())]


@pytest.mark.slow
def test_regions_replicate_over_tls_and_one_over_postgres(
    tmp_path: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The servers trust each other's certificate by SSL_CERT_FILE, and sign with the environment's key. Two
    servers share the PostgreSQL; one of them, which may be the one that replicates, is killed."""
    certificate, private = server_files(tmp_path / "tls")
    file = tmp_path / "keys.json"
    printed = subprocess.run(
        [sys.executable, *CREDENTIALS, str(file)], check=True, capture_output=True, text=True
    ).stdout
    key = tuple(line.rpartition("=")[2] for line in printed.splitlines() if "AWS_" in line)
    assert len(key) == 2, printed
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key[1])
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    us, eu = (Region(name, free_port(), certificate, key) for name in (US, EU))
    common = (
        *("--tls-cert", str(certificate), "--tls-key", str(private)),
        *("--auth", "strict", "--credentials-file", str(file), "--admin", "on"),
    )

    def options(own: Region, other: Region) -> tuple[str, ...]:
        return (*common, "--region", own.name, "--regions", own.name, "--peer", f"{other.name}={other.url}")

    with ExitStack() as servers:
        of_eu = (*options(eu, us), "--store", postgres_dsn)
        second = servers.enter_context(Server(*of_eu))
        servers.enter_context(Server(*of_eu, "--port", str(eu.port)))
        servers.enter_context(Server(*options(us, eu), "--memory", "--port", str(us.port)))
        us.client.create_table(TableName=TABLE, **schema("p:S"))
        us.client.get_waiter("table_exists").wait(TableName=TABLE)
        us.put("before", 1)
        us.client.update_table(TableName=TABLE, ReplicaUpdates=[{"Create": {"RegionName": EU}}])
        wait_for(lambda: us.statuses() == ["ACTIVE"])
        eu.client.get_waiter("table_exists").wait(TableName=TABLE)
        assert eu.has("before", 1)
        us.put("a", 1)
        eu.put("b", 2)
        wait_for(lambda: eu.has("a", 1) and us.has("b", 2))
        monkeypatch.delenv("SSL_CERT_FILE")
        untrusting = PeerServer(EU, eu.url)
        with pytest.raises(PeerUnusable, match="certificate verify failed"):
            untrusting.ask({}).result()
        untrusting.close()
        second.kill()
        us.put("a", 3)
        eu.put("b", 4)
        wait_for(lambda: eu.has("a", 3) and us.has("b", 4))
    assert asyncio.run(_problems(postgres_dsn)) == []


async def _problems(dsn: str) -> list[str]:
    store = await open_postgres(dsn)
    try:
        return (await Check(store, SystemClock()).finish()).sentences()
    finally:
        await store.close()
