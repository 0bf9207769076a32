"""An index of the tables that background jobs use, so that a step costs by these and not by all tables.

The catalog notes every table in its present state. Entries of tables that no longer exist are dropped by the
next job that finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from faradisc.clock import Clock
from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.history import History
from faradisc.engine.tables.names import NsName
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE


class BackgroundIndex:
    """Belongs to one catalog."""

    def __init__(self, table_at: Callable[[NsName], Table | None], clock: Clock) -> None:
        """table_at: returns the present table of a name."""
        self._table_at = table_at
        self._clock = clock
        self._expiries: dict[NsName, Expiry] = {}
        """The expiry indexes of tables with time to live."""
        self._captured: set[NsName] = set()
        """The tables with changes captured for Kinesis that may not be delivered yet."""
        self._recoverable: set[NsName] = set()
        """The tables with point-in-time recovery."""

    def expiry_of(self, state: TableState) -> Expiry | None:
        """Returns the expiry index of a table, if its time to live is enabled: the same object as long as the
        table has the same expiry index."""
        if state.ttl is None or state.ttl.resource is None:
            return None
        known = self._expiries.get((state.namespace, state.name))
        if known is not None and known.resource == state.ttl.resource:
            return known
        return Expiry(state.ttl.attribute, state.ttl.resource, state.slots, self._clock)

    def note(self, name: NsName, table: Table) -> None:
        """Enters a table in its present state."""
        _set(self._captured, name, any(each.resource is not None for each in table.state.kinesis))
        _set(self._recoverable, name, table.history is not None)
        self.forget_expiry(name)
        if table.expiry is not None:
            self._expiries[name] = table.expiry

    def forget_expiry(self, name: NsName) -> None:
        """The next table of that name gets a new expiry index object."""
        self._expiries.pop(name, None)

    def clear(self) -> None:
        """Removes all tables."""
        self._expiries.clear()
        self._captured.clear()
        self._recoverable.clear()

    def expiring(self) -> Iterator[tuple[Table, Expiry]]:
        """Yields the tables with time to live."""
        for name, expiry in list(self._expiries.items()):
            table = self._table_at(name)
            if table is None or table.expiry is not expiry:
                self._expiries.pop(name, None)
            elif table.state.status not in ("DELETING", INACCESSIBLE):
                yield table, expiry

    def captured(self) -> Iterator[Table]:
        """Yields the tables that may hold something for a Kinesis destination."""
        for name in sorted(self._captured):
            table = self._table_at(name)
            if table is None:
                self._captured.discard(name)
            elif table.state.status not in ("DELETING", INACCESSIBLE):
                yield table

    def recoverable(self) -> Iterator[tuple[Table, History]]:
        """Yields the tables with point-in-time recovery."""
        for name in sorted(self._recoverable):
            table = self._table_at(name)
            if table is None or table.history is None:
                self._recoverable.discard(name)
            elif table.state.status != "DELETING":
                yield table, table.history


def _set(names: set[NsName], name: NsName, wanted: bool) -> None:
    if wanted:
        names.add(name)
    else:
        names.discard(name)
