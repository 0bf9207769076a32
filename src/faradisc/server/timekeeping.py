"""The time that data lives in, where it is not the machine's.

A database whose time was moved, or goes faster than the machine's, has lived ahead of it: tables are UPDATING
until a moment that the machine reaches in a day, auto scaling has looked at minutes that are to come. So that
time is kept in the data directory, and the next server goes on from there, whatever clock it is given.

<data directory>/CLOCK     nanoseconds since the epoch, decimal, and a newline

A virtual clock is kept before it moves, and one that runs by itself every second: what it loses to a kill -9
is a second of the machine's time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from pathlib import Path

from faradisc.clock import LAST_NS, Clock, ManualClock, ScaledClock
from faradisc.server.settings import ServerSettings, SettingsError

CLOCK_FILE = "CLOCK"
KEPT_EVERY_S = 1.0
log = logging.getLogger("faradisc.server")


class KeptTime:
    """Where the time of a data directory is kept; one that is in memory has none."""

    def __init__(self, directory: Path | None) -> None:
        self._path = None if directory is None else directory / CLOCK_FILE

    def read(self) -> int:
        """Nanoseconds since the epoch; 0 where none is kept. Raises: SettingsError."""
        if self._path is None:
            return 0
        try:
            text = self._path.read_text("ascii", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except OSError as mistake:
            raise SettingsError(f"The time of the data cannot be read: {mistake}.") from mistake
        if re.fullmatch(r"[0-9]{1,19}\n", text) is None or int(text) > LAST_NS:
            raise SettingsError(
                f"{self._path} does not hold a time; without it the data goes on at the machine's."
            )
        return int(text)

    def write(self, now_ns: int) -> None:
        """A disk that is full does not stop the clock."""
        if self._path is None:
            return
        draft = self._path.with_name(f"{CLOCK_FILE}.new")
        try:
            with draft.open("w", encoding="ascii") as file:
                file.write(f"{now_ns}\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._path)
        except OSError as mistake:
            log.warning("the time of the data could not be kept: %s", mistake)


class KeptManualClock(ManualClock):
    """A clock that stands still until it is told to move, and is kept before it does."""

    __slots__ = ("_kept",)

    def __init__(self, kept: KeptTime, now_ns: int) -> None:
        super().__init__()
        self._now_ns = now_ns
        self._kept = kept

    def _go_to(self, now_ns: int) -> None:
        self._kept.write(now_ns)
        super()._go_to(now_ns)


def data_clock(settings: ServerSettings, machine: Clock) -> tuple[Clock, KeptTime | None]:
    """The clock, and where its time is to be kept while it runs by itself. Raises: SettingsError."""
    kept = KeptTime(None if settings.memory else Path(settings.data_dir))
    now_ns = machine.now_ns()
    begin_ns = max(kept.read(), now_ns)
    if settings.virtual_clock:
        return KeptManualClock(kept, begin_ns), None
    if settings.time_scale == 1 and begin_ns == now_ns:
        return machine, None
    return ScaledClock(machine, settings.time_scale, begin_ns), kept


async def keep_time(clock: Clock, kept: KeptTime, stop: asyncio.Event) -> None:
    """Keep the time of a clock that runs by itself, until it is to stop, and then once more."""
    while not stop.is_set():
        await asyncio.to_thread(kept.write, clock.now_ns())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), KEPT_EVERY_S)
    kept.write(clock.now_ns())
