"""JSON documents by key in one part of the store, for small registries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from faradisc.storage.api import Batch, Part, Store

Key = tuple[str | int, ...]

_STORED_NAMES = {"scope": "place"}
"""Names of members that documents store under an older name."""
_NAMES = {stored: name for name, stored in _STORED_NAMES.items()}


def to_document(members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns members under the names that documents store them with."""
    return {_STORED_NAMES.get(name, name): value for name, value in members.items()}


def from_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Reverses `to_document`."""
    return {_NAMES.get(stored, stored): value for stored, value in document.items()}


class DocumentStore:
    """Reads all documents once, at the start; afterwards it only writes. One process owns the store."""

    def __init__(self, store: Store, part: Part) -> None:
        self._store = store
        self._part = part

    async def load(self) -> list[tuple[Key, dict[str, Any]]]:
        """Returns every document, in the order of its key's bytes."""
        found: list[tuple[Key, dict[str, Any]]] = []
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(self._part, low, None, limit=1000)
            found += [(tuple(orjson.loads(key)), orjson.loads(payload)) for key, (_, payload) in rows]
            low = rows[-1][0] + b"\x00" if rows else None
        return found

    async def write(self, puts: Mapping[Key, Mapping[str, Any]], deletes: Sequence[Key] = ()) -> None:
        """Writes and deletes documents in one commit. Returns when it is durable."""
        batch = Batch(
            self._part,
            puts=[(orjson.dumps(key), orjson.dumps(document)) for key, document in puts.items()],
            deletes=[orjson.dumps(key) for key in deletes if key not in puts],
        )
        if batch.puts or batch.deletes:
            await self._store.commit([batch])

    async def clear(self) -> None:
        await self._store.clear(self._part)
