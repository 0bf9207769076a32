"""Opens the sealed rows of a data directory that no database has open."""

from __future__ import annotations

from faradisc.clock import SystemClock, SystemEntropy
from faradisc.engine.check.inventory import take_inventory
from faradisc.engine.encryption.data_keys import DataKeys
from faradisc.engine.encryption.key_service import KeyService
from faradisc.engine.inspection.problems import Report
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.engine.sealing.sealers import Sealers
from faradisc.storage.api import Store


async def opening_sealed(store: Store, service: KeyService | None) -> SealedStore:
    """Returns a store around this one. service: None without keys; then reads of sealed rows raise
    KeyDenied."""
    sealers = Sealers(SystemClock(), SystemEntropy())
    if service is not None:
        DataKeys(sealers, SystemEntropy(), service)
    inventory = await take_inventory(store, Report())
    for stream in inventory.streams.values():
        if stream.sealing is not None:
            sealers.attach(f"stream {stream.resource}", stream.sealing, (stream.resource,))
    for table in inventory.tables:
        if table.state.sealing is not None:
            derived = inventory.derived[table.state.resource]
            resources = [table.state.resource, *(each.resource for each in derived)]
            sealers.attach(table.state.table_id, table.state.sealing, resources)
    return SealedStore(store, sealers)
