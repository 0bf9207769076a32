"""Check: reads one state of the store, in steps of a page of rows.

    inventory -> per table: items, then what is derived from them -> streams
              -> tokens, jobs -> backups -> parts without an owner

The first step takes the snapshot; the last one, or `close`, releases it. Damage that the engine reports is a
problem like any other, and ends the check of that table or log only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

from faradisc.clock import Clock
from faradisc.engine.backups.storage import BackupStorage
from faradisc.engine.check.backup_files import verify_backups
from faradisc.engine.check.inventory import Inventory, stream_name, take_inventory
from faradisc.engine.check.logs import verify_stream
from faradisc.engine.check.rows import walk_items
from faradisc.engine.check.system import verify_jobs, verify_tokens
from faradisc.engine.inspection.problems import LOST, RepairAction, Report
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.layout import TableLayout
from faradisc.storage.api import Corruption, IOFailed, ReadOnlyStore, Store


class Check:
    """Call `step` until it returns False, then read `report`."""

    def __init__(self, store: Store, clock: Clock, storage: BackupStorage | None = None) -> None:
        """storage: the files of backups; None does not check them."""
        self.report = Report()
        self._store = store
        self._storage = storage
        self._clock = clock
        self._snapshot: ReadOnlyStore | None = None
        self._steps = self._walk()
        self._has_ended = False

    async def step(self) -> bool:
        """Checks one more page of rows. Returns False at the end.

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

    async def finish(self, watch: Callable[[], None] = lambda: None) -> Report:
        """Runs all steps. Returns the report. watch: called after each step."""
        while await self.step():
            watch()
        return self.report

    async def close(self) -> None:
        """Releases the snapshot. The report so far can still be read."""
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
        for where, steps in self._sections(store, inventory):
            async for _ in self._guarded(where, steps):
                yield
        await self._look_for_orphans(inventory)

    def _sections(
        self, store: ReadOnlyStore, inventory: Inventory
    ) -> Iterator[tuple[str, AsyncIterator[None]]]:
        """Yields the parts of the check that can fail alone, each with its location."""
        report = self.report
        for table in inventory.tables:
            yield table.title, self._table(store, table, inventory)
        for stream in inventory.streams.values():
            yield stream_name(stream), verify_stream(store, stream, inventory, report)
        yield "system rows", verify_tokens(store, inventory.parts, report)
        yield "system rows", verify_jobs(store, inventory, report)
        if self._storage is not None:
            yield "backups", verify_backups(store, self._storage, report)

    async def _guarded(self, where: str, steps: AsyncIterator[None]) -> AsyncIterator[None]:
        """Yields the steps of one part of the check; damage that the engine finds ends them."""
        try:
            async for _ in steps:
                yield
        except KeyDenied as error:
            self.report.notes.append(f"{where} is encrypted and was not checked: {error}")
        except (Corruption, IOFailed) as error:
            self.report.add(where, "the data cannot be read to its end", LOST, str(error))

    async def _table(
        self, store: ReadOnlyStore, table: TableLayout, inventory: Inventory
    ) -> AsyncIterator[None]:
        report = self.report
        if table.state.status == "DELETING":
            return
        if table.state.owner_job is not None:
            note = f"{table.title} is being filled ({table.state.owner_job}); it was not checked"
            report.notes.append(note)
            return
        look = inventory.look(store, self._clock.now_ns(), report)
        derived = inventory.derived_of(table)
        verifications = [each.verification(look) for each in derived]
        async for _ in walk_items(look, table, verifications):
            yield
        for each, verification in zip(derived, verifications, strict=True):
            async for _ in self._guarded(each.where, verification.rest()):
                yield

    async def _look_for_orphans(self, inventory: Inventory) -> None:
        """Reports parts without an owner.

        A part whose owner was just deleted may not be cleared yet, so only what is also an orphan in a
        second, current snapshot is reported.
        """
        report = self.report
        if not inventory.complete:
            report.notes.append(
                "some rows of the catalog cannot be read, so parts without an owner were not searched"
            )
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
                "orphans",
                "a part belongs to no table, index or stream",
                "removes it",
                f"resource {int.from_bytes(part[:4], 'big')}, slot {part[4]}",
                RepairAction("orphan", part=part),
            )
