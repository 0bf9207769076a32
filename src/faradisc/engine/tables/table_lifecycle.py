"""The states of a table, and the changes between them.

A table that is CREATING, UPDATING or DELETING carries the time at which that status ends. Every look-up after
that time finds the next status. So a transition needs no background job, survives a restart, and follows a
virtual clock. Nothing here reads a clock or the store.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from faradisc.engine.tables.definition import TableDefinition
from faradisc.engine.tables.state import UNASSIGNED, TableState, UnitsState
from faradisc.errors import ResourceInUseException

IN_USE = "Attempt to change a resource which is still in use: "

INACCESSIBLE = "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
"""Status of a table whose master key cannot be used (engine/encryption/)."""

SHORT_TRANSITION_MS_MAX = 50
"""A transition of at most this length ends with the first data request to a table that is CREATING, and with
DescribeTable: SDK waiters look at once and then sleep for 20 seconds (docs/decisions/0006). Longer delays
show the states and errors of the service."""


def new_table(
    definition: TableDefinition, resource: int, *, created_ns: int, slots: int, **settings: Any
) -> TableState:
    """Returns the state of a table that is CREATING.

    What is derived from its items has no resource numbers yet. settings: the other fields of the state.
    """
    on_demand = definition.billing_mode == "PAY_PER_REQUEST"
    return TableState(
        created_ns=created_ns,
        resource=resource,
        collections_resource=UNASSIGNED if definition.local_indexes else None,
        slots=slots,
        definitions=definition.definitions,
        key_schema=definition.key_schema,
        local_indexes=definition.local_indexes,
        global_indexes=definition.global_indexes,
        vector_indexes=definition.vector_indexes,
        billing_mode=definition.billing_mode,
        ever_on_demand_ns=created_ns if on_demand else None,
        on_demand_switches_ns=[created_ns] if on_demand else [],
        throughput=UnitsState(*definition.units),
        on_demand_maximum=definition.maximum,
        warm=list(definition.warm) if definition.warm is not None else None,
        status="CREATING",
        **settings,
    )


def check_exists(state: TableState) -> None:
    """Raises ResourceInUseException while the table is CREATING or DELETING."""
    doing = {"CREATING": "created", "DELETING": "deleted"}.get(state.status)
    if doing is not None:
        raise ResourceInUseException(f"{IN_USE}Table is being {doing}: {state.name}")


def check_deletable(state: TableState) -> None:
    """Raises ResourceInUseException while the table is being created, changed or deleted.

    Source: errors.md section 6.10.
    """
    check_exists(state)
    if state.pending.stream is not None:
        raise ResourceInUseException(f"{IN_USE}Cannot delete table while stream is being enabled/disabled.")
    indexes = [index for index in state.online_indexes() if index.status != "ACTIVE"]
    if state.pending.billing_mode is None and (
        indexes or state.pending.index_throughput or state.pending.index_maximum
    ):
        raise ResourceInUseException(
            f"{IN_USE}Cannot delete table while indexes are being created, updated, or deleted."
        )
    if state.status == "UPDATING":
        raise being_updated(state.name)


def being_updated(name: str) -> ResourceInUseException:
    """Returns the error of a table that is to be deleted while it changes."""
    return ResourceInUseException(f"{IN_USE}Table: {name} is in the process of being updated.")


def transition_has_ended(state: TableState, now_ns: int, transition_ns: int, *, end_early: bool) -> bool:
    """Whether a CREATING, UPDATING or DELETING table leaves that status.

    end_early: end a short transition now. An update that waits for new partitions is not short before the
    last `transition_ns` of it.
    """
    if state.status in ("ACTIVE", INACCESSIBLE) or (state.owner_job and state.status == "CREATING"):
        return False
    if state.status == "UPDATING" and state.sealing is not None and state.sealing.converting:
        return False
    if now_ns >= state.status_until_ns:
        return True
    return end_early and (state.status != "UPDATING" or now_ns >= state.status_until_ns - transition_ns)


def without_deleted_indexes(state: TableState, now_ns: int) -> TableState | None:
    """Returns the state without the indexes whose DELETING status has ended, and without the attribute
    definitions that only they need; None if there is no such index."""
    deleted = [
        index.name
        for index in state.online_indexes()
        if index.status == "DELETING" and index.until_ns is not None and now_ns >= index.until_ns
    ]
    if not deleted:
        return None
    rest = replace(
        state,
        global_indexes=[index for index in state.global_indexes if index.name not in deleted],
        vector_indexes=[index for index in state.vector_indexes if index.name not in deleted],
    )
    rest.definitions = rest.used_definitions()
    return rest


def start_index_deletions(state: TableState, until_ns: int) -> None:
    """Sets the end of the DELETING status of indexes that have just entered it."""
    for index in state.online_indexes():
        if index.status == "DELETING" and index.until_ns is None:
            index.until_ns = until_ns
