"""A check of a database that serves requests: begun by a request, run by the background work.

One check runs at a time, a page of rows per step, over one snapshot; its report stays until the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faradisc.clock import Clock
from faradisc.engine.backups.storage import BackupStorage
from faradisc.errors import StorageError
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.check import Check


class OnlineCheck:
    def __init__(self, store: Store, clock: Clock, storage: BackupStorage | None = None) -> None:
        self._store = store
        self._storage = storage
        self._clock = clock
        self._check: Check | None = None
        self._is_running = False
        self._began_ns = 0
        self._ended_ns = 0
        self._failure = ""

    def begin(self) -> bool:
        """Starts a check. Returns False if one is under way."""
        if self._is_running:
            return False
        from faradisc.engine.check import Check  # noqa: PLC0415 - checks are rare, and a start should not pay for them

        self._check = Check(self._store, self._clock, self._storage)
        self._is_running, self._failure = True, ""
        self._began_ns = self._ended_ns = self._clock.now_ns()
        return True

    async def step(self) -> bool:
        """Checks one more page of rows. Returns whether a check is under way."""
        if not self._is_running or self._check is None:
            return False
        try:
            self._is_running = await self._check.step()
        except StorageError as error:
            self._is_running, self._failure = False, str(error)
        self._ended_ns = self._clock.now_ns()
        return True

    async def close(self) -> None:
        """Ends a check that is under way. Its report so far stays."""
        self._is_running = False
        if self._check is not None:
            await self._check.close()

    def document(self) -> dict[str, Any]:
        """Returns the report so far as JSON, with `status`: none, running, done or failed."""
        if self._check is None:
            return {"status": "none"}
        status = "running" if self._is_running else "failed" if self._failure else "done"
        document = {
            "status": status,
            "seconds": round((self._ended_ns - self._began_ns) / 1e9, 3),
            **self._check.report.to_json(),
        }
        return {**document, "reason": self._failure} if self._failure else document
