"""What RocksDB shows of itself: sizes, and work in the background."""

from __future__ import annotations

from typing import Final

from rocksdict import Rdict

from faradisc.storage.figures import StoreFigures, SyncTimes

PROPERTIES: Final = {
    "storage_table_bytes": (
        "total-sst-files-size",
        "Bytes of tables on disk, with those that reads still use.",
    ),
    "storage_live_bytes": (
        "estimate-live-data-size",
        "Estimated bytes of rows that count, without old versions.",
    ),
    "storage_memtable_bytes": ("size-all-mem-tables", "Bytes of recent writes in memory."),
    "storage_cache_bytes": ("block-cache-usage", "Bytes of blocks in the cache."),
    "storage_cache_capacity_bytes": ("block-cache-capacity", "Bytes that the cache may have."),
    "storage_compactions_running": ("num-running-compactions", "Compactions that run now."),
    "storage_compaction_pending_bytes": (
        "estimate-pending-compaction-bytes",
        "Estimated bytes that compactions still have to rewrite.",
    ),
    "storage_writes_stopped": ("is-write-stopped", "1: writes wait for compactions."),
}
"""By the name of the metric: RocksDB's property, and its description."""


def figures(db: Rdict, syncs: SyncTimes) -> StoreFigures:
    """Returns the figures of an open store."""
    gauges = {
        name: (float(db.property_int_value(f"rocksdb.{title}") or 0), text)
        for name, (title, text) in PROPERTIES.items()
    }
    return StoreFigures(gauges, syncs)
