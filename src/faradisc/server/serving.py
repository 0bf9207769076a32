"""Owns the database of a server and its background work; opens it again after a full disk, or when asked.

After a failed write the store rejects all writes, because it is unknown how much of the log is on the disk.
Opening it again finds out, as a restart does. So after a full disk has room again, the server opens the
database again by itself; meanwhile requests get 503, after which every SDK tries again. Any other failure of
the disk needs an operator. A database in memory is opened again, empty, by `reset`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from faradisc.database import Database
from faradisc.errors import StorageError
from faradisc.metrics.heat_history import SLOT_S, HeatHistory
from faradisc.server.background import keep_working, pause
from faradisc.server.site import Site
from faradisc.storage.api import Full
from faradisc.storage.rocks_files import log_bytes

if TYPE_CHECKING:
    from faradisc.server.standby import Standby

ROOM_BYTES = 16 << 20
"""Free bytes needed beyond the log, which becomes an SST file when the store is opened."""
CHECK_EVERY_S = 1.0
PAUSES_S = (2.0, 300.0)
"""The pause between two attempts to open: the first and, after doubling, the longest."""
CALM_S = 3600.0
"""After this long without an attempt, the pause is the first one again."""
WATCH_S_MIN = 0.2
"""Least seconds between two records of the heat map."""
_log = logging.getLogger(__name__)


class Serving:
    """Owns the open database, and its successors after a full disk."""

    def __init__(
        self,
        site: Site,
        database: Database,
        open_again: Callable[[], Awaitable[Database]],
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        """drain: accepts nothing more and answers the requests under way. open_again: raises StorageError."""
        self.database = database
        self._site = site
        self._open_again = open_again
        self._drain = drain
        self._closed = False
        self._pause_s = PAUSES_S[0]
        self._opened_s = -CALM_S
        """The time of the last attempt to open again, in seconds of the loop."""
        self._resets: list[asyncio.Future[None]] = []
        """Those that wait for an empty database."""
        self._reset_wanted = asyncio.Event()

    async def follow(
        self, standby: Standby, open_served: Callable[[], Awaitable[Database]], stop: asyncio.Event
    ) -> bool:
        """Serves a standby until it has taken over; False when `stop` was set first. Raises StorageError."""

        async def publish() -> None:
            self.database = await open_served()
            self._site.executor = self.database

        def hide() -> None:
            self._site.executor = None

        self._site.executor = self.database
        if not await standby.until(stop, publish, hide):
            return False
        self.database = await open_served()
        return True

    async def until(self, stop: asyncio.Event, directory: Path | None) -> None:
        """Answers requests and does background work until `stop` is set; then drains. Raises StorageError.

        directory: of the data; None: in memory.
        """
        while not stop.is_set():
            ended = asyncio.Event()
            working = asyncio.create_task(keep_working(self.database.work, ended, self._rejects_writes))
            self._site.executor = self.database
            again = await (
                self._is_reset(stop) if directory is None else self._has_room_again(directory, stop)
            )
            if again:
                self._site.executor = None
            else:
                await self._drain()
            ended.set()
            await working
            if again:
                await (self._replace() if directory is None else self._reopen(stop))

    async def reset(self) -> None:
        """Replaces a database in memory by a new one, and waits until that is served. Raises StorageError."""
        reset = asyncio.get_running_loop().create_future()
        self._resets.append(reset)
        self._reset_wanted.set()
        await reset

    async def _replace(self) -> None:
        self._reset_wanted.clear()
        resets, self._resets = self._resets, []
        await self.close()
        try:
            self.database = await self._open_again()
        except BaseException as error:
            for each in resets:
                each.set_exception(error)
            raise
        self._closed = False
        self._site.executor = self.database
        for each in resets:
            each.set_result(None)

    def _rejects_writes(self) -> bool:
        # A shared store accepts writes again by itself.
        return self.database.store.failure is not None and not self.database.store.shared

    async def _is_reset(self, stop: asyncio.Event) -> bool:
        """Waits until `reset` is called. Returns False when `stop` is set instead."""
        waiting = [asyncio.ensure_future(each.wait()) for each in (stop, self._reset_wanted)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        return not stop.is_set()

    async def _has_room_again(self, directory: Path, stop: asyncio.Event) -> bool:
        """Waits until a full disk has room again. Returns False when `stop` is set instead."""
        while not stop.is_set():
            is_full = self._may_open and isinstance(self.database.store.failure, Full)
            if is_full and await asyncio.to_thread(_has_room, directory):
                return True
            await pause(CHECK_EVERY_S, stop)
        return False

    @property
    def _may_open(self) -> bool:
        return asyncio.get_running_loop().time() >= self._opened_s + self._pause_s

    async def _reopen(self, stop: asyncio.Event) -> None:
        """Opens the database again, with as many attempts as needed; drains if `stop` is set meanwhile."""
        _log.warning("the disk has room again: the database is opened again")
        with contextlib.suppress(StorageError):
            await self.close()
        while not stop.is_set():
            if not self._may_open:
                await pause(CHECK_EVERY_S, stop)
                continue
            now_s = asyncio.get_running_loop().time()
            calm = now_s >= self._opened_s + CALM_S
            self._pause_s = PAUSES_S[0] if calm else min(2 * self._pause_s, PAUSES_S[1])
            self._opened_s = now_s
            try:
                self.database = await self._open_again()
            except StorageError as error:
                _log.error("the database cannot be opened yet: %s", error)
            else:
                self._closed = False
                _log.warning("the database accepts writes again")
                return
        await self._drain()

    async def close(self) -> None:
        """Raises StorageError."""
        if not self._closed:
            self._closed = True
            await self.database.close()


def _has_room(directory: Path) -> bool:
    import shutil  # noqa: PLC0415 - seldom needed, and it imports compressors

    try:
        return shutil.disk_usage(directory).free >= ROOM_BYTES + 2 * log_bytes(directory)
    except OSError:
        return False


def watch_pause_s(time_scale: float) -> float:
    """Returns the machine's seconds between two records: one slot, unless time is scaled to less."""
    return max(SLOT_S / time_scale, WATCH_S_MIN)


async def keep_watching(serving: Serving, history: HeatHistory, stop: asyncio.Event, pause_s: float) -> None:
    """Records the heat map's history every `pause_s` seconds until `stop` is set, even without open pages."""
    while not stop.is_set():
        serving.database.administration.watch(history)
        await pause(pause_s, stop)
