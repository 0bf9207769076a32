"""A sync fails under a running site: answers to clients, health pages, and the data afterwards.

What it proves: no acknowledged write is lost, no read returns what a crash may lose, and no write is accepted
until the store is opened again.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson

from faradisc.database import Database, Settings
from faradisc.protocol.http import HttpRequest
from faradisc.server.site import Site
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_files import open_files
from fixtures.in_process import headers_of
from fixtures.schemas import schema


class FailingDisk:
    """RocksDB's own sync, which the test can make fail."""

    def __init__(self, sync: Any) -> None:
        self._sync = sync
        self.fails = False

    def __call__(self) -> None:
        if self.fails:
            raise Exception("IO error: While fdatasync: Input/output error")
        self._sync()


async def open_site(directory: Path) -> tuple[Site, FailingDisk, Database]:
    db = open_files(directory)
    disk = FailingDisk(db.flush_wal)
    database = await Database.open(RocksStore(db, "grouped", disk), settings=Settings(transition_ms=0))
    site = Site()
    site.executor = database
    return site, disk, database


async def call(site: Site, operation: str, **request: Any) -> tuple[int, dict[str, Any]]:
    answer = await site.handle(HttpRequest("POST", b"/", headers_of(operation), orjson.dumps(request)))
    return answer.status, orjson.loads(answer.body)


async def health(site: Site, path: bytes) -> tuple[int, dict[str, Any]]:
    answer = await site.handle(HttpRequest("GET", path, {b"host": b"localhost"}, b""))
    return answer.status, orjson.loads(answer.body)


def key(name: str) -> dict[str, Any]:
    return {"id": {"S": name}}


def test_after_a_failed_sync(tmp_path: Path) -> None:
    async def play() -> None:
        site, disk, database = await open_site(tmp_path)
        await call(site, "CreateTable", TableName="things", **schema("id:S"))
        for name in ("a", "b"):
            assert (await call(site, "PutItem", TableName="things", Item=key(name)))[0] == 200
        assert await health(site, b"/health/ready") == (200, {"status": "ready"})

        disk.fails = True
        answers = await asyncio.gather(
            *(call(site, "PutItem", TableName="things", Item=key(f"lost {n}")) for n in range(5)),
            call(site, "DeleteItem", TableName="things", Key=key("b")),
        )
        assert [status for status, _ in answers] == [500] * 6
        assert all(body["__type"].endswith("#InternalServerError") for _, body in answers)

        disk.fails = False  # too late: which bytes of the log are on disk is unknown
        status, _ = await call(site, "PutItem", TableName="things", Item=key("later"))
        assert status == 500
        assert await call(site, "GetItem", TableName="things", Key=key("a")) == (200, {"Item": key("a")})
        for name in ("lost 1", "b", "never"):
            status, _ = await call(site, "GetItem", TableName="things", Key=key(name))
            assert status == 500, "neither its presence nor its absence is sure"
        assert (await call(site, "Scan", TableName="things"))[0] == 500

        status, page = await health(site, b"/health/ready")
        assert (status, page["status"]) == (503, "failed")
        assert "fdatasync" in page["reason"]
        assert await health(site, b"/health/live") == (200, {"status": "live"})
        await database.close()

        database = await Database.open(open_rocks(tmp_path), settings=Settings(transition_ms=0))
        site.executor = database
        assert await health(site, b"/health/ready") == (200, {"status": "ready"})
        assert await call(site, "GetItem", TableName="things", Key=key("a")) == (200, {"Item": key("a")})
        assert (await call(site, "PutItem", TableName="things", Item=key("later")))[0] == 200
        await database.close()

    asyncio.run(play())
