"""Hundreds of seeds, every seed that ever failed, and that a seed determines its run.

Over crashes at any moment and failed, slow and unanswered writes, nothing acknowledged is lost, nothing is
done twice or in part, reads return durable states, and indexes, counters, streams, expiry, tokens,
deliveries, exports, imports, vectors and metering agree with the items. Tests of single cases do not reach
these interleavings.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from faradisc.clock import ManualClock
from fixtures.faulty_store import FaultyDisk
from fixtures.searching import seeds
from simulation import kept
from simulation.auditor import Auditor
from simulation.consumers import StreamReader
from simulation.run import play

SEEDS = 210
CHUNKS = 6
"""So that several processes can share them."""

MET_BY_EVERY_CHUNK = {
    "PutItem": 25,
    "UpdateItem": 25,
    "DeleteItem": 10,
    "TransactWriteItems": 25,
    "ExecuteTransaction": 10,
    "BatchWriteItem": 25,
    "BatchExecuteStatement": 15,
    "ExecuteStatement": 25,
    "TransactGetItems": 5,
    "SearchVectors": 25,
    "Query": 25,
    "Scan": 10,
    "answered": 250,
    "refused": 100,
    "commits": 250,
    "snapshots": 5,
    "crashes": 20,
    "changes lost": 5,
    "requests whose answer was lost": 10,
    "writes kept without an answer": 1,
    "expired items": 2,
    "stream records": 15,
    "streams replayed": 2,
    "records for Kinesis": 15,
    "index on": 2,
    "stream on": 2,
    "ttl on": 2,
    "kinesis on": 2,
    "table on": 1,
    "vectors on": 2,
    "ExportTableToPointInTime COMPLETED": 1,
    "ImportTable COMPLETED": 3,
    "items put in bulk": 20,
    "throttled": 60,
    "admissions by table": 30,
    "admissions by partition": 10,
    "partitions split": 1,
    "scaled": 2,
}
"""A simulation in which these hardly happen proves nothing."""


@pytest.mark.parametrize("chunk", seeds(CHUNKS, 1))
def test_hundreds_of_seeds(chunk: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(chunk, SEEDS, CHUNKS):
        seen += play(seed).seen
    rare = {name: seen[name] for name, least in MET_BY_EVERY_CHUNK.items() if seen[name] < least}
    assert rare == {}


def test_every_seed_that_once_failed() -> None:
    for seed in kept.kept():
        play(seed)


def test_records_grow_too_old_by_many_jumps_as_by_one() -> None:
    """Six jumps of four hours, over lives without a reader. Once, the old image of the next record was
    reported as wrong, because the trimmed records were missing."""
    clock = ManualClock()
    chance = random.Random(1)
    reader = StreamReader(Auditor(FaultyDisk(chance), clock), chance)
    for _ in range(6):
        assert not reader.may_be_too_late
        clock.advance(4 * 3600)
    assert reader.may_be_too_late


def test_one_seed_is_one_run() -> None:
    assert play(5).trace == play(5).trace
    assert play(5).digest != play(6).digest


def test_one_seed_is_one_run_in_every_process() -> None:
    """The order of sets of strings differs between processes; no choice may depend on it."""
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
