"""One database for all rejections of this folder: a refused request leaves it as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from fixtures.rejections import World


@pytest.fixture(scope="package")
def _world(on_engine: Callable[[], AbstractContextManager[None]]) -> Iterator[World]:
    with on_engine():
        world = World()
        before = world.content()
    yield world
    with on_engine():
        assert world.content() == before
        world.process.check()
        world.process.close()


@pytest.fixture
def world(_world: World, bugs_surface: None, in_process_only: None) -> World:
    """Five tables (fixtures/rejections.py) that no test may change."""
    return _world
