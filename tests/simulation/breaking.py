"""For tests that break a promise on purpose, and want the simulation to say so."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.testing.faulty_store import FaultyDisk
from simulation.run import DiskOf, Failed, play

SEEDS = 80
"""Each mutation is met by a much earlier one."""


def found(disk_of: DiskOf = FaultyDisk, **shape: Any) -> str:
    """What the first failing seed says. shape: where the bug lives, if not everywhere."""
    for seed in range(SEEDS):
        try:
            play(seed, disk_of, **shape)
        except Failed as failure:
            return str(failure)
    pytest.fail("the simulation did not notice")
