"""An index of the tables by what is derived from their items, so that a step of a background job costs by the
tables that it is about and not by all tables.

The catalog notes every table in its present state. Entries of tables that no longer exist are dropped by the
next job that finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from faradisc.engine.tables.derived import Derived
from faradisc.engine.tables.names import NsName
from faradisc.engine.tables.table import Table

D = TypeVar("D", bound=Derived)


class BackgroundIndex:
    """Belongs to one catalog."""

    def __init__(self, table_at: Callable[[NsName], Table | None]) -> None:
        """table_at: returns the present table of a name."""
        self._table_at = table_at
        self._names: dict[type[Derived], set[NsName]] = {}
        self._unfilled: set[NsName] = set()

    def note(self, name: NsName, table: Table) -> None:
        """Enters a table in its present state."""
        present = {type(each) for each in table.derived}
        for kind in present | self._names.keys():
            _set(self._names.setdefault(kind, set()), name, kind in present)
        _set(self._unfilled, name, any(not each.is_filled for each in table.derived))

    def clear(self) -> None:
        """Removes all tables."""
        self._names.clear()
        self._unfilled.clear()

    def having(self, kind: type[D]) -> Iterator[tuple[Table, D]]:
        """Yields the derived things of one kind, with their tables; not those of tables being deleted."""
        for table in self._present(self._names.get(kind, set())):
            for each in table.derived:
                if isinstance(each, kind) and not each.is_leaving:
                    yield table, each

    def unfilled(self) -> Iterator[Table]:
        """Yields the tables with something that is not filled."""
        return self._present(self._unfilled)

    def _present(self, names: set[NsName]) -> Iterator[Table]:
        for name in sorted(names):
            table = self._table_at(name)
            if table is None:
                names.discard(name)
            elif table.state.status != "DELETING":
                yield table


def _set(names: set[NsName], name: NsName, wanted: bool) -> None:
    if wanted:
        names.add(name)
    else:
        names.discard(name)
