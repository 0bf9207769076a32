"""JSON documents by key in one part of the store: what a restart must not lose of small registries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from faradisc.storage.api import Batch, Part, Store

Key = tuple[str | int, ...]


class Documents:
    """Reads everything once, at the start; afterwards only writes. One process owns the store."""

    def __init__(self, store: Store, part: Part) -> None:
        self._store = store
        self._part = part

    async def load(self) -> list[tuple[Key, dict[str, Any]]]:
        """Every document, in the order of its key's bytes."""
        found: list[tuple[Key, dict[str, Any]]] = []
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(self._part, low, None, limit=1000)
            found += [(tuple(orjson.loads(key)), orjson.loads(payload)) for key, (_, payload) in rows]
            low = rows[-1][0] + b"\x00" if rows else None
        return found

    async def write(self, puts: Mapping[Key, Mapping[str, Any]], deletes: Sequence[Key] = ()) -> None:
        """All of it in one commit; returns when durable."""
        batch = Batch(
            self._part,
            puts=[(orjson.dumps(key), orjson.dumps(document)) for key, document in puts.items()],
            deletes=[orjson.dumps(key) for key in deletes if key not in puts],
        )
        if batch.puts or batch.deletes:
            await self._store.commit([batch])

    async def clear(self) -> None:
        await self._store.clear(self._part)
