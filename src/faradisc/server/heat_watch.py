"""The server's part of the heat map's past: look at what is warm, whether or not a page is open."""

from __future__ import annotations

import asyncio
import contextlib

from faradisc.engine.metrics.heat_history import SLOT_S, HeatHistory
from faradisc.server.serving import Serving

EVERY_S_MIN = 0.2
"""Seconds between two looks, at the least."""


def every_s(time_scale: float) -> float:
    """How often to look, in seconds of the machine: once a slot, as far as time does not run too fast."""
    return max(SLOT_S / time_scale, EVERY_S_MIN)


async def keep_watching(serving: Serving, history: HeatHistory, stop: asyncio.Event, pause_s: float) -> None:
    """Look every so many seconds until `stop` is set."""
    while not stop.is_set():
        serving.database.desk.watch(history)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), pause_s)
