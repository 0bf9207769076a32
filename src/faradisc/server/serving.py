"""The database that a server answers from, its background work, and another in its place where that helps.

After a write that was refused the store takes none: nobody knows how much of the log is on the disk. Opening
it again finds out, as a restart does. So where the disk was full and has room again, the server opens the
database anew by itself; requests that come meanwhile get 503, which every SDK retries. After any other
failure of the disk a person should look first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from faradisc.database import Database
from faradisc.errors import StorageError
from faradisc.server.background import keep_working
from faradisc.server.site import Site
from faradisc.storage.api import Full
from faradisc.storage.rocks_files import log_bytes

ROOM_BYTES = 16 << 20
"""So much is to be free beyond what the log may need, which becomes a table when the store is opened."""
LOOK_EVERY_S = 1.0
PAUSES_S = (2.0, 300.0)
"""Between two times that it is opened: the first, and as it doubles the longest."""
CALM_S = 3600.0
"""After so long without, the first one comes again."""
_log = logging.getLogger(__name__)


class Serving:
    """Owns an open database, and any that takes its place."""

    def __init__(
        self,
        site: Site,
        database: Database,
        open_again: Callable[[], Awaitable[Database]],
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        """drain: accept nothing more and answer what is under way. open_again raises StorageError."""
        self.database = database
        self._site = site
        self._open_again = open_again
        self._drain = drain
        self._closed = False
        self._pause_s = PAUSES_S[0]
        self._opened_s = -CALM_S
        """When it was opened again last, or that was tried: seconds of the loop."""

    async def until(self, stop: asyncio.Event, directory: Path | None) -> None:
        """Answer requests and do background work until `stop` is set; then drain. directory: where the data
        is; None: in memory. Raises: StorageError."""
        while not stop.is_set():
            ended = asyncio.Event()
            working = asyncio.create_task(keep_working(self.database.work, ended, self._refuses))
            self._site.executor = self.database
            again = await self._has_room_again(directory, stop)
            if again:
                self._site.executor = None
            else:
                await self._drain()
            ended.set()
            await working
            if again:
                await self._reopen(stop)

    def _refuses(self) -> bool:
        return self.database.store.failure is not None

    async def _has_room_again(self, directory: Path | None, stop: asyncio.Event) -> bool:
        """Wait until the disk was full and is no more; False: until it is to stop."""
        if directory is None:
            await stop.wait()
        while not stop.is_set():
            if self._may_open and isinstance(self.database.store.failure, Full):
                assert directory is not None
                if await asyncio.to_thread(_has_room, directory):
                    return True
            await _pause(stop)
        return False

    @property
    def _may_open(self) -> bool:
        return asyncio.get_running_loop().time() >= self._opened_s + self._pause_s

    async def _reopen(self, stop: asyncio.Event) -> None:
        """Open the database again, as often as that takes; if it is to stop meanwhile, drain."""
        _log.warning("the disk has room again: the database is opened anew")
        with contextlib.suppress(StorageError):
            await self.close()
        while not stop.is_set():
            if not self._may_open:
                await _pause(stop)
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
                _log.warning("the database takes writes again")
                return
        await self._drain()

    async def close(self) -> None:
        """Raises: StorageError."""
        if not self._closed:
            self._closed = True
            await self.database.close()


def _has_room(directory: Path) -> bool:
    import shutil  # noqa: PLC0415 - few disks are ever full, and it brings compressors along

    try:
        return shutil.disk_usage(directory).free >= ROOM_BYTES + 2 * log_bytes(directory)
    except OSError:
        return False


async def _pause(stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), LOOK_EVERY_S)
