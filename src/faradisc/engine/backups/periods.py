"""Point-in-time recovery: on and off, how far it reaches back, and forgetting what lies before that.

The history itself is written with the items (engine/tables/history.py) and read page by page
(engine/backups/history.py). Here is its period: what clients are told of it, which moments can be restored,
and a job that clears the days behind it. What is cleared is a whole day of a slot; a day that a restore or
an export still reads stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.history import History
from faradisc.engine.tables.state import DAY_NS, DroppedHistory, PitrState, TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import InvalidRestoreTimeException, PointInTimeRecoveryUnavailableException
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.engine.backups")

_SECOND_NS = 1_000_000_000
_SECONDS_MAX = 2**40
"""Later than any clock; a larger number would overflow."""
_MILLISECOND_NS = 1_000_000
Needs = Callable[[Table], int | None]
"""The oldest moment of a table that somebody is reading, in nanoseconds; None: nobody is."""


class Periods:
    def __init__(self, store: Store, catalog: Catalog, readers: Sequence[Needs], *, lag_s: float) -> None:
        """readers: who may be reading a table's past. lag_s: how far the latest moment that can be restored
        is behind the clock."""
        self._store = store
        self._catalog = catalog
        self._readers = readers
        self._lag_ns = int(lag_s * _SECOND_NS)

    async def load(self) -> None:
        """Put the next change behind all that are there, even if the clock stood still meanwhile."""
        now_ns = self._catalog.moments.now_ns()
        today = now_ns // DAY_NS
        changes = 0
        for _, history in self._catalog.background_index.recoverable():
            for slot in range(history.slots):
                changes += (await self._store.usage(history.part(slot, today)))[0]
        self._catalog.moments.seal(now_ns + changes)

    # --- On and off ---

    async def enable(self, table: Table, period_days: int) -> Table:
        """Switch point-in-time recovery on, or change its period."""

        def change(state: TableState) -> bool:
            if state.pitr is None:
                # Asked here: what was written while this waited for another change has left no history.
                now_ns = self._catalog.moments.now_ns()
                state.pitr = PitrState(now_ns, period_days, now_ns // DAY_NS)
            state.pitr.period_days = period_days
            return False

        return await self._catalog.update(table, change, while_in_use=True)

    async def disable(self, table: Table, check: Callable[[], None]) -> Table:
        """Switch it off, and forget the history.

        check: raises to refuse; asked when it is this change's turn, so a restore that is begun while it
        waits keeps the history.
        """
        # A change that is on its way may be the first of the next day.
        end_day = self._catalog.moments.now_ns() // DAY_NS + 2

        def change(state: TableState) -> bool:
            check()
            if state.pitr is not None:
                state.dropped_history = DroppedHistory(state.pitr.resource, state.pitr.first_day, end_day)
            state.pitr = None
            return False

        return await self._catalog.update(table, change, while_in_use=True)

    # --- What can be restored ---

    def description(self, table: Table) -> dict[str, Any]:
        """ContinuousBackupsDescription."""
        history = table.history
        described: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
        if history is not None:
            described = {
                "PointInTimeRecoveryStatus": "ENABLED",
                "RecoveryPeriodInDays": history.period_days,
                "EarliestRestorableDateTime": epoch_seconds(self._earliest_ns(history)),
                "LatestRestorableDateTime": epoch_seconds(self._latest_ns(history)),
            }
        return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": described}

    def latest(self, table: Table) -> int:
        """The latest moment that can be restored. Raises PointInTimeRecoveryUnavailableException."""
        return self._latest_ns(self._history(table))

    def checked(self, table: Table, seconds: float) -> int:
        """The moment that a client means by a number of seconds since the epoch: the end of a millisecond.

        Raises: PointInTimeRecoveryUnavailableException, InvalidRestoreTimeException.
        """
        history = self._history(table)
        at_ns = round(min(max(seconds, 0), _SECONDS_MAX) * 1000) * _MILLISECOND_NS
        if not self._earliest_ns(history) <= at_ns <= self._latest_ns(history):
            raise InvalidRestoreTimeException(
                "An invalid restore time was specified. RestoreDateTime must be between "
                "EarliestRestorableDateTime and LatestRestorableDateTime."
            )
        earliest_ns = history.earliest_ns(self._catalog.moments.now_ns())
        return max(at_ns + _MILLISECOND_NS - 1, earliest_ns)

    def _history(self, table: Table) -> History:
        if table.history is None:
            raise PointInTimeRecoveryUnavailableException(
                f"Point in time recovery is not enabled for table '{table.name}'"
            )
        return table.history

    def _earliest_ns(self, history: History) -> int:
        """Shown in whole seconds, since that is all that clients send back; the part of the second before
        the recovery was switched on counts as the moment when it was."""
        earliest_ns = history.earliest_ns(self._catalog.moments.now_ns())
        return earliest_ns - earliest_ns % _SECOND_NS

    def _latest_ns(self, history: History) -> int:
        return max(history.enabled_ns, self._catalog.moments.now_ns() - self._lag_ns)

    # --- Forgetting ---

    async def usage(self, history: History) -> tuple[int, int]:
        """(changes, bytes) that the history of a table has."""
        used = [await self._store.usage(part) for part in history.parts()]
        return sum(changes for changes, _ in used), sum(size for _, size in used)

    async def step(self) -> bool:
        """Clear one day of one table's history that lies before its period. False when there is none."""
        for table, history in self._catalog.background_index.recoverable():
            keep_ns = history.earliest_ns(self._catalog.moments.now_ns())
            needed = [oldest_needed_ns(table) for oldest_needed_ns in self._readers]
            keep_day = min([keep_ns, *(at_ns for at_ns in needed if at_ns is not None)]) // DAY_NS
            if history.first_day < keep_day:
                await self._clear_day(table, history)
                return True
        return False

    async def _clear_day(self, table: Table, history: History) -> None:
        day = history.first_day
        for part in history.parts(until_day=day + 1):
            await self._store.clear(part)

        def forget(state: TableState) -> bool:
            if state.pitr is not None and state.pitr.resource == history.resource:
                state.pitr.first_day = day + 1
            return False

        updated = await self._catalog.update(table, forget, while_in_use=True)
        if updated.history is not None:
            changes, size = await self.usage(updated.history)
            log.info("history of table %s: %d changes, %d bytes", table.name, changes, size)
