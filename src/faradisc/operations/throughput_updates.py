"""The throughput part of UpdateTable: mode, provisioned units, on-demand maximum, warm throughput.

All of a request takes effect or nothing. Auto scaling may name one direction only; the other one keeps the
value that it has at the time of the change. Provisioned units, mode and maximum take effect when UPDATING
ends; warm throughput is raised while the table stays ACTIVE.

Source of rules and texts: capacity.md section 2.12 and errors.md section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.capacity.controlplane import (
    DecreaseLog,
    SwitchLog,
    ThroughputChange,
    check_changes,
    is_decrease,
)
from faradisc.engine.tables.definition import checked_change
from faradisc.engine.tables.state import TableState, UnitsState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.throughput_members import NO_MAXIMUM, checked_maximum, checked_warm
from faradisc.engine.tables.vector_definition import ON_DEMAND_ONLY
from faradisc.errors import LimitExceededException, ValidationException, invalid
from faradisc.records import dataclass, replace

_MEMBERS = ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")

AskedUnits = tuple[int | None, int | None]
"""Requested read and write units; None leaves them as they are."""


@dataclass(slots=True)
class IndexUpdate:
    """The requested changes of one global index."""

    units: AskedUnits | None = None
    maximum: Mapping[str, int] | None = None
    warm: Mapping[str, int] | None = None

    @classmethod
    def of(cls, name: str, action: Mapping[str, Any]) -> IndexUpdate:
        """Raises ValidationException."""
        if not any(member in action for member in _MEMBERS):
            raise invalid(f"ProvisionedThroughput must be specified for index: {name}")
        units = action.get("ProvisionedThroughput")
        return cls(
            None if units is None else checked_change(units, name),
            action.get("OnDemandThroughput"),
            action.get("WarmThroughput"),
        )


@dataclass(slots=True)
class ThroughputUpdate:
    """The throughput part of one UpdateTable request."""

    request: Mapping[str, Any]
    indexes: Mapping[str, IndexUpdate]
    now_ns: int

    @property
    def index_units(self) -> dict[str, AskedUnits]:
        return {name: each.units for name, each in self.indexes.items() if each.units is not None}

    def change(self, state: TableState) -> bool:
        """Adds the changes to the pending ones; returns whether there are any.

        Raises ValidationException, LimitExceededException.
        """
        changed = self._change_mode(state)
        changed = self._change_units(state) or changed
        return self._change_maximum(state) or changed

    # --- Mode ---

    def _change_mode(self, state: TableState) -> bool:
        request = self.request
        wanted = request.get("BillingMode", state.billing_mode)
        if wanted == "PAY_PER_REQUEST":
            if "ProvisionedThroughput" in request:
                raise invalid(
                    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                    "when BillingMode is PAY_PER_REQUEST"
                )
            for name in self.index_units:
                raise invalid(
                    f"The only Updates for index: {name} when TableThroughputMode is PAY_PER_REQUEST can be "
                    "to OnDemandThroughput, WarmThroughput"
                )
        if "BillingMode" in request and wanted == "PROVISIONED" and "ProvisionedThroughput" not in request:
            raise invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
        if wanted == state.billing_mode:
            return False
        if state.vector_indexes:
            raise invalid(ON_DEMAND_ONLY)
        state.pending.billing_mode = wanted
        if wanted == "PAY_PER_REQUEST":
            self._leave_provisioned(state)
            return True
        for index in state.global_indexes:
            if index.name not in self.index_units:
                raise invalid(f"ProvisionedThroughput must be specified for index: {index.name}")
        state.pending.on_demand_maximum = NO_MAXIMUM.copy()
        state.pending.index_maximum = {index.name: NO_MAXIMUM.copy() for index in state.global_indexes}
        return True

    def _leave_provisioned(self, state: TableState) -> None:
        switches = SwitchLog(state.on_demand_switches_ns)
        if not switches.allowed(self.now_ns):
            raise LimitExceededException(switches.text(self.now_ns))
        switches.accept(self.now_ns)
        state.on_demand_switches_ns = switches.accepted_ns
        state.pending.ever_on_demand_ns = self.now_ns
        # The counts of decreases stay. For an index the switch is one more, even when none is
        # left (M1).
        state.pending.throughput = replace(state.throughput, read_units=0, write_units=0)
        indexes = {index.name: index.throughput for index in state.global_indexes}
        changes = [_change_of(f"index {name}", present, (0, 0)) for name, present in indexes.items()]
        check_changes(changes, self.now_ns, leaves_provisioned=True)
        state.pending.index_throughput = {
            name: replace(
                present,
                read_units=0,
                write_units=0,
                last_decrease_ns=self.now_ns,
                decreases_ns=change.decreases.accepted_ns,
            )
            for (name, present), change in zip(indexes.items(), changes, strict=True)
        }

    # --- Provisioned units ---

    def _change_units(self, state: TableState) -> bool:
        changes: list[ThroughputChange] = []
        by_name: dict[str | None, UnitsState] = {}
        if "ProvisionedThroughput" in self.request:
            asked = checked_change(self.request["ProvisionedThroughput"])
            by_name[None] = state.throughput
            wanted = _filled(asked, state.throughput)
            if state.pending.billing_mode is None:
                _check_differs("table", state.throughput, wanted)
            changes.append(_change_of("table", state.throughput, wanted))
        for name, units in self.index_units.items():
            present = by_name[name] = state.index(name).throughput
            wanted = _filled(units, present)
            if state.pending.billing_mode is None:
                _check_differs(f"index {name}", present, wanted)
            changes.append(_change_of(f"index {name}", present, wanted))
        error = check_changes(changes, self.now_ns)
        if error is not None:
            raise LimitExceededException(error)
        for (index, present), change in zip(by_name.items(), changes, strict=True):
            self._enter(state, index, present, change)
        return bool(changes)

    def _enter(
        self, state: TableState, name: str | None, present: UnitsState, change: ThroughputChange
    ) -> None:
        """The new units take effect when UPDATING ends; the time of the request shows at once (measured)."""
        higher = change.wanted[0] > change.present[0] or change.wanted[1] > change.present[1]
        if higher and state.pending.billing_mode is None:
            present.last_increase_ns = self.now_ns
        if is_decrease(change.present, change.wanted):
            present.last_decrease_ns = self.now_ns
        after = UnitsState(
            *change.wanted,
            last_increase_ns=present.last_increase_ns,
            last_decrease_ns=present.last_decrease_ns,
            decreases_ns=change.decreases.accepted_ns,
        )
        if name is None:
            state.pending.throughput = after
        else:
            state.pending.index_throughput[name] = after

    # --- On-demand maximum ---

    def _change_maximum(self, state: TableState) -> bool:
        mode = state.pending.billing_mode or state.billing_mode
        changed = False
        if "OnDemandThroughput" in self.request:
            # Takes effect at once, but for a table that becomes on demand.
            maximum = checked_maximum(self.request["OnDemandThroughput"], mode, state.on_demand_maximum)
            changes = state if state.pending.billing_mode is None else state.pending
            changes.on_demand_maximum = maximum
        for name, update in self.indexes.items():
            if update.maximum is not None:
                present = state.index(name).on_demand_maximum
                maximum = checked_maximum(update.maximum, mode, present, name)
                state.pending.index_maximum[name] = maximum
                changed = True
        return changed

    # --- Warm throughput ---

    def warm_raises(self, table: Table) -> dict[str | None, tuple[int, int]]:
        """Returns the requested warm throughput of the table (None) and of indexes. Raises
        ValidationException."""
        asked: dict[str | None, Mapping[str, int]] = {
            name: update.warm for name, update in self.indexes.items() if update.warm is not None
        }
        if "WarmThroughput" in self.request:
            asked[None] = self.request["WarmThroughput"]
        wanted: dict[str | None, tuple[int, int]] = {}
        for name, given in asked.items():
            # Compared with a running raise too: a second request adds to it.
            wanted[name] = checked_warm(given, table.meter.resource_of(name).warm.promised, name)
        return wanted


def _filled(asked: AskedUnits, present: UnitsState) -> tuple[int, int]:
    read, write = asked
    return present.read_units if read is None else read, present.write_units if write is None else write


def _change_of(what: str, present: UnitsState, wanted: tuple[int, int]) -> ThroughputChange:
    units = (present.read_units, present.write_units)
    return ThroughputChange(what, units, wanted, DecreaseLog(list(present.decreases_ns)))


def _check_differs(what: str, present: UnitsState, wanted: tuple[int, int]) -> None:
    """The text is captured for a table; Assumed: that an index's differs in its name only."""
    if wanted != (present.read_units, present.write_units):
        return
    kind = what.partition(" ")[0]
    raise ValidationException(
        f"The provisioned throughput for the {what} will not change. The requested value equals the "
        f"current value. Current ReadCapacityUnits provisioned for the {kind}: {present.read_units}. "
        f"Requested ReadCapacityUnits: {wanted[0]}. Current WriteCapacityUnits provisioned for the "
        f"{kind}: {present.write_units}. Requested WriteCapacityUnits: {wanted[1]}. Refer to the Amazon "
        "DynamoDB Developer Guide for current limits and how to request higher limits."
    )
