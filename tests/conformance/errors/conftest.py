"""One database for all refusals of this folder: a refused request leaves it as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.refusals import World


@pytest.fixture(scope="package")
def _world() -> Iterator[World]:
    world = World()
    before = world.content()
    yield world
    assert world.content() == before
    world.process.check()
    world.process.close()


@pytest.fixture
def world(_world: World, bugs_surface: None, in_process_only: None) -> World:
    """Five tables (fixtures/refusals.py) that nobody may change."""
    return _world
