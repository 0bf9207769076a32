"""The tables that background jobs visit: whose items expire, whose changes are captured, whose past is kept.

The catalog notes every table as it comes to be what it is; jobs ask for those that concern them, so a step
costs by these and not by all tables there are. What has gone meanwhile is forgotten when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from faradisc.engine.tables.expiry import Expiry
from faradisc.engine.tables.history import History
from faradisc.engine.tables.names import NsName
from faradisc.engine.tables.table import Table


class BackgroundIndex:
    """Belongs to one catalog."""

    def __init__(self, table_at: Callable[[NsName], Table | None]) -> None:
        """table_at: the table of a name, as it is now in memory."""
        self._table_at = table_at
        self._expiries: dict[NsName, Expiry] = {}
        """The expiry indexes of the tables whose time to live is on."""
        self._captured: set[NsName] = set()
        """The tables whose changes are captured for Kinesis, or were and are not all delivered."""
        self._recovered: set[NsName] = set()
        """The tables whose point-in-time recovery is on."""

    def note(self, place: NsName, table: Table) -> None:
        """A table is like this from now on. An expiry index that it keeps stays the object it was."""
        _hold(self._captured, place, any(each["resource"] is not None for each in table.state.kinesis))
        _hold(self._recovered, place, table.history is not None)
        known = self._expiries.pop(place, None)
        if table.expiry is not None:
            if known is not None and known.resource == table.expiry.resource:
                table.expiry = known
            self._expiries[place] = table.expiry

    def forget_expiry(self, place: NsName) -> None:
        """The next table of that name begins with an expiry index of its own."""
        self._expiries.pop(place, None)

    def clear(self) -> None:
        """There are no tables any more."""
        self._expiries.clear()
        self._captured.clear()
        self._recovered.clear()

    def expiring(self) -> Iterator[tuple[Table, Expiry]]:
        """The tables whose time to live is on."""
        for place, expiry in list(self._expiries.items()):
            table = self._table_at(place)
            if table is None or table.expiry is not expiry:
                self._expiries.pop(place, None)
            elif table.state.status != "DELETING":
                yield table, expiry

    def captured(self) -> Iterator[Table]:
        """The tables that may hold something for a Kinesis destination."""
        for place in sorted(self._captured):
            table = self._table_at(place)
            if table is None:
                self._captured.discard(place)
            elif table.state.status != "DELETING":
                yield table

    def recoverable(self) -> Iterator[tuple[Table, History]]:
        """The tables whose point-in-time recovery is on."""
        for place in sorted(self._recovered):
            table = self._table_at(place)
            if table is None or table.history is None:
                self._recovered.discard(place)
            elif table.state.status != "DELETING":
                yield table, table.history


def _hold(places: set[NsName], place: NsName, wanted: bool) -> None:
    if wanted:
        places.add(place)
    else:
        places.discard(place)
