"""Gathers calls into groups, each of which is one statement.

Calls of one turn of the event loop are a group. While enough groups are under way, further calls wait and
become one: so a lone call is sent at once, and under load a statement serves many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

CALLS_MAX = 64
"""Calls of one group."""

A = TypeVar("A")
R = TypeVar("R")


class Gathering(Generic[A, R]):
    def __init__(self, run: Callable[[Sequence[A]], Awaitable[Sequence[R]]], groups_max: int) -> None:
        """run: answers several calls, in their order; what it raises, all of them raise. groups_max: how many
        are under way at a time."""
        self._run = run
        self._groups_max = groups_max
        self._waiting: list[tuple[A, asyncio.Future[R]]] = []
        self._under_way = 0
        self._senders: set[asyncio.Task[None]] = set()
        """The tasks, which nothing else may refer to."""

    def call(self, argument: A) -> asyncio.Future[R]:
        """Returns the future of the answer."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((argument, future))
        if len(self._waiting) == 1 and self._under_way < self._groups_max:
            self._under_way += 1
            sender = asyncio.ensure_future(self._send())  # begins after the calls of this turn
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        return future

    async def end(self) -> None:
        """Returns when all calls are answered."""
        while self._senders:
            await asyncio.wait(self._senders)

    async def _send(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:CALLS_MAX], self._waiting[CALLS_MAX:]
            answers: Sequence[R] = ()
            failure: BaseException | None = None
            try:
                answers = await self._run([argument for argument, _ in group])
            except BaseException as error:
                failure = error
            for n, (_, future) in enumerate(group):
                if future.done():  # its caller was cancelled
                    continue
                if failure is None:
                    future.set_result(answers[n])
                else:
                    future.set_exception(failure)
        self._under_way -= 1
