"""The database's own time, where it differs from the machine's.

A database whose clock was moved, or runs faster than the machine's, is ahead of it: tables are UPDATING until
a time that the machine reaches in a day, auto scaling has evaluated future minutes. So the time is stored in
the data directory, and the next server continues from there, with any clock.

<data directory>/CLOCK     nanoseconds since the epoch, decimal, and a newline

The time of a virtual clock is stored before the clock moves, that of a running clock every second; a kill -9
loses a second of the machine's time.
"""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

from faradisc.clock import LAST_NS, Clock, ManualClock, ScaledClock
from faradisc.files import replace_file
from faradisc.server.background import pause
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings

CLOCK_FILE = "CLOCK"
STORE_EVERY_S = 1.0
log = logging.getLogger("faradisc.server")


class StoredTime:
    """The stored time of a data directory; does nothing for data in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._path = None if directory is None else directory / CLOCK_FILE

    def read(self) -> int:
        """Returns nanoseconds since the epoch; 0 where none are stored. Raises SettingsError."""
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
                f"{self._path} does not hold a time; remove it to continue with the machine's."
            )
        return int(text)

    def write(self, now_ns: int) -> None:
        """Stores a time; a full disk does not stop the clock."""
        if self._path is None:
            return
        try:
            replace_file(self._path, f"{now_ns}\n".encode())
        except OSError as mistake:
            log.warning("the time of the data could not be stored: %s", mistake)


class StoredManualClock(ManualClock):
    """A manual clock whose time is stored before it moves."""

    __slots__ = ("_stored",)

    def __init__(self, stored: StoredTime, now_ns: int) -> None:
        super().__init__()
        self._now_ns = now_ns
        self._stored = stored

    def _go_to(self, now_ns: int) -> None:
        self._stored.write(now_ns)
        super()._go_to(now_ns)


def data_clock(settings: ServerSettings, machine: Clock) -> tuple[Clock, StoredTime | None]:
    """Returns the clock and, for a running one, where to store its time. Raises SettingsError."""
    stored = StoredTime(None if settings.memory or settings.store else Path(settings.data_dir))
    now_ns = machine.now_ns()
    begin_ns = max(stored.read(), now_ns)
    if settings.virtual_clock:
        return StoredManualClock(stored, begin_ns), None
    if settings.time_scale == 1 and begin_ns == now_ns:
        return machine, None
    return ScaledClock(machine, settings.time_scale, begin_ns), stored


async def keep_time(clock: Clock, stored: StoredTime, stop: asyncio.Event) -> None:
    """Stores the time of a running clock every second until `stop` is set, and then once more."""
    while not stop.is_set():
        await asyncio.to_thread(stored.write, clock.now_ns())
        await pause(STORE_EVERY_S, stop)
    stored.write(clock.now_ns())
