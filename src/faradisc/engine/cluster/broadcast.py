"""What each node counts, for all others: every node adds it to its own counts.

Messages are entries of the log of one part, one entry a node every few seconds. A node reads those of the
others; one that starts reads the last minutes. Source: many-nodes.md section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from faradisc.clock import Clock
from faradisc.model.codec.keyspace import BROADCAST_PART
from faradisc.storage.api import Batch, Conflict, Store

INTERVAL_NS = 3_000_000_000
ENTRIES_MAX = 2000
MESSAGES_MAX = 10_000
"""Unsent messages of a node that cannot reach the store; older ones are dropped."""


class Broadcast:
    def __init__(self, store: Store, clock: Clock, me: str) -> None:
        self._store = store
        self._clock = clock
        self._me = me
        self._seen = 0
        self.due_ns = 0
        """When messages are next sent and received."""
        self._receivers: dict[str, Callable[[Any], None]] = {}
        self.collectors: list[Callable[[], None]] = []
        """Called before messages are sent; may send further ones."""
        self._outgoing: list[tuple[str, Any]] = []

    def on(self, kind: str, receive: Callable[[Any], None]) -> None:
        """receive: is called with the messages of a kind from other nodes."""
        self._receivers[kind] = receive

    def send(self, kind: str, message: Any) -> None:
        """Sends JSON to all other nodes within some seconds."""
        self._outgoing.append((kind, message))
        del self._outgoing[:-MESSAGES_MAX]

    async def step(self) -> bool:
        """Sends and receives, if it is time."""
        if self._clock.now_ns() < self.due_ns:
            return False
        self.due_ns = self._clock.now_ns() + INTERVAL_NS
        for collect in self.collectors:
            collect()
        if self._outgoing:
            outgoing, self._outgoing = self._outgoing, []
            try:
                await self._append(orjson.dumps([self._me, outgoing]))
            except BaseException:
                self._outgoing = outgoing + self._outgoing
                raise
        for number, entry in await self._store.log(BROADCAST_PART, self._seen, ENTRIES_MAX):
            self._seen = number
            sender, messages = orjson.loads(entry)
            for kind, message in messages if sender != self._me else ():
                if kind in self._receivers:  # a newer release may send others
                    self._receivers[kind](message)
        return False

    async def _append(self, entry: bytes) -> None:
        committed = await self._store.commit([Batch(BROADCAST_PART, log=[entry])])
        assert not isinstance(committed, Conflict), "nothing was checked"
        if committed[0] % 100 == 0:
            await self._store.trim(BROADCAST_PART, committed[0] - ENTRIES_MAX)
