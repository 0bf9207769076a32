"""The memory of the console over 500 sessions that were opened and closed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import Served
from browser.test_console import create

SESSIONS, WARM = 500, 100
GROWTH_MAX_MB = 16
"""Between session WARM and the last one; a session that is kept takes several hundred KB."""
CONSOLE = """
import sys
from faradisc.tools.console import app
app.RECONNECT_S = 1.0
listener = app.bound("127.0.0.1", 0)
print(listener.getsockname()[1], flush=True)
app.serve(sys.argv[1], "us-east-1", listener)
"""
"""A console that keeps a closed page for a second, not a minute: how many pages it holds does not depend
on the speed of the machine."""


@pytest.fixture
def console(served: Served) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CONSOLE, served.endpoint]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.terminate()


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc"
)
def test_memory_stays_flat_over_500_sessions(
    browser: Any, served: Served, console: subprocess.Popen[str]
) -> None:
    create(served, "opened-often")
    for at in range(60):
        served.dynamodb.put_item(
            TableName="opened-often", Item={"pk": {"S": str(at)}, "sk": {"S": "s"}, "text": {"S": "x" * 200}}
        )
    assert console.stdout is not None
    address = f"http://127.0.0.1:{int(console.stdout.readline())}/tables/opened-often/items"
    context = browser.new_context()
    context.set_default_timeout(60_000)
    sizes = []
    for _ in range(SESSIONS):
        context.clear_cookies()  # another browser for the console, with the scripts of the last one
        page = context.new_page()
        page.goto(address)
        page.get_by_text("60 items, 60 examined").wait_for()
        page.close()
        sizes.append(resident_mb(console.pid))
    context.close()
    shown = ", ".join(f"{sizes[at - 1]:.0f} MB after {at}" for at in range(WARM, SESSIONS + 1, WARM))
    print(f"sessions: {shown}")
    assert sizes[-1] - sizes[WARM - 1] < GROWTH_MAX_MB, shown


def resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024
