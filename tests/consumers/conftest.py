"""Fixtures: a database with a manual clock, and a Kinesis endpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from consumers.kinesis_double import KinesisDouble, kinesis_double
from consumers.worlds import World
from faradisc.clock import ManualClock
from fixtures.in_process import InProcess


@pytest.fixture
def world(bugs_surface: None, clock: ManualClock) -> Iterator[World]:
    process = InProcess(clock=clock)
    yield World(process)
    process.check()
    process.close()


@pytest.fixture
def kinesis() -> Iterator[KinesisDouble]:
    with kinesis_double() as double:
        yield double
