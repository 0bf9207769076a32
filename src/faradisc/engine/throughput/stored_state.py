"""What is stored of each table's throughput: partition maps, peaks, warm throughput, Contributor Insights.

One row per table in METER_PART, key the table's id, value JSON. Buckets are not stored: they start full
(capacity.md section 2.16).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson

from faradisc.engine.throughput.table import TableMeter
from faradisc.model.codec.keyspace import METER_PART
from faradisc.storage.api import Batch, Conflict, Store


class StoredState:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.rows: dict[str, dict[str, Any]] = {}
        """Rows that were read at the start, by table id, until their table is attached."""
        self.deleted: list[str] = []
        """Ids of tables whose rows are to be deleted."""

    async def load(self) -> None:
        """Reads all rows. Must be called before the first table is attached."""
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(METER_PART, low, None, limit=1000)
            for key, (_, payload) in rows:
                self.rows[key.decode()] = orjson.loads(payload)
            low = rows[-1][0] + b"\x00" if rows else None

    async def save(self, meter: TableMeter) -> None:
        """Writes a table's row if it has changed."""
        payload = orjson.dumps(
            {
                "override": meter.override,
                "resources": {index or "": meter.resource_of(index).to_json() for index in meter.provisions},
                "insights": {index or "": found.to_json() for index, found in meter.insights.items()},
                "insights_settings": {
                    index or "": asdict(setting) for index, setting in meter.insights_settings.items()
                },
            }
        )
        if payload == meter.saved:
            return
        batch = Batch(METER_PART, puts=[(meter.table_id.encode(), payload)])
        if not isinstance(await self._store.commit([batch]), Conflict):
            meter.saved = payload

    async def delete(self) -> None:
        """Deletes the rows of deleted tables."""
        deleted, self.deleted = self.deleted, []
        if deleted:
            await self._store.commit([Batch(METER_PART, deletes=[table_id.encode() for table_id in deleted])])
