"""Which place has which part: a copy of the map at home, for one process.

The map names prefixes of parts (api.HOME_PREFIX says what they are). A copy may be old: then a place that no
longer has a part says so, and the copy is read again. What it does not name is asked for at home each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from faradisc.storage.api import COMPANION_PREFIX, HOME_PREFIX, Part
from faradisc.storage.postgres.reading import Reader

PREFIX_BYTES = len(HOME_PREFIX)
HOME = b"\x00"
_ALL = "SELECT prefix, places, before FROM kv_placement"
_SOME = f"{_ALL} WHERE prefix = ANY($1::bytea[])"
# A store that had one place has parts at home that the map does not name.
_PLACE = """INSERT INTO kv_placement (prefix, places, moved)
 SELECT prefix, CASE WHEN EXISTS (
   SELECT FROM kv_part WHERE part >= prefix AND part < prefix || '\\xffffffffffff'::bytea
 ) THEN '\\x00' ELSE $2::bytea END, now()
 FROM unnest($1::bytea[]) AS u(prefix) ON CONFLICT DO NOTHING"""
SEVERAL = "UPDATE kv_meta SET value = 2 WHERE name = 'format' AND value = 1"


class PlaceMap:
    def __init__(self, home: Reader, is_up: Callable[[int], bool] = bool) -> None:
        """is_up: whether a place answers."""
        self._home = home
        self._is_up = is_up
        self.places: dict[bytes, bytes] = {HOME_PREFIX: HOME}
        """By prefix the numbers of the places that divide its parts by their fifth byte, a byte each."""
        self.before: dict[bytes, bytes] = {}
        """Of prefixes that were moved in the last minutes: where they were."""
        self.candidates: Sequence[int] = (0,)
        """The places that may get new tables, the best first."""

    def find(self, part: Part) -> int | None:
        """Returns the place of a part; None if this copy does not name it."""
        places = self.places.get(part[:PREFIX_BYTES])
        if places is None:
            return None
        if len(places) == 1:
            if part[:PREFIX_BYTES] == HOME_PREFIX and len(part) == 6 and part.startswith(COMPANION_PREFIX):
                return part[5]
            return places[0]
        return places[part[PREFIX_BYTES] % len(places)]

    async def load(self) -> None:
        """Reads the map again. Raises StorageError."""
        rows = await self._home._fetch(_ALL)
        self.places = {HOME_PREFIX: HOME}
        self._add(rows)

    def _add(self, rows: Sequence[Any]) -> None:
        for prefix, places, before in rows:
            self.places[prefix] = places
            if before:
                self.before[prefix] = before
            else:
                self.before.pop(prefix, None)

    async def look_up(self, parts: Iterable[Part]) -> None:
        """Reads what the copy does not name. Raises StorageError."""
        missing = {part[:PREFIX_BYTES] for part in parts} - self.places.keys()
        if missing:
            self._add(await self._home._fetch(_SOME, sorted(missing)))

    async def place(self, parts: Sequence[Part]) -> None:
        """Decides where the parts of one commit are. Raises StorageError.

        What the map does not name is put beside the prefix with the highest number below its own, because the
        resources of a table have numbers above the table's. If the commit names none, it is a new table.
        """
        await self.look_up(parts)
        prefixes = {part[:PREFIX_BYTES] for part in parts}
        placed = sorted(prefixes & self.places.keys() - {HOME_PREFIX})
        new: dict[bytes, list[bytes]] = {}
        for prefix in sorted(prefixes - self.places.keys()):
            near = [each for each in placed if each < prefix] or placed[:1]
            places = (
                self.places[near[-1]] if near else bytes([*filter(self._is_up, self.candidates)][:1]) or HOME
            )
            new.setdefault(places, []).append(prefix)
        for places, wanted in new.items():
            await self._insert(wanted, places)
        if new and not placed:  # the next table is put at the next place
            self.candidates = [*self.candidates[1:], *self.candidates[:1]]
        await self.look_up(parts)

    async def _insert(self, prefixes: Sequence[bytes], places: bytes) -> None:
        if places != HOME:
            await self._home._fetch(SEVERAL)  # from now on nobody may open the first place alone
        await self._home._fetch(_PLACE, prefixes, places)

    async def place_beside(self, prefixes: Sequence[bytes], other: bytes, target: bytes) -> None:
        """Puts what the map does not name where `other` is, which will move to `target`."""
        await self.look_up([other])
        if target != HOME:
            await self._home._fetch(SEVERAL)
        await self._insert([other], self.places.get(other, HOME))
        await self.look_up([other])
        await self._insert(sorted(set(prefixes) - self.places.keys()), self.places[other])
        await self.look_up(prefixes)
