"""Runs seeds against deliberately broken code until the simulation reports an error."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.faulty_store import FaultyDisk
from simulation.run import DiskOf, Failed, play

SEEDS = 80
"""Each mutation is met by a much earlier one."""


def found(disk_of: DiskOf = FaultyDisk, **shape: Any) -> str:
    """Returns the report of the first failing seed. shape: restricts runs to those with the bug."""
    for seed in range(SEEDS):
        try:
            play(seed, disk_of, **shape)
        except Failed as failure:
            return str(failure)
    pytest.fail("the simulation did not notice")
