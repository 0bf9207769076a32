"""The memory of the console over 500 sessions that were opened and closed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import Served
from browser.test_console import create

SESSIONS, WARM = 500, 100
GROWTH_MAX_MB = 16
"""Between session WARM and the last one; a session that is kept takes several hundred KB."""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc"
)
def test_memory_stays_flat_over_500_sessions(browser: Any, served: Served) -> None:
    create(served, "opened-often")
    for at in range(60):
        served.dynamodb.put_item(
            TableName="opened-often", Item={"pk": {"S": str(at)}, "sk": {"S": "s"}, "text": {"S": "x" * 200}}
        )
    status = console_status(served.console)
    sizes = []
    for at in range(SESSIONS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{served.console}/tables/opened-often/items")
        page.get_by_text("60 items, 60 examined").wait_for()
        context.close()
        if at in (WARM - 1, SESSIONS - 1):
            sizes.append(resident_mb(status))
    print(f"{sizes[0]:.0f} MB after {WARM} sessions, {sizes[1]:.0f} MB after {SESSIONS}")
    assert sizes[1] - sizes[0] < GROWTH_MAX_MB


def console_status(address: str) -> Path:
    """Returns the file of the process that listens on the console's port."""
    port = int(address.rpartition(":")[2])
    of_port = f":{port:04X} "
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if of_port in f"{line.split()[1]} " and line.split()[3] == "0A"
    }
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            links = {str(each.readlink()) for each in folder.iterdir()}
        except OSError:
            continue
        if any(f"socket:[{inode}]" in links for inode in inodes):
            return folder.parent / "status"
    raise AssertionError(f"no process listens on {port}")


def resident_mb(status: Path) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1]) / 1024
