"""The progress rows of background jobs are deleted with the resource that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.engine.jobs import walk
from faradisc.model.codec.keyspace import CATALOG_PART, JOBS_PART
from faradisc.operations.call import Call
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema

ITEMS = 20


class Scene:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.open()
        run(self.call("CreateTable", **schema("p:S")))
        for number in range(ITEMS):
            item = {"p": {"S": str(number)}, "g": {"S": "x"}, "exp": {"N": "9999999999"}}
            run(self.call("PutItem", Item=item))

    def open(self) -> None:
        """Also the start of a new process on the store of a killed one."""
        self.database = run(
            Database.open(
                self.store,
                settings=Settings(transition_ms=0, ttl_change_interval_s=0),
                clock=ManualClock(1_700_000_000),
                entropy=SeededEntropy(1),
            )
        )

    async def call(self, operation: str, **request: Any) -> dict[str, Any]:
        call = Call(operation, {"TableName": "table", **request}, True, "us-east-1", "000000000000")
        return await self.database.execute(call)

    def add_index(self) -> None:
        (members,) = schema("x:S", gsi={"late": ("g:S", "", "ALL")})["GlobalSecondaryIndexes"]
        run(
            self.call(
                "UpdateTable",
                AttributeDefinitions=[
                    {"AttributeName": "p", "AttributeType": "S"},
                    {"AttributeName": "g", "AttributeType": "S"},
                ],
                GlobalSecondaryIndexUpdates=[{"Create": members}],
            )
        )

    def expire_by(self, *, enabled: bool) -> None:
        specification = {"Enabled": enabled, "AttributeName": "exp"}
        run(self.call("UpdateTimeToLive", TimeToLiveSpecification=specification))

    def drop_index(self) -> None:
        run(self.call("UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "late"}}]))

    def job_rows(self) -> int:
        return len(run(self.store.range(JOBS_PART, b"", None, limit=100)))


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Two items a step, so that a job is unfinished after one."""
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    return Scene()


def switched_off(scene: Scene) -> None:
    scene.expire_by(enabled=False)


def deleted(scene: Scene) -> None:
    catalog = scene.database.backend.catalog
    run(catalog.delete(catalog.tables.for_data("table", "us-east-1", "000000000000"), while_in_use=True))


@pytest.mark.parametrize("end", [Scene.drop_index, deleted])
def test_backfill_cursor_is_deleted_with_its_index(scene: Scene, end: Callable[[Scene], None]) -> None:
    scene.add_index()
    run(scene.database.work())
    assert scene.job_rows() == 1
    end(scene)
    assert scene.job_rows() == 0


@pytest.mark.parametrize("end", [switched_off, deleted])
def test_expiry_backfill_cursor_is_deleted_with_its_time_to_live(
    scene: Scene, end: Callable[[Scene], None]
) -> None:
    scene.expire_by(enabled=True)
    run(scene.database.work())
    assert scene.job_rows() == 1
    end(scene)
    assert scene.job_rows() == 0


@pytest.mark.parametrize("begin", [Scene.add_index, lambda scene: scene.expire_by(enabled=True)])
def test_a_cursor_goes_in_the_commit_that_ends_its_work(
    scene: Scene, begin: Callable[[Scene], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no crash between two commits leaves one behind."""
    begin(scene)
    store = scene.database.store
    commit = store.commit
    ending: list[list[bytes]] = []

    async def noted(batches: Any, **more: Any) -> Any:
        parts = [batch.part for batch in batches]
        if JOBS_PART in parts and CATALOG_PART in parts:
            ending.append([key for batch in batches if batch.part == JOBS_PART for key in batch.deletes])
        had = scene.job_rows()
        committed = await commit(batches, **more)
        if scene.job_rows() < had:
            assert CATALOG_PART in parts
        return committed

    monkeypatch.setattr(store, "commit", noted)
    for _ in range(4 * ITEMS):
        run(scene.database.work())
    assert [len(keys) for keys in ending] == [1]
    assert scene.job_rows() == 0


def test_a_start_deletes_job_rows_left_by_a_crash(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is DELETING on disk, but its rows are not cleared yet."""
    scene.add_index()
    run(scene.database.work())
    before = run(scene.store.range(JOBS_PART, b"", None, limit=100))
    index_part = before[0][0][-4:] + b"\x00"

    async def killed(part: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scene.database.store, "clear", killed)
    with pytest.raises(KeyboardInterrupt):
        scene.drop_index()
    monkeypatch.undo()
    assert scene.job_rows() == 1
    scene.open()
    assert scene.job_rows() == 0
    for slot in range(4):
        assert run(scene.store.range(index_part[:4] + bytes([slot]), b"", None, limit=1)) == []
