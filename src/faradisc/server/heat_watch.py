"""The server's part of the heat map's past: look at what is warm, whether or not a page is open."""

from __future__ import annotations

import asyncio
import contextlib

from faradisc.capacity.heat_history import SLOT_S, HeatHistory
from faradisc.server.serving import Serving


async def keep_watching(serving: Serving, history: HeatHistory, stop: asyncio.Event) -> None:
    """Until `stop` is set."""
    while not stop.is_set():
        serving.database.desk.watch(history)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), SLOT_S)
