"""What an administrator can see and do: throughput from inside, time, background work.

The admin API (server/admin.py), the console and the in-process client call it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from faradisc.capacity.inspect import observe_heat
from faradisc.clock import LAST_NS, Clock, MovableClock
from faradisc.engine.cluster.nodes import described_nodes
from faradisc.engine.derived.filling import items_seen
from faradisc.engine.derived.indexes import IndexEntries
from faradisc.engine.replication.peers import PeerUnusable
from faradisc.engine.tables.table import Table
from faradisc.engine.ttl.sweep import Sweeper
from faradisc.errors import ApiError
from faradisc.metrics.heat_history import HeatHistory
from faradisc.operations.backend import Backend
from faradisc.services.administration import throughput
from faradisc.services.administration.throughput import AdminError, NoSuchTable

WORK_STEPS_MAX = 100_000
"""Most steps of background work before a request to move the clock is answered."""


class Administration:
    def __init__(self, backend: Backend, sweeper: Sweeper, work: Callable[[], Awaitable[bool]]) -> None:
        self._backend = backend
        self._sweeper = sweeper
        self._work = work

    def _table(self, name: str, region: str, account: str) -> Table:
        """Raises NoSuchTable."""
        try:
            return self._backend.catalog.tables.for_control(name, region, account)
        except ApiError as missing:
            raise NoSuchTable(f"There is no table {name}.") from missing

    # --- Throughput ---

    def tables(self, region: str, account: str) -> list[dict[str, Any]]:
        """Returns all tables, each with a summary of its throughput."""
        shown = []
        for name in self._backend.catalog.tables.names(region, account):
            table = self._table(name, region, account)
            shown.append(
                {
                    "table": name,
                    "status": table.state.status,
                    "mode": table.state.billing_mode,
                    "enforced": table.meter.enforced,
                    "partitions": table.meter.partitions(None),
                    "indexes": {
                        index.name: table.meter.partitions(index.name) for index in table.global_indexes
                    },
                }
            )
        return shown

    async def capacity(self, name: str, region: str, account: str) -> dict[str, Any]:
        """Returns the throughput of a table from inside. Raises AdminError."""
        return await throughput.describe(self._backend.store, self._table(name, region, account))

    async def change_capacity(
        self, name: str, region: str, account: str, wanted: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Changes a table's throughput (throughput.py says how); returns what `capacity` then returns.

        Raises AdminError.
        """
        await throughput.change(self._backend.catalog.throughput, self._table(name, region, account), wanted)
        return await self.capacity(name, region, account)

    def events(self) -> list[dict[str, Any]]:
        """Returns splits, rejected splits and growth of all tables, the latest last."""
        return list(self._backend.catalog.throughput.recent)

    def watch(self, history: HeatHistory) -> None:
        """Takes a sample of the hottest partitions."""
        observe_heat(history, self._backend.clock.now_ns(), self._backend.catalog.throughput.resources())

    # --- Time ---

    def clock(self) -> dict[str, Any]:
        clock = self._backend.clock
        return {"now_ns": clock.now_ns(), "movable": isinstance(clock, MovableClock)}

    async def advance(self, seconds: Any) -> dict[str, Any]:
        """Moves a virtual clock forward and runs the background work that is due. Raises AdminError."""
        clock: Clock = self._backend.clock
        if not isinstance(clock, MovableClock):
            raise AdminError("This clock is the machine's and cannot be moved; serve with --virtual-clock.")
        if not _is_number(seconds) or not 0 <= seconds < 1e10:
            raise AdminError("advance_s is a number of seconds, 0 or more.")
        if clock.now_ns() + seconds * 1e9 > LAST_NS:
            raise AdminError("The clock goes to the year 2200 and no farther.")
        # Handles what was written until now. The next step then meets the new time and lets it pass in
        # pieces.
        await self._backend.catalog.throughput.step()
        clock.advance(seconds)
        for _ in range(WORK_STEPS_MAX):
            if not await self._work():
                break
        return self.clock()

    # --- Nodes ---

    async def nodes(self) -> list[dict[str, Any]]:
        """Returns the nodes of a shared store, oldest first; none of an embedded one."""
        store = self._backend.store
        return await described_nodes(store, self._backend.clock) if store.shared else []

    # --- Replication ---

    async def replication(self) -> list[dict[str, Any]]:
        """Returns every link between two replicas of a global table."""
        return await self._backend.replicas.status(self._backend.clock.now_ns())

    async def change_links(self, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Cuts or heals the way between two regions: {"cut": [ONE, OTHER]}; returns all links.

        Raises AdminError.
        """
        links = self._backend.replicas.links
        changes = {"cut": links.cut, "heal": links.heal}
        for name, regions in wanted.items():
            if name not in changes:
                raise AdminError(f"There is no setting {name!r} to change; cut or heal a link.")
            if not isinstance(regions, list) or [type(each) for each in regions] != [str, str]:
                raise AdminError(f'{name} takes two regions, such as ["us-east-1", "eu-west-1"].')
            await changes[name](*regions)
        return await self.replication()

    def peers(self) -> list[dict[str, Any]]:
        """Returns the servers of other regions, and what is wrong with each."""
        return [peer.document() for peer in self._backend.replicas.peers.by_region.values()]

    async def answer_peer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answers a question of such a server (engine/replication/peers.py). Raises AdminError."""
        try:
            return await self._backend.replicas.answers.answer(question)
        except PeerUnusable as error:
            raise AdminError(str(error)) from error

    # --- Late reads ---

    def late_reads(self) -> dict[str, Any]:
        """Returns how late reads may be: of all tables, and of single ones."""
        late = self._backend.catalog.tables.late
        return {"ms": late.lag_ms, "tables": late.by_table, "seed": late.seed}

    def change_late_reads(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Changes what `late_reads` returns, and returns it: {"ms": 200, "tables": {"Orders": 500}}, `seed`,
        or some of these. `tables` replaces those before, and a seed begins its sequences. Raises AdminError.
        """
        changed = {**self.late_reads(), "seed": None, **wanted}
        if unknown := wanted.keys() - {"ms", "tables", "seed"}:
            raise AdminError(
                f"There is no setting {min(unknown)!r} to change; there are ms, tables and seed."
            )
        lag_ms, tables, seed = changed["ms"], changed["tables"], changed["seed"]
        if not isinstance(tables, dict) or not all(map(_is_number, (lag_ms, *tables.values()))):
            raise AdminError('ms is a number of milliseconds, and tables of some, such as {"Orders": 500}.')
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise AdminError("seed is a whole number.")
        try:
            self._backend.catalog.tables.set_late_reads(lag_ms, tables, seed)
        except ValueError as mistake:
            raise AdminError(f"Late reads cannot be set so: {mistake}.") from mistake
        return self.late_reads()

    # --- Faults ---

    def faults(self) -> dict[str, Any]:
        """Returns the faults, how often each was applied, and which writes were repeated unsafely."""
        present = self._backend.faults
        return {"seed": 0, "faults": [], "repeats": []} if present is None else present.to_json()

    def change_faults(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Replaces the faults by those of a document (operations/faults.py); none ends them. Returns what
        `faults` then returns. Raises AdminError."""
        from faradisc.operations.faults import read_faults  # noqa: PLC0415 - seldom needed

        try:
            faults = read_faults(wanted)
        except ValueError as mistake:
            raise AdminError(f"These faults cannot be used: {mistake}.") from mistake
        self._backend.set_faults(faults if faults.rules else None)
        return self.faults()

    # --- Background work ---

    async def expire_now(self) -> dict[str, Any]:
        """Deletes every expired item now."""
        return {"expired": await self._sweeper.expire_now()}

    async def jobs(self, region: str, account: str) -> dict[str, Any]:
        """Returns the indexes that are being filled, with their progress."""
        catalog, store = self._backend.catalog, self._backend.store
        filling = []
        for name in catalog.tables.names(region, account):
            table = self._table(name, region, account)
            for each in table.derived:
                if not isinstance(each, IndexEntries) or each.is_filled:
                    continue
                total = 0
                for part in table.placement.parts:
                    total += (await store.usage(part))[0]
                seen = await items_seen(store, each) or 0
                filling.append({"table": name, "index": each.index.name, "items_seen": seen, "items": total})
        return {"index_backfill": filling}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
