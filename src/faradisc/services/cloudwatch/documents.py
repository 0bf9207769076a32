"""JSON documents by key in one part of the store, for small registries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from faradisc.engine.cluster.followed import FollowedRows
from faradisc.storage.api import Part, Store

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
    """Documents that every node of the database has in memory."""

    def __init__(self, store: Store, part: Part) -> None:
        self._rows = FollowedRows(store, part)

    async def load(self) -> list[tuple[Key, dict[str, Any]]]:
        """Returns every document, in the order of its key's bytes."""
        return [(tuple(orjson.loads(key)), orjson.loads(payload)) for key, payload in await self._rows.load()]

    async def changed(self) -> list[tuple[Key, dict[str, Any] | None]]:
        """Returns the documents that other nodes have changed; None: it was deleted."""
        return [
            (tuple(orjson.loads(key)), None if payload is None else orjson.loads(payload))
            for key, payload in await self._rows.changed()
        ]

    async def write(
        self,
        puts: Mapping[Key, Mapping[str, Any]],
        deletes: Sequence[Key] = (),
        *,
        unchanged: Sequence[Key] = (),
    ) -> None:
        """Writes and deletes documents in one commit. Returns when it is durable.

        unchanged: documents that must be as this node knows them. Raises Changed.
        """
        batch = self._rows.batch(
            [(orjson.dumps(key), orjson.dumps(document)) for key, document in puts.items()],
            [orjson.dumps(key) for key in deletes if key not in puts],
            unchanged=map(orjson.dumps, unchanged),
        )
        if batch.puts or batch.deletes:
            await self._rows.commit(batch)
