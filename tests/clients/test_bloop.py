"""The stream reader of bloop follows a stream whose shards close and have children.

Slow: its environment is created once, in a folder that stays after the run (fixtures/environments.py).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from fixtures.environments import python_with
from fixtures.served import Server

pytestmark = pytest.mark.slow


def test_bloop_reads_a_stream_through_generations_of_shards() -> None:
    tour = Path(__file__).parent / "bloop_tour.py"
    python = python_with("bloop==3.1.1", "bloop")
    with Server("--memory", "--transition-ms", "0", "--shard-lifetime-s", "1") as server:
        run = subprocess.run(
            [str(python), str(tour), server.url], capture_output=True, text=True, timeout=240, check=False
        )
        assert server.stop() == 0
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "records": 200,
        "inserts": 5,
        "in order": True,
        "several generations": True,
        "removed": ["remove", 39, None],
        "from latest": 201,
    }
