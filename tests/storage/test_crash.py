"""kill -9 under load: nothing acknowledged is lost, nothing is torn, and the next process goes on.

The rounds share one directory, so each also recovers what the earlier ones left. A killed process does
not take the page cache with it; test_rocks_waiting.py cuts the power instead.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from crash_writer import COUNTERS, LEFT, RIGHT

from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from faradisc.storage.testing.contract import contents, payload_of

WRITER = Path(__file__).with_name("crash_writer.py")


def _crash_after(directory: Path, name: str, acknowledged_count: int) -> dict[bytes, int]:
    """Run a writer, kill it after so many answers; returns {name: log sequence} of all it acknowledged."""
    acknowledged: dict[bytes, int] = {}
    with subprocess.Popen(
        [sys.executable, str(WRITER), str(directory), name], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            key, sequence = line.split()
            acknowledged[key] = int(sequence)
            if len(acknowledged) == acknowledged_count:
                writer.kill()
    assert len(acknowledged) >= acknowledged_count, "the writer ended by itself"
    return acknowledged


def _check(directory: Path, acknowledged: dict[bytes, int]) -> None:
    store = open_rocks(directory, durability="inline")
    left, right = run(contents(store, LEFT)), run(contents(store, RIGHT))
    log = run(store.log(LEFT, 0, 10_000_000))
    assert acknowledged.keys() <= left.keys()
    assert all(left[name] == name * 20 for name in left)
    assert left.keys() == right.keys()
    assert [sequence for sequence, _ in log] == list(range(1, len(left) + 1))
    assert {name: sequence for sequence, name in log}.items() >= acknowledged.items()
    assert sorted(name for _, name in log) == list(left)
    assert run(store.usage(LEFT)) == (len(left), sum(map(len, left)))
    assert run(payload_of(store, b"commits", COUNTERS)) == b"%d" % len(left)
    run(store.close())


def _rounds(directory: Path, counts: list[int]) -> None:
    acknowledged: dict[bytes, int] = {}
    for index, count in enumerate(counts):
        acknowledged |= _crash_after(directory, f"round{index}", count)
        _check(directory, acknowledged)


def test_a_killed_process_loses_nothing_acknowledged(tmp_path: Path) -> None:
    _rounds(tmp_path, [1, 300, 2000])


@pytest.mark.slow
def test_many_killed_processes_lose_nothing_acknowledged(tmp_path: Path) -> None:
    _rounds(tmp_path, [1 + (index * 7919) % 20_000 for index in range(25)])
