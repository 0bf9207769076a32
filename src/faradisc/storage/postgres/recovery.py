"""Ends the prepared transactions that a server left, because it died or a message was lost.

Any server does it, for all. What was decided is in the caller's row at the place that the name says; a caller
without a decision is sealed first, so that there will be none. A caller that has a prepared transaction is
never forgotten. If that place is away the transaction stays, and what it has changed stays locked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from faradisc.errors import StorageError
from faradisc.records import dataclass
from faradisc.storage.postgres.place import Place
from faradisc.storage.postgres.store import SEAL

log = logging.getLogger(__name__)
EVERY_S = 1.0
OLD_MS = 2_000
"""From this age on a prepared transaction counts as left. A commit that takes as long for other reasons is
repeated once by its server."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared transaction of this store."""

    place: int
    name: str
    age_s: float


class Recovery:
    def __init__(self, store_id: int, places: Mapping[int, Place]) -> None:
        self._prefix = f"fd_{store_id:x}_"
        self._places = places
        self.left: dict[int, list[Prepared]] = {}
        """By place, as of the last look: those that count as left."""

    def name(self, place: int, deciding: int, caller: bytes, request: int) -> str:
        """Returns the name of a commit's prepared transaction at a place. Names are of a whole PostgreSQL,
        which can have several places in its databases and schemas."""
        return f"{self._prefix}{deciding}_{caller.hex()}_{request}_{place}"

    async def callers(self) -> dict[int, list[bytes]]:
        """Returns, by place, the callers that have prepared transactions. Raises StorageError."""
        found: dict[int, list[bytes]] = {number: [] for number in self._places}
        for place in self._places.values():
            for name, _ in await place.prepared(self._prefix):
                deciding, caller, _ = self._parsed(name)
                found.setdefault(deciding, []).append(caller)
        return found

    def _parsed(self, name: str) -> tuple[int, bytes, int]:
        deciding, caller, request, _ = name.removeprefix(self._prefix).split("_")
        return int(deciding), bytes.fromhex(caller), int(request)

    async def step(self) -> None:
        """Ends what is old, at every place that answers."""
        await asyncio.gather(*(self._recover(place) for place in list(self._places.values())))

    async def _recover(self, place: Place) -> None:
        if place.failure is not None:
            return
        try:
            prepared = await place.prepared(self._prefix)
            old = [Prepared(place.number, name, ms / 1000) for name, ms in prepared if ms >= OLD_MS]
            self.left[place.number] = [each for each in old if not await self._end(place, each.name)]
        except StorageError as error:
            log.info("prepared transactions at %s: %s", place.address, error)

    async def _end(self, place: Place, name: str) -> bool:
        deciding, caller, request = self._parsed(name)
        decider = self._places.get(deciding)
        if decider is None or decider.failure is not None:
            return False
        async with decider.apart() as connection:
            rows = await connection.fetch(SEAL, caller)
        if not rows:
            log.error(
                "%s: nobody knows whether the prepared transaction %s is to be made", place.address, name
            )
            return False
        made = rows[0][0] == request
        log.warning("%s: %s %s", place.address, "made" if made else "undid", name)
        async with place.apart() as connection:
            return await place.end(connection, name, made=made)

    def problems(self) -> list[str]:
        """Returns a sentence for each place that is down, and for each that has old prepared transactions."""
        found: list[str] = []
        for number, place in sorted(self._places.items()):
            where = f"place {number}, {place.address}"
            if place.failure is not None:
                found.append(f"{where}: {place.failure}")
            if left := self.left.get(number):
                oldest_s = max(each.age_s for each in left)
                found.append(
                    f"{where}: {len(left)} prepared transactions, the oldest for {oldest_s:.0f} s, lock what "
                    "they have changed until the place that decides them answers."
                )
        return found
