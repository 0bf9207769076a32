"""What is stored of each table's throughput: partition maps, peaks, warm throughput, Contributor Insights.

One row per table in METER_PART, key the table's id, value JSON. Buckets are not stored: they start full
(capacity.md section 2.16).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson

from faradisc.engine.cluster.followed import FollowedRows
from faradisc.engine.throughput.meter import TableMeter
from faradisc.model.codec.keyspace import METER_PART
from faradisc.storage.api import Store


class StoredState:
    def __init__(self, store: Store) -> None:
        self._rows = FollowedRows(store, METER_PART)
        self.rows: dict[str, dict[str, Any]] = {}
        """Rows that were read at the start, by table id, until their table is attached."""
        self.deleted: list[str] = []
        """Ids of tables whose rows are to be deleted."""

    async def load(self) -> None:
        """Reads all rows. Must be called before the first table is attached."""
        for key, payload in await self._rows.load():
            self.rows[key.decode()] = orjson.loads(payload)

    async def changed(self) -> list[tuple[str, bytes]]:
        """Returns table id and row of the tables that other nodes have stored since."""
        return [(key.decode(), row) for key, row in await self._rows.changed() if row is not None]

    async def save(self, meter: TableMeter) -> None:
        """Writes a table's row if it has changed. Raises Changed if another node was faster."""
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
        key = meter.table_id.encode()
        await self._rows.commit(self._rows.batch([(key, payload)], unchanged=[key]))
        meter.saved = payload

    async def delete(self) -> None:
        """Deletes the rows of deleted tables."""
        deleted, self.deleted = self.deleted, []
        if deleted:
            await self._rows.commit(self._rows.batch([], [table_id.encode() for table_id in deleted]))
