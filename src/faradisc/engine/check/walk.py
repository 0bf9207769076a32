"""Check: one walk over one state of the store, in steps of a page of rows.

    inventory -> per table: items, then what follows from them -> streams -> captured changes
              -> tokens, jobs -> parts that belong to nothing

The snapshot is taken by the first step and given back by the last one, or by `close`. Damage that the
engine reports while it reads is a fault like any other, and ends the look at that table or log only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from faradisc.clock import Clock
from faradisc.engine.backups.storage import BackupStorage
from faradisc.engine.check.backup_files import verify_backups
from faradisc.engine.check.derived import Sums, derived_of, verify
from faradisc.engine.check.faults import LOST, Fault, Mend, Report
from faradisc.engine.check.inventory import Inventory, name_of, stream_name, take_inventory
from faradisc.engine.check.logs import verify_captured, verify_stream
from faradisc.engine.check.past import verify_history
from faradisc.engine.check.rows import walk_items
from faradisc.engine.check.system import verify_jobs, verify_tokens
from faradisc.engine.tables.table import TableLayout
from faradisc.storage.api import Corruption, IOFailed, ReadOnlyStore, Store


class Check:
    """Call `step` until it says False, then look at `report`."""

    def __init__(self, store: Store, clock: Clock, storage: BackupStorage | None = None) -> None:
        """storage: where the files of backups are; without one they are not checked."""
        self.report = Report()
        self._store = store
        self._storage = storage
        self._clock = clock
        self._snapshot: ReadOnlyStore | None = None
        self._steps = self._walk()
        self._has_ended = False

    async def step(self) -> bool:
        """Look at one more page of rows; False when all is done.

        Raises: StorageError when the catalog itself cannot be read.
        """
        if self._has_ended:
            return False
        try:
            await anext(self._steps)
        except StopAsyncIteration:
            await self.close()
            return False
        except BaseException:
            await self.close()
            raise
        return True

    async def finish(self) -> Report:
        """All steps, one after the other."""
        while await self.step():
            pass
        return self.report

    async def close(self) -> None:
        """Give the snapshot back; what was found so far stays in the report."""
        self._has_ended = True
        await self._steps.aclose()
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            await snapshot.close()

    async def _walk(self) -> AsyncGenerator[None]:
        store = self._snapshot = await self._store.snapshot()
        report = self.report
        inventory = await take_inventory(store, report)
        yield
        for table in inventory.tables:
            async for _ in self._looked_at(name_of(table), self._table(store, table, inventory)):
                yield
            for destination in table.state.kinesis:
                if destination.resource is not None:
                    captured = verify_captured(store, table, destination.resource, inventory, report)
                    async for _ in self._looked_at(name_of(table), captured):
                        yield
        for stream in inventory.streams.values():
            verified = verify_stream(store, stream, inventory, report)
            async for _ in self._looked_at(stream_name(stream), verified):
                yield
        for verified in (verify_tokens(store, report), verify_jobs(store, inventory, report)):
            async for _ in self._looked_at("system rows", verified):
                yield
        if self._storage is not None:
            async for _ in self._looked_at("backups", verify_backups(store, self._storage, report)):
                yield
        await self._look_for_orphans(inventory)

    async def _looked_at(self, where: str, steps: AsyncIterator[None]) -> AsyncIterator[None]:
        """The steps of one part of the walk; damage that the engine finds ends them."""
        try:
            async for _ in steps:
                yield
        except (Corruption, IOFailed) as error:
            self.report.add(Fault(where, "what is stored cannot be read to its end", LOST, str(error)))

    async def _table(
        self, store: ReadOnlyStore, table: TableLayout, inventory: Inventory
    ) -> AsyncIterator[None]:
        report = self.report
        where = name_of(table)
        if table.state.status == "DELETING":
            return
        if table.state.owner_job is not None:
            report.notes.append(f"{where} is being filled ({table.state.owner_job}); it was not looked at")
            return
        derived = derived_of(table, self._clock.now_ns())
        sums = Sums()
        async for _ in walk_items(store, table, derived, sums, report=report):
            yield
        for each in derived:
            async for _ in self._looked_at(each.where, verify(store, each, sums, report)):
                yield
        if table.state.pitr is not None:
            async for _ in verify_history(store, table, inventory, report):
                yield

    async def _look_for_orphans(self, inventory: Inventory) -> None:
        """A part whose owner has just gone may still wait to be cleared, so what seems an orphan has to be
        one a second time, in the state of now."""
        report = self.report
        if not inventory.complete:
            report.notes.append("some rows of the catalog cannot be read, so orphans were not looked for")
            return
        orphans = inventory.orphans()
        if not orphans:
            return
        later = await self._store.snapshot()
        try:
            now = await take_inventory(later, Report())
        finally:
            await later.close()
        for part in sorted(set(orphans) & set(now.orphans())):
            report.add(
                Fault(
                    "orphans",
                    "a part belongs to no table, index or stream",
                    "removes it",
                    f"resource {int.from_bytes(part[:4], 'big')}, slot {part[4]}",
                    Mend("orphan", part=part),
                )
            )
