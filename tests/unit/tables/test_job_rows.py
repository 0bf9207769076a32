"""The progress rows of background jobs are deleted with the resource that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.engine.tables import backfill
from faradisc.engine.ttl import filling
from faradisc.model.codec.keyspace import JOBS_PART
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
    monkeypatch.setattr(backfill, "ROWS_PER_STEP", 2)
    monkeypatch.setattr(filling, "ROWS_PER_STEP", 2)
    return Scene()


def switched_off(scene: Scene) -> None:
    scene.expire_by(enabled=False)


def deleted(scene: Scene) -> None:
    run(scene.call("DeleteTable"))


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


def test_a_start_deletes_job_rows_left_by_a_crash(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is DELETING on disk, but its rows are not cleared yet."""
    scene.add_index()
    run(scene.database.work())
    before = run(scene.store.range(JOBS_PART, b"", None, limit=100))
    index_part = before[0][0][-4:] + b"\x00"

    async def killed(part: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scene.store, "clear", killed)
    with pytest.raises(KeyboardInterrupt):
        scene.drop_index()
    monkeypatch.undo()
    assert scene.job_rows() == 1
    scene.open()
    assert scene.job_rows() == 0
    for slot in range(4):
        assert run(scene.store.range(index_part[:4] + bytes([slot]), b"", None, limit=1)) == []
