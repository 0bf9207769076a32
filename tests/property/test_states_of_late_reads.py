"""Late reads against a model: never older than the lag, never newer than the store."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.late_world import LAG_MS, Answer, World, answer_of


@pytest.mark.usefixtures("bugs_surface")
@pytest.mark.parametrize("seed", range(10))
def test_a_late_read_sees_one_state_of_the_last_second(seed: int) -> None:
    world = World(seed)
    for _ in range(250):
        world.chance.choice((world.write, world.read, world.read, world.wait))()
    assert world.late > 10
    world.process.check()
    world.process.close()


@pytest.mark.usefixtures("bugs_surface")
def test_without_a_lag_every_read_sees_the_present() -> None:
    world = World(1, lag_ms=0)
    for _ in range(250):
        world.chance.choice((world.write, world.read, world.read, world.wait))()
    assert world.late == 0
    world.process.close()


@pytest.mark.usefixtures("bugs_surface")
def test_the_same_seed_gives_the_same_answers() -> None:
    def answers(lag_seed: int) -> list[Answer]:
        world = World(7)
        world.process.backend.tables.set_late_reads(LAG_MS, {}, lag_seed)
        found: list[Answer] = []
        call = world.call

        def recorded(operation: str, **request: Any) -> dict[str, Any]:
            shown = call(operation, **request)
            if "ConsumedCapacity" in shown:
                found.append(answer_of(operation, shown))
            return shown

        world.call = recorded
        for _ in range(150):
            world.chance.choice((world.write, world.read, world.read, world.wait))()
        world.process.close()
        return found

    assert answers(3) == answers(3) != answers(4)
