"""Hundreds of seeds, every seed that ever failed, and the promise that a seed says everything.

What it proves: over crashes at any moment, failed, slow and unanswered writes, nothing acknowledged is lost,
nothing is done twice or by half, reads show what was and will stay, and indexes, counters, streams, expiry,
tokens and deliveries agree with the items. Why so: no test of cases meets these interleavings.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from simulation import kept
from simulation.run import play

SEEDS = 204
CHUNKS = 6
"""So that several processes can share them."""

MET_BY_EVERY_CHUNK = {
    "PutItem": 50,
    "UpdateItem": 50,
    "DeleteItem": 20,
    "TransactWriteItems": 50,
    "ExecuteTransaction": 20,
    "BatchWriteItem": 50,
    "BatchExecuteStatement": 30,
    "ExecuteStatement": 50,
    "TransactGetItems": 10,
    "Query": 50,
    "Scan": 20,
    "answered": 500,
    "refused": 200,
    "commits": 500,
    "snapshots": 10,
    "crashes": 40,
    "changes lost": 10,
    "requests whose answer was lost": 20,
    "writes kept without an answer": 3,
    "expired items": 5,
    "stream records": 30,
    "streams replayed": 5,
    "records for Kinesis": 30,
    "index on": 5,
    "stream on": 5,
    "ttl on": 5,
    "kinesis on": 5,
    "table on": 3,
}
"""A simulation in which these hardly happen proves nothing."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_hundreds_of_seeds(chunk: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(chunk, SEEDS, CHUNKS):
        seen += play(seed).seen
    rare = {name: seen[name] for name, least in MET_BY_EVERY_CHUNK.items() if seen[name] < least}
    assert rare == {}


def test_every_seed_that_once_failed() -> None:
    for seed in kept.kept():
        play(seed)


def test_one_seed_is_one_run() -> None:
    assert play(5).trace == play(5).trace
    assert play(5).digest != play(6).digest


def test_one_seed_is_one_run_in_every_process() -> None:
    """The order of sets and dicts of strings differs between processes; no choice may hang on it."""
    said = set()
    for hash_seed in ("1", "2"):
        tests = str(Path(__file__).parents[1])
        path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        command = [sys.executable, "-m", "simulation", "--seed", "7", "--trace"]
        said.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    (run,) = said
    assert len(run.splitlines()) > 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 20_000, 1_000))
def test_thousands_of_seeds(first: int) -> None:
    for seed in range(first, first + 1_000):
        play(seed)
