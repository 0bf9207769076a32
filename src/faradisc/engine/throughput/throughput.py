"""The throughput of all tables: creates their resources and brings them to the tables' settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from faradisc.capacity.events import Event
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.topology import needed_partitions, on_demand_partitions
from faradisc.clock import Clock, Entropy
from faradisc.engine.throughput.background import Background
from faradisc.engine.throughput.meter import InsightsSetting, Provision, TableMeter
from faradisc.engine.throughput.registry_clock import RegistryClock
from faradisc.engine.throughput.settings import ThroughputSettings, parse_config
from faradisc.engine.throughput.stored_state import StoredState
from faradisc.engine.throughput.table_usage import RequestTime
from faradisc.engine.throughput.trace_recorder import TraceRecorder
from faradisc.metrics.contributor_insights import Insights
from faradisc.storage.api import Store


class EntropyChance:
    """Integers in a range, from the database's source of random bytes."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def randint(self, low: int, high: int) -> int:
        return low + int.from_bytes(self._entropy.token_bytes(8), "big") % (high - low + 1)


class Throughput:
    """The throughput of every table, by namespace of the catalog."""

    def __init__(
        self, store: Store, clock: Clock, entropy: Entropy, settings: ThroughputSettings | None = None
    ) -> None:
        self._clock = clock
        self._chance = EntropyChance(entropy)
        self.settings = settings or ThroughputSettings()
        self.request_time = RequestTime()
        self._clocks: dict[str, RegistryClock] = {}
        self._tables: dict[str, TableMeter] = {}
        self._stored = StoredState(store)
        self.background = Background(store, clock, self._stored, self._tables, self._clocks)
        self._recorder: TraceRecorder | None = None
        self.load = self._stored.load
        self.step = self.background.step
        self.recent = self.background.recent

    def delete_unattached(self) -> None:
        """Deletes stored state whose table does not exist. Must be called after every table was attached."""
        self._stored.deleted += self._stored.rows
        self._stored.rows.clear()

    # --- Registries ---

    def _clock_of(self, namespace: str) -> RegistryClock:
        found = self._clocks.get(namespace)
        if found is None:
            registry = ResourceRegistry(self.settings.default, self._clock.now_ns(), chance=self._chance)
            found = self._clocks[namespace] = RegistryClock(registry, self._clock, self.request_time)
        return found

    def registry(self, namespace: str) -> ResourceRegistry:
        """Returns the registry of the tables in a namespace of the catalog."""
        return self._clock_of(namespace).registry

    def registries(self) -> list[tuple[str, ResourceRegistry]]:
        return [(namespace, clock.registry) for namespace, clock in self._clocks.items()]

    # --- Tables ---

    async def follow(self) -> None:
        """Takes over what other nodes have stored."""
        for table_id, row in await self._stored.changed():
            meter = self._tables.get(table_id)
            if meter is None:  # the table is not attached yet
                self._stored.rows[table_id] = orjson.loads(row)
            else:
                self._take_over(meter, orjson.loads(row))
                meter.saved = row

    def _take_over(self, meter: TableMeter, stored: Mapping[str, Any]) -> None:
        if stored["override"] != meter.override:
            self._override(meter, stored["override"])
            self._replace_resources(meter, stored["resources"])
        for index in meter.provisions:
            resource, found = meter.resource_of(index), stored["resources"].get(index or "")
            if found is not None and found != resource.to_json():
                resource.take_over(found, meter.now())
                meter.changed(resource)
        self._restore_insights(meter, stored)

    def attach(
        self,
        table_id: str,
        namespace: str,
        name: str,
        provisions: Mapping[str | None, Provision],
        *,
        since: int | None = None,
    ) -> TableMeter:
        """Returns the meter of a table, brought to the table's settings.

        since: when the table got these settings; None: now.
        """
        meter = self._tables.get(table_id)
        if meter is None:
            meter = self._new(table_id, namespace, name)
        if provisions != meter.provisions:
            self._provide(meter, provisions, since)
        return meter

    def _new(self, table_id: str, namespace: str, name: str) -> TableMeter:
        meter = TableMeter(table_id, name, self._clock_of(namespace), self.settings.of(name))
        self._tables[table_id] = meter
        override = self._stored.rows.get(table_id, {}).get("override")
        if override is not None:
            self._override(meter, override)
        meter.reconcile_later = partial(self.background.to_reconcile.setdefault, table_id)
        if meter.enforced:
            meter.reconcile_later()
        return meter

    def _override(self, meter: TableMeter, profile: str | None) -> None:
        meter.override = profile
        meter.config = self.settings.of(meter.name) if profile is None else parse_config(profile)
        meter.enforced = meter.config.enforce

    def _provide(
        self, meter: TableMeter, provisions: Mapping[str | None, Provision], since: int | None
    ) -> None:
        now = meter.now() if since is None else min(meter.now(), since)
        stored = self._stored.rows.pop(meter.table_id, {})
        resources: Mapping[str, Any] = stored.get("resources", {})
        for index, provision in provisions.items():
            before = meter.provisions.get(index)
            if before is None:
                self._add(meter, index, provision, resources.get(index or ""), now)
            elif before != provision:
                resource = meter.resource_of(index)
                meter.changed(resource, _change(resource, before, provision, now))
        for index in [index for index in meter.indexes if index not in provisions]:
            meter.registry.remove(meter.name, index)
            self.background.measurements.forget(meter, index)
            meter.removed[index] = meter.indexes.pop(index)
            meter.insights.pop(index, None)
            meter.insights_settings.pop(index, None)
        meter.refresh_flags()
        meter.provisions = dict(provisions)
        if self._recorder is not None:
            self._describe_to_recorder(meter)
        self._restore_insights(meter, stored)

    def _restore_insights(self, meter: TableMeter, stored: Mapping[str, Any]) -> None:
        found = {index or None: each for index, each in stored.get("insights", {}).items()}
        for index in meter.insights.keys() | found.keys():
            present = meter.insights.get(index)
            if found.get(index) != (present and present.to_json()):
                self._watch(meter, index, Insights.from_json(found[index]) if index in found else None)
        for index_name, setting in stored.get("insights_settings", {}).items():
            meter.insights_settings[index_name or None] = InsightsSetting(**setting)

    def _add(
        self,
        meter: TableMeter,
        index: str | None,
        provision: Provision,
        stored: Mapping[str, Any] | None,
        now: int,
    ) -> None:
        resource = meter.registry.add(
            meter.name,
            index,
            provision.arn,
            now,
            config=meter.config,
            stored=stored,
            **_settings(provision),
        )
        resource.leads = self.background.leads
        if stored is None and provision.warm is not None:
            resource.reach_warm(*provision.warm, now)
        meter.adopt(index, resource)

    def detach(self, table_id: str) -> None:
        """Removes a deleted table. Its metrics stay."""
        meter = self._tables.pop(table_id, None)
        self._stored.rows.pop(table_id, None)
        if meter is not None:
            self.background.measurements.forget(meter, *meter.provisions)
            if meter.registry.resources.get((meter.name, None)) is meter.resource:
                meter.registry.remove(meter.name)
            self._stored.deleted.append(table_id)

    def drop_all(self) -> None:
        """Removes every table, metric and event, as in a new database."""
        self._stored.deleted += self._tables
        for meter in self.tables():
            self.background.measurements.forget(meter, *meter.provisions)
        self._tables.clear()
        self._clocks.clear()
        self.recent.clear()

    def partition_bounds(self, table_id: str, name: str, provision: Provision) -> list[bytes]:
        """Returns where the partitions of a table begin, or will begin when it is attached with these
        settings."""
        meter = self._tables.get(table_id)
        if meter is not None:
            return meter.partition_bounds()
        new = Resource(
            provision.arn, "Table", self.settings.of(name), self._clock.now_ns(), **_settings(provision)
        )
        return new.reads.lows

    def tables(self) -> list[TableMeter]:
        return list(self._tables.values())

    def resources(self) -> Iterator[Resource]:
        """Yields the resources of all tables and their global indexes."""
        for meter in self.tables():
            yield meter.resource
            yield from meter.indexes.values()

    # --- Changes ---

    def ready_for(self, meter: TableMeter, raised: Mapping[str | None, tuple[int, int]]) -> int:
        """Returns when the partitions for these provisioned units of a table (None) and its global indexes
        are ready if they are prepared now; the present if nothing has to be split."""
        now = meter.now()
        return max(
            [now, *(meter.resource_of(index).ready_for(*units, now) for index, units in raised.items())]
        )

    def prepare(self, meter: TableMeter, raised: Mapping[str | None, tuple[int, int]], since: int) -> None:
        """Begins the splits that these units need, as of the time of the request."""
        for index, units in raised.items():
            resource = meter.resource_of(index)
            meter.changed(resource, resource.prepare(*units, since))

    async def raise_warm(
        self, meter: TableMeter, index: str | None, units: tuple[int, int], takes_ns: int
    ) -> None:
        """Begins to raise the warm throughput of a table (None) or global index. The raise ends `takes_ns`
        after its partitions are ready."""
        resource = meter.resource_of(index)
        meter.changed(resource, resource.raise_warm(*units, meter.now(), takes_ns))
        await self.save(meter)

    async def configure(self, meter: TableMeter, profile: str | None) -> None:
        """Gives one table a profile of its own ("aws:30/10"); None: that of the server again. Raises
        ValueError.

        Its partitions, peaks and warm throughput stay; its buckets start full.
        """
        self._override(meter, profile)
        self._replace_resources(
            meter, {index or "": meter.resource_of(index).to_json() for index in meter.provisions}
        )
        if meter.enforced:
            await self.background.reconcile(meter)
        await self.save(meter)

    def _replace_resources(self, meter: TableMeter, stored: Mapping[str, Any]) -> None:
        """Makes new resources of the table's profile. stored: by index, "" for the table."""
        self.background.measurements.forget(meter, *meter.provisions)
        now = meter.now()
        for index, provision in meter.provisions.items():
            before = meter.resource_of(index)
            self._add(meter, index, replace(provision, warm=None), stored.get(index or ""), now)
            meter.resource_of(index).take_over_counts(before)

    async def finish_load(self, meter: TableMeter) -> None:
        """Must be called after a restore or import: counts what the partitions hold, and splits them into as
        many as the table's units and size need (V70a)."""
        await self.background.reconcile(meter)
        now = meter.now()
        for index, provision in meter.provisions.items():
            resource = meter.resource_of(index)
            size_bytes = sum(part.bytes for part in resource.partitions.partitions)
            by_units = (0, 0) if provision.on_demand else (provision.read_units, provision.write_units)
            wanted = needed_partitions(*by_units, size_bytes, resource.config)
            if wanted > len(resource.partitions):
                resource.set_partitions(wanted, now)
                meter.changed(resource)
        self._describe_to_recorder(meter)
        await self.save(meter)

    # --- Recording and Contributor Insights ---

    async def record(self, recorder: TraceRecorder | None) -> None:
        """Records every charge from now on; None: stops recording."""
        self._recorder = recorder
        for meter in self.tables():
            if recorder is not None:
                await self.background.reconcile(meter)
            self._describe_to_recorder(meter)

    def _describe_to_recorder(self, meter: TableMeter) -> None:
        meter.recorder = self._recorder
        meter.refresh_flags()
        if self._recorder is None:
            return
        own = meter.provisions[None]
        held = meter.resource.partitions.partitions
        self._recorder.describe(
            meter.name,
            read_units=own.read_units,
            write_units=own.write_units,
            on_demand=own.on_demand,
            sort_key=own.composite,
            items=sum(part.items for part in held),
            size_bytes=sum(part.bytes for part in held),
            partitions=len(held),
            profile=meter.config.profile if meter.enforced else None,
            partition_caps=meter.config.partition_caps,
            indexes={
                index: (provision.read_units, provision.write_units)
                for index, provision in meter.provisions.items()
                if index is not None
            },
        )

    async def watch(
        self, meter: TableMeter, index: str | None, setting: InsightsSetting, insights: Insights | None
    ) -> None:
        """Enables or (None) disables Contributor Insights of a table (None) or global index."""
        meter.insights_settings[index] = setting
        self._watch(meter, index, insights)
        await self.save(meter)

    def _watch(self, meter: TableMeter, index: str | None, insights: Insights | None) -> None:
        if insights is None:
            meter.insights.pop(index, None)
            meter.registry.insights.pop((meter.name, index), None)
        else:
            meter.insights[index] = meter.registry.insights[(meter.name, index)] = insights
        meter.refresh_flags()

    # --- Storage ---

    async def save(self, meter: TableMeter) -> None:
        """Makes what must survive a restart durable, unless the table was deleted."""
        if self._tables.get(meter.table_id) is meter:
            await self._stored.save(meter)

    async def save_all(self) -> None:
        """Stores all changes."""
        for meter in self.tables() if self.background.leads else ():
            await self.save(meter)
        await self._stored.delete()


def _settings(provision: Provision) -> dict[str, Any]:
    """Returns the arguments of a new Resource."""
    return {
        "read_units": provision.read_units,
        "write_units": provision.write_units,
        "on_demand": provision.on_demand,
        "max_read": provision.max_read,
        "max_write": provision.max_write,
        "composite": provision.composite,
        "local_indexes": bool(provision.local_parts),
        "is_filled": provision.is_filled,
        "partitions": None if provision.warm is None else on_demand_partitions(*provision.warm),
    }


def _change(resource: Resource, before: Provision, after: Provision, now: int) -> list[Event]:
    """Changes the settings of a resource. Returns what happened."""
    events: list[Event] = []
    if after.on_demand and not before.on_demand:
        events += resource.set_on_demand(now)
    elif not after.on_demand and (
        before.on_demand or (before.read_units, before.write_units) != (after.read_units, after.write_units)
    ):
        events += resource.set_provisioned(after.read_units, after.write_units, now)
    if (before.max_read, before.max_write) != (after.max_read, after.max_write) and after.on_demand:
        resource.set_maximum(after.max_read, after.max_write, now)
    if before.is_filled != after.is_filled:
        resource.set_filled(after.is_filled)
    return events
