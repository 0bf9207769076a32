"""A table with an owner job cannot be used until it is complete, whatever the clock says."""

from __future__ import annotations

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.derived.kinds import KINDS
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.definition import table_definition
from faradisc.engine.tables.table_lifecycle import check_exists
from faradisc.errors import ResourceInUseException, ResourceNotFoundException
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema

PLACE = ("table", "us-east-1", "000000000000")


class Scene:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = ManualClock()
        self.open()
        definition = table_definition(schema("p:S"))
        self.table = run(self.catalog.create(*PLACE, definition, {"owner_job": "import"}))

    def open(self) -> None:
        self.catalog = Catalog(
            self.store, self.clock, SeededEntropy(1), KINDS, per_region=False, transition_ms=5
        )
        run(self.catalog.load())


@pytest.fixture(params=["living", "reopened"])
def scene(request: pytest.FixtureRequest) -> Scene:
    made = Scene()
    if request.param == "reopened":
        made.open()
    made.clock.advance(3600)
    return made


def test_a_table_with_an_owner_job_stays_creating(scene: Scene) -> None:
    with pytest.raises(ResourceNotFoundException):
        scene.catalog.tables.for_data(*PLACE)
    shown = scene.catalog.tables.for_control(*PLACE)
    assert shown.state.status == "CREATING"
    with pytest.raises(ResourceInUseException):
        check_exists(shown.state)
    assert [each.name for each in scene.catalog.tables.owned_by("import")] == ["table"]
    assert scene.catalog.tables.owned_by("restore") == []


def test_a_filled_table_is_active(scene: Scene) -> None:
    run(scene.catalog.filled(scene.table))
    assert scene.catalog.tables.for_data(*PLACE).state.status == "ACTIVE"
    assert scene.catalog.tables.owned_by("import") == []


def test_a_table_with_an_owner_job_can_be_deleted(scene: Scene) -> None:
    run(scene.catalog.delete(scene.table, while_in_use=True))
    scene.clock.advance(1)
    assert scene.catalog.tables.names("us-east-1", "000000000000") == []
