"""Quotas of provisioned units: per table or global index, and per account.

A running update counts with its new units.

Source: capacity.md sections 2.0 and 2.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.controlplane import Quotas, Units
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import LimitExceededException


def check_quotas(
    wanted: TableState, present: TableState | None, tables: Iterable[Table], config: CapacityConfig
) -> None:
    """Compares a new table, or a changed one, with the quotas. Units that stay or are lowered are always
    allowed.

    present: the state before the change. tables: all tables. Raises LimitExceededException.
    """
    quotas = Quotas(
        (config.table_read_units, config.table_write_units),
        (config.account_read_units, config.account_write_units),
    )
    before = provisioned(present) if present is not None else {}
    after = provisioned(wanted)
    for index, units in after.items():
        had = before.get(index, (0, 0))
        if units[0] > had[0] or units[1] > had[1]:
            _raise_if_exceeded(quotas.table_text(units, wanted.region, index))
    total, had = _sum(after.values()), _sum(before.values())
    if total[0] > had[0] or total[1] > had[1]:
        others = (
            table.state
            for table in tables
            if table.state.namespace == wanted.namespace and table.name != wanted.name
        )
        taken = _sum(
            units for state in others if state.status != "DELETING" for units in provisioned(state).values()
        )
        _raise_if_exceeded(quotas.account_text(taken, total, wanted.region))


def _raise_if_exceeded(text: str | None) -> None:
    if text is not None:
        raise LimitExceededException(text)


def provisioned(state: TableState) -> dict[str | None, Units]:
    """Returns the units of a table (None) and of its global indexes after a running update; zeros while on
    demand."""
    found: dict[str | None, Units] = {None: (state.pending.throughput or state.throughput).units}
    for index in state.global_indexes:
        found[index.name] = state.pending.index_throughput.get(index.name, index.throughput).units
    return found


def _sum(units: Iterable[Units]) -> Units:
    read = write = 0
    for more_read, more_write in units:
        read, write = read + more_read, write + more_write
    return read, write
