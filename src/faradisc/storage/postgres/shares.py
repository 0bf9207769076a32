"""The shares of a commit over several places: prepared at all but one, and ended as that one has decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from faradisc.storage.postgres.errors import translated
from faradisc.storage.postgres.place import Place
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.recovery import Recovery
from faradisc.storage.postgres.share import Share


class Shares:
    """The shares of one commit at the places that do not decide.

    Each keeps a connection to its end: all others of the place may wait for what the share has locked. They
    are taken in the descending order of the places, the deciding one's last: no two commits wait for each
    other's, and home, which decides whatever it takes part in, waits for no other place.
    """

    def __init__(
        self,
        place: Callable[[int], Place],
        recovery: Recovery,
        deciding: int,
        shares: Mapping[int, Share],
    ) -> None:
        self._place = place
        self._recovery = recovery
        self._deciding = deciding
        self._shares = shares
        self._connections: dict[int, Connection] = {}
        self._names: dict[int, str] = {}
        """Of what may be prepared, by place."""
        self.rows: dict[int, Any] = {}
        """Of kv_commit, by place."""
        self.refused: Share | None = None
        """The one whose row `prepare` has returned."""

    async def __aenter__(self) -> Shares:
        try:
            for number in self._shares:
                self._connections[number] = await self._place(number).take()
        except BaseException:
            self._give()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._give()

    def _give(self) -> None:
        for number, connection in self._connections.items():
            # One that may still be in a transaction is not used again.
            self._place(number).give(connection, broken=number in self._names)

    async def prepare(self, caller: bytes | None, request: int) -> Any:
        assert caller is not None
        for number, share in self._shares.items():
            name = self._recovery.name(number, self._deciding, caller, request)
            self._names[number] = name
            try:
                row = await self._place(number).prepare(self._connections[number], name, share.arguments)
            except Exception as error:
                return translated(error)
            self.rows[number] = row
            if row[0]:
                del self._names[number]
                self.refused = share
                return row
        return None

    async def end(self, *, made: bool) -> bool:
        numbers = list(self._names)
        ended = await asyncio.gather(
            *(
                self._place(number).end(self._connections[number], self._names[number], made=made)
                for number in numbers
            )
        )
        for number, done in zip(numbers, ended, strict=True):
            if done:
                del self._names[number]
        return all(ended)
