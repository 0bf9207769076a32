"""aioboto3 (with aiobotocore) against a real server, from a separate environment.

Slow: the environment is created once, in a folder that stays after the run (fixtures/environments.py).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from fixtures.environments import python_with
from fixtures.served import Server

pytestmark = pytest.mark.slow


def test_aioboto3_operations(server: Server) -> None:
    tour = Path(__file__).parent / "aio_tour.py"
    run = subprocess.run(
        [str(python_with("aioboto3>=13", "aioboto3")), str(tour), server.url],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "counter": "40",
        "pages": [20, 20, 10],
        "condition": "The conditional request failed",
        "scan": 111,
    }
