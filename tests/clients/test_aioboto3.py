"""aioboto3 (and aiobotocore under it) against a real server, from an environment of its own.

Slow: the environment is made once, in a folder that outlives the run (see test_javascript.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fixtures.served import Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with aioboto3."""
    cache = Path(os.environ.get("FARADISC_TEST_CACHE", Path(tempfile.gettempdir()) / "faradisc-test-cache"))
    folder = cache / "aioboto3"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "aioboto3>=13"]
    subprocess.run(install, check=True, timeout=300)
    return python


def test_aioboto3_takes_its_tour(server: Server, python: Path) -> None:
    tour = Path(__file__).parent / "aio_tour.py"
    run = subprocess.run(
        [str(python), str(tour), server.url], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "counter": "40",
        "pages": [20, 20, 10],
        "condition": "The conditional request failed",
        "scan": 111,
    }
