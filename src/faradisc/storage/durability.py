"""Durability of commits: two ways to wait for a sync of the write-ahead log.

The engine writes a commit into the log, which survives a killed process. One of these then syncs the log,
which survives a lost machine:

    InlineSync    syncs inside the commit and never suspends; for callers without an event loop
    GroupedSync   syncs in one helper thread while the loop continues; a sync covers every commit written
                  before it starts, so under load one sync serves many commits

Both have `synced`, the newest version known to be on disk, taken before the sync starts. It stays the same
for good after a failed sync, because it is unknown which bytes of the log reached the disk; a waiting commit
then finds `synced` below its version and raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

TURNS_MAX = 16
"""Maximum of loop turns that a sync waits for more commits."""


class Durability(Protocol):
    synced: int

    def wrote(self, version: int) -> asyncio.Future[None] | None:
        """Registers a written commit. Await the future, if any, then compare the version with `synced`."""
        ...

    async def wait(self, version: int) -> None:
        """Returns when `version` (already written) is synced, or no later sync can succeed."""
        ...

    def stop(self) -> None:
        """Syncs the rest, ends all waiting, ends the thread. Blocks; never suspends."""
        ...


Begin = Callable[[], Callable[[], None]]
"""Called in the thread of the commits when a sync starts; returns a function that blocks until it is done."""


class _Syncs:
    """The common part of both ways. `failed` is called with the error of a sync, at most once."""

    def __init__(self, begin: Begin, failed: Callable[[Exception], None], version: int) -> None:
        self.synced = version
        self._begin = begin
        self._failed = failed
        self._broken = False


class InlineSync(_Syncs):
    """Syncs in the calling thread. `wrote` raises what `failed` raises: errors that are not the disk's."""

    def wrote(self, version: int) -> None:
        if self._broken:
            return
        try:
            self._begin()()
        except Exception as error:
            # `failed` raises the error of a signal handler, which does not concern the disk.
            self._failed(error)
            self._broken = True
        else:
            self.synced = version

    async def wait(self, version: int) -> None:
        """Syncs at once."""
        self.wrote(version)

    def stop(self) -> None:
        """Does nothing: every commit is synced."""


class _Group(asyncio.Future[None]):
    """Shared by all commits that one sync covers.

    Cancelling one waiting task must not cancel the others, so a group cannot be cancelled; the task is
    cancelled when the sync ends. Its commit is then on disk, as if the answer was lost on the network.
    """

    def cancel(self, msg: object | None = None) -> bool:
        return False


class GroupedSync(_Syncs):
    """Requires: a running asyncio (or uvloop) loop in the thread that calls `wrote` and `wait`."""

    def __init__(self, begin: Begin, failed: Callable[[Exception], None], version: int) -> None:
        super().__init__(begin, failed, version)
        self._written = version
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: _Group | None = None
        """Commits for the sync after the running one."""
        self._current: _Group | None = None
        """Commits of the running sync, which covers versions up to `_covers`."""
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
            if self._current is not None and version <= self._covers and self._in_own_loop():
                await self._current
            else:
                await (self._next or self._open_group())

    def _in_own_loop(self) -> bool:
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
        """Starts the next sync after this turn of the loop, so that it covers other commits of the turn."""
        self._scheduled = True
        self._turns_left = TURNS_MAX
        loop.call_soon(self._start_when_quiet, loop, self._written)

    def _start_when_quiet(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        """Starts the sync when a turn of the loop brings no further commit, or after TURNS_MAX turns.

        A sync costs as much processor time as a commit or two, and the next one would have to wait for it.
        """
        if self._written > seen and self._turns_left:
            self._turns_left -= 1
            loop.call_soon(self._start_when_quiet, loop, self._written)
        else:
            self._start()

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serves another loop from now on. Commits that wait in the old loop are abandoned."""
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
        """Runs in the helper thread: one blocking sync per job."""
        while (job := self._jobs.get()) is not None:
            version, sync, group = job
            error: Exception | None = None
            try:
                sync()
            except Exception as caught:
                error = caught
            # A closed loop raises: no commit waits any more, and `stop` or the next loop syncs again.
            with contextlib.suppress(RuntimeError):
                group.get_loop().call_soon_threadsafe(self._finish, version, group, error)

    def _finish(self, version: int, group: _Group, error: Exception | None) -> None:
        """Runs in the loop after a sync: records the outcome, starts the next sync, wakes the group."""
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
