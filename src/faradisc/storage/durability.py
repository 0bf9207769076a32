"""When a commit counts as on disk: the two ways to wait for a sync of the write-ahead log.

The engine writes a commit into the log (which survives a killed process) and then asks one of these for
the sync that makes it survive a lost machine:

    InlineSync    syncs inside the commit and never suspends; for callers without an event loop
    GroupedSync   syncs in one helper thread while the loop goes on; every commit written before a sync
                  starts is answered by it, so under load one sync pays for many commits

Both keep `synced`, the newest version known to be on disk. It never passes a version that is not: the
number is taken before the sync starts. After a failed sync it stands still for good, since nobody knows
which bytes of the log reached the disk; whoever waits sees `synced` below its version and gives up.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

TURNS_MAX = 16
"""Turns of the loop a sync waits for more commits at most."""


class Durability(Protocol):
    synced: int

    def wrote(self, version: int) -> asyncio.Future[None] | None:
        """A commit was written. Await the future, if any, then compare its version with `synced`."""
        ...

    async def wait(self, version: int) -> None:
        """Return once `version` (already written) is synced, or no later sync can succeed."""
        ...

    def stop(self) -> None:
        """Sync what is left, answer everyone who waits, end the thread. Blocks; never suspends."""
        ...


Begin = Callable[[], Callable[[], None]]
"""Called in the thread of the commits when a sync starts; returns a function that blocks until it is done."""


class InlineSync:
    """Requires: nothing; `wrote` blocks the calling thread for one sync, and raises what is no error of the
    disk (`failed` raises it)."""

    def __init__(self, begin: Begin, failed: Callable[[Exception], None], version: int) -> None:
        self.synced = version
        self._begin = begin
        self._failed = failed
        self._broken = False

    def wrote(self, version: int) -> None:
        if self._broken:
            return
        try:
            self._begin()()
        except Exception as error:
            # One that a signal's handler raised says nothing of the disk, and goes on from here.
            self._failed(error)
            self._broken = True
        else:
            self.synced = version

    async def wait(self, version: int) -> None:
        """Syncs at once; after a failure there is nothing left to wait for."""
        self.wrote(version)

    def stop(self) -> None:
        """Nothing is ever left."""


class _Group(asyncio.Future[None]):
    """Shared by all commits that one sync answers.

    Cancelling one waiting task must not cancel the others, so a group refuses; the task is cancelled
    when the sync ends instead. By then its commit is on disk, like any answer lost on the network.
    """

    def cancel(self, msg: object | None = None) -> bool:
        return False


class GroupedSync:
    """Requires: a running asyncio (or uvloop) loop in the thread that calls `wrote` and `wait`."""

    def __init__(self, begin: Begin, failed: Callable[[Exception], None], version: int) -> None:
        self.synced = version
        self._begin = begin
        self._failed = failed
        self._broken = False
        self._written = version
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: _Group | None = None
        """Answered by the sync after the one under way."""
        self._current: _Group | None = None
        """Answered by the sync under way, which covers versions up to `_covers`."""
        self._covers = version
        self._scheduled = False
        self._turns_left = 0
        self._jobs: SimpleQueue[tuple[int, Callable[[], None], _Group] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def wrote(self, version: int) -> asyncio.Future[None]:
        self._written = max(self._written, version)
        return self._next or self._open_group()

    async def wait(self, version: int) -> None:
        self._written = max(self._written, version)
        while version > self.synced and not self._broken:
            if self._current is not None and version <= self._covers and self._is_at_home():
                await self._current
            else:
                await (self._next or self._open_group())

    def _is_at_home(self) -> bool:
        return asyncio.get_running_loop() is self._loop

    def _open_group(self) -> _Group:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        group = self._next = _Group(loop=loop)
        if self._current is None and not self._scheduled:
            self._schedule(loop)
        return group

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the next sync, but not at once: what else is ready in this turn of the loop joins it."""
        self._scheduled = True
        self._turns_left = TURNS_MAX
        loop.call_soon(self._start_when_quiet, loop, self._written)

    def _start_when_quiet(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        """As long as each turn brings more commits, wait for one more turn: a sync costs as much processor
        time as a commit or two, and the next one would only begin when this one has ended."""
        if self._written > seen and self._turns_left:
            self._turns_left -= 1
            loop.call_soon(self._start_when_quiet, loop, self._written)
        else:
            self._start()

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve another loop than before. What the old one was still owed, it can no longer receive."""
        if self._thread is not None:
            self._end_thread()
        self._loop = loop
        self._next = self._current = None
        self._scheduled = False

    def _start(self) -> None:
        self._scheduled = False
        group, self._next = self._next, None
        if group is None or self._broken:
            if group is not None:
                group.set_result(None)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="faradisc-sync", daemon=True)
            self._thread.start()
        self._current = group
        self._covers = self._written
        self._jobs.put((self._covers, self._begin(), group))

    def _serve(self) -> None:
        """The helper thread: one blocking sync per job."""
        while (job := self._jobs.get()) is not None:
            version, sync, group = job
            error: Exception | None = None
            try:
                sync()
            except Exception as caught:
                error = caught
            # A closed loop refuses: nobody is left to be answered, and `stop` or the next loop syncs again.
            with contextlib.suppress(RuntimeError):
                group.get_loop().call_soon_threadsafe(self._finish, version, group, error)

    def _finish(self, version: int, group: _Group, error: Exception | None) -> None:
        """Back in the loop: record the outcome, start the next sync, wake the group."""
        if error is not None:
            self._break(error)
        elif version > self.synced:
            self.synced = version
        if group is self._current:
            self._current = None
            if self._next is not None:
                self._schedule(group.get_loop())
        if not group.done():
            group.set_result(None)

    def _break(self, error: Exception) -> None:
        if not self._broken:
            self._broken = True
            self._failed(error)

    def _end_thread(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            thread.join()

    def stop(self) -> None:
        self._end_thread()
        if self._written > self.synced and not self._broken:
            try:
                self._begin()()
            except Exception as error:
                self._break(error)
            else:
                self.synced = self._written
        for group in (self._current, self._next):
            if group is not None and not group.done() and not group.get_loop().is_closed():
                group.set_result(None)
        self._current = self._next = None
