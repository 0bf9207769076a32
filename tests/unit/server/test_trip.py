"""How many functions and files a request passes, which is what a reader of its way has to read."""

from __future__ import annotations

import runpy
from pathlib import Path

TRIP = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "trip.py"))
CALLS_MAX = 82
FILES_MAX = 28


def test_a_put_item_passes_few_functions_and_files() -> None:
    """From the bytes of the connection to the store and back; `python tools/trip.py PutItem` shows them."""
    with TRIP["world"]() as world:
        steps = world.steps("PutItem", TRIP["REQUESTS"]["PutItem"])
    assert len(steps) <= CALLS_MAX
    assert len({step.file for step in steps}) <= FILES_MAX
