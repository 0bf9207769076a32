"""Point-in-time recovery: enables and disables it, and removes history older than its period.

The history itself is written with the items (engine/derived/history.py) and read page by page
(engine/backups/history.py). This module describes the period to clients, checks restore times, and has the
job that clears old days. It clears a whole day of a slot at once; days that a restore or an export still
reads stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.derived.history import History, history_of, recovery_is_off
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import DAY_NS, DroppedHistory, PitrState, TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import InvalidRestoreTimeException
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.engine.backups")

_SECOND_NS = 1_000_000_000
_SECONDS_MAX = 2**40
"""Later than any clock; a larger number would overflow."""
_MILLISECOND_NS = 1_000_000
Needs = Callable[[Table], int | None]
"""Returns the oldest time of a table that is being read, in nanoseconds; None: none is."""


class Periods:
    def __init__(self, store: Store, catalog: Catalog, readers: Sequence[Needs], *, lag_s: float) -> None:
        """readers: return the oldest time that restores and exports read. lag_s: how far the latest
        restorable time is behind the clock."""
        self._store = store
        self._catalog = catalog
        self._readers = readers
        self._lag_ns = int(lag_s * _SECOND_NS)

    async def load(self) -> None:
        """Makes the next change later than all existing ones, even if the clock stood still meanwhile."""
        now_ns = self._catalog.moments.now_ns()
        today = now_ns // DAY_NS
        changes = 0
        for _, history in self._catalog.tables.background_index.having(History):
            for slot in range(history.slots):
                changes += (await self._store.usage(history.part(slot, today)))[0]
        self._catalog.moments.begin_after(now_ns + changes)

    # --- On and off ---

    async def enable(self, table: Table, period_days: int) -> Table:
        """Enables point-in-time recovery, or changes its period."""

        def change(state: TableState) -> bool:
            if state.pitr is None:
                # Read here: writes before this change have left no history.
                now_ns = self._catalog.moments.now_ns()
                state.pitr = PitrState(now_ns, period_days, now_ns // DAY_NS)
            state.pitr.period_days = period_days
            return False

        return await self._catalog.update(table, change, while_in_use=True)

    async def disable(self, table: Table, check: Callable[[], None]) -> Table:
        """Disables it, and drops the history.

        check: raises to reject; called within the change, so a restore that begins before it keeps the
        history.
        """
        # A concurrent change may be the first of the next day.
        end_day = self._catalog.moments.now_ns() // DAY_NS + 2

        def change(state: TableState) -> bool:
            check()
            if state.pitr is not None:
                state.dropped_history = DroppedHistory(state.pitr.resource, state.pitr.first_day, end_day)
            state.pitr = None
            return False

        return await self._catalog.update(table, change, while_in_use=True)

    # --- Restore times ---

    def description(self, table: Table) -> dict[str, Any]:
        """Returns ContinuousBackupsDescription."""
        history = history_of(table)
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
        """Returns the latest restorable time. Raises PointInTimeRecoveryUnavailableException."""
        return self._latest_ns(self._history(table))

    def checked(self, table: Table, seconds: float) -> int:
        """Returns the restore time in nanoseconds of a client's epoch seconds: the end of that millisecond.

        Raises PointInTimeRecoveryUnavailableException, InvalidRestoreTimeException.
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
        history = history_of(table)
        if history is None:
            raise recovery_is_off(table)
        return history

    def _earliest_ns(self, history: History) -> int:
        """Returns the earliest restorable time in whole seconds, as clients send it back; the part of that
        second before recovery was enabled counts as the time when it was."""
        earliest_ns = history.earliest_ns(self._catalog.moments.now_ns())
        return earliest_ns - earliest_ns % _SECOND_NS

    def _latest_ns(self, history: History) -> int:
        return max(history.enabled_ns, self._catalog.moments.now_ns() - self._lag_ns)

    # --- Clearing ---

    async def usage(self, history: History) -> tuple[int, int]:
        """Returns (changes, bytes) of a history."""
        used = [await self._store.usage(part) for part in history.parts()]
        return sum(changes for changes, _ in used), sum(size for _, size in used)

    async def step(self) -> bool:
        """Clears one day of one table's history before its period. Returns False when there is none."""
        for table, history in self._catalog.tables.background_index.having(History):
            keep_ns = history.earliest_ns(self._catalog.moments.now_ns())
            needed = [oldest_needed_ns(table) for oldest_needed_ns in self._readers]
            keep_day = min([keep_ns, *(at_ns for at_ns in needed if at_ns is not None)]) // DAY_NS
            if history.first_day < keep_day:
                await self._clear_day(table, history)
                return True
        return False

    async def _clear_day(self, table: Table, history: History) -> None:
        day = history.first_day
        for part in history.parts_before(day + 1):
            await self._store.clear(part)

        def forget(state: TableState) -> bool:
            if state.pitr is not None and state.pitr.resource == history.resource:
                state.pitr.first_day = day + 1
            return False

        updated = await self._catalog.update(table, forget, while_in_use=True)
        following = history_of(updated)
        if following is not None:
            changes, size = await self.usage(following)
            log.info("history of table %s: %d changes, %d bytes", table.name, changes, size)
