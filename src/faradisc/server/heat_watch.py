"""Records the heat map's history, whether or not a page is open."""

from __future__ import annotations

import asyncio

from faradisc.engine.metrics.heat_history import SLOT_S, HeatHistory
from faradisc.server.background import pause
from faradisc.server.serving import Serving

EVERY_S_MIN = 0.2
"""Least seconds between two records."""


def every_s(time_scale: float) -> float:
    """Returns the machine's seconds between two records: one slot, unless time is scaled to less."""
    return max(SLOT_S / time_scale, EVERY_S_MIN)


async def keep_watching(serving: Serving, history: HeatHistory, stop: asyncio.Event, pause_s: float) -> None:
    """Records every `pause_s` seconds until `stop` is set."""
    while not stop.is_set():
        serving.database.administration.watch(history)
        await pause(pause_s, stop)
