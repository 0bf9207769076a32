"""Fills what is new and derived from the items of a table that has items, while it is read and written.

From the commit that has added it on, every write maintains it; a step adds what follows from one page of the
items that are there (engine/jobs/walk.py), and the last one notes that it is filled, and deletes the cursor,
in one commit.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial

from faradisc.clock import Clock
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.jobs.walk import Walk, WalkPosition
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.commit import commit_batches
from faradisc.engine.tables.derived import CommitBatches, Derived
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException
from faradisc.model.codec.keyspace import JOBS_PART, job_key
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.backfill")

LOG_EVERY_ROWS = 100_000
FILLING_JOBS = {"index backfill": b"backfill", "expiry backfill": b"ttl", "feature backfill": b"feature"}
"""The names of the jobs, and those of their cursors."""


class Filling:
    """One kind of job: what it fills in a database."""

    def __init__(self, store: Store, catalog: Catalog, clock: Clock, job: bytes) -> None:
        self._store = store
        self._catalog = catalog
        self._job = job
        self.attempts = Attempts(clock)

    async def step(self) -> bool:
        """Does one step for something that is filled by this kind of job; returns False if there is none."""
        return await self.attempts.step(
            Work(f"{derived.words} of {table.arn}", partial(self._fill, table, derived))
            for table, derived in self._catalog.tables.filling(self._job)
        )

    async def _fill(self, table: Table, derived: Derived) -> None:
        walk = await Walk.load(self._store, derived.job, derived.resource, table.placement.parts)
        if walk.is_complete:
            if await self._finish(table, derived, walk):
                seen = walk.position.seen
                log.info("%s of table %s is filled: %d items seen", derived.words, table.name, seen)
            return
        page = await walk.page(epoch=table.epoch)
        present = table.newest
        if present.state.status not in derived.filled_while or derived not in present.derived:
            return  # the table was changed meanwhile; the next step goes on with what it is now
        batches = CommitBatches(*page.batches.values())
        await derived.fill(self._store, page, batches)
        if not await commit_batches(self._store, batches):
            return  # an item has changed meanwhile; the next step takes the same page
        if page.moved.seen // LOG_EVERY_ROWS > walk.position.seen // LOG_EVERY_ROWS:
            log.info("%s of table %s: %d items seen", derived.words, table.name, page.moved.seen)
        await derived.page_filled(self._store, walk.position, page.moved)

    async def _finish(self, table: Table, derived: Derived, walk: Walk) -> bool:
        """Notes that it is filled; returns False if it does not exist any more."""
        found = False

        def filled(state: TableState) -> bool:
            nonlocal found
            found = derived.filled(state)
            return False

        with suppress(ResourceNotFoundException):
            await self._catalog.update(table, filled, while_in_use=True, also=walk.end)
        return found


async def items_seen(store: Store, derived: Derived) -> int | None:
    """Returns the number of items seen while it is being filled; None when it is not."""
    (row,) = await store.get(JOBS_PART, (job_key(derived.job, derived.resource),))
    return WalkPosition.of(row[1]).seen if row is not None else None
