"""The settings that all replicas have in common, and those that one of them may have of its own.

    common             indexes, time to live, billing mode, write units and maxima of writes
    common, or its own read units and maxima of reads, table class
    each its own       deletion protection, tags, recovery, policies, Kinesis destinations, encryption key

What one replica has of its own, others do not get. Source: the service's documentation of global tables
("Settings synchronization"). Assumed: a change of units that arrives counts as no decrease of the day.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from faradisc.engine.backups.definitions import AnyIndex
from faradisc.engine.tables.replicas import Replica, ReplicaGroup
from faradisc.engine.tables.state import UNASSIGNED, TableState, UnitsState
from faradisc.engine.tables.throughput_members import NO_MAXIMUM, Maximum


def share_settings(leader: TableState, state: TableState, group: ReplicaGroup) -> bool:
    """Gives a replica the settings of another one; returns whether it becomes UPDATING."""
    theirs, own = group.find(leader.region), group.find(state.region)
    if theirs is None or own is None:
        return False
    shared_class = leader.pending.table_class or leader.table_class
    wanted_class = own.table_class or (None if theirs.table_class else shared_class)
    state.table_class = wanted_class or state.table_class
    _share_expiry(leader, state)
    changes = _share_mode(leader, state)
    _share_indexes(leader, state, theirs, own)
    state.definitions += [each for each in leader.definitions if each not in state.definitions]
    state.definitions = state.used_definitions()
    if state.pending.billing_mode is None:
        _share_maximum(leader.on_demand_maximum, state.on_demand_maximum, theirs.max_read, own.max_read)
    return _share_units(leader, state, theirs, own) or changes


def _share_expiry(leader: TableState, state: TableState) -> None:
    ttl, present = leader.ttl, state.ttl
    if ttl is None or not (ttl.enabled or present is not None):
        return
    if present is not None and (present.enabled, present.attribute) == (ttl.enabled, ttl.attribute):
        return
    state.ttl = replace(
        ttl,
        resource=UNASSIGNED if ttl.enabled else None,
        filled=False,
        previous_resource=None if present is None else present.resource,
    )


# --- Throughput ----------------------------------------------------------------------------------


def _share_mode(leader: TableState, state: TableState) -> bool:
    mode = leader.pending.billing_mode or leader.billing_mode
    if mode == (state.pending.billing_mode or state.billing_mode):
        return False
    state.pending.billing_mode = mode
    if mode == "PAY_PER_REQUEST":
        state.pending.ever_on_demand_ns = leader.pending.ever_on_demand_ns or leader.ever_on_demand_ns
    else:
        state.pending.on_demand_maximum = NO_MAXIMUM.copy()
        state.pending.index_maximum = {index.name: NO_MAXIMUM.copy() for index in state.global_indexes}
    return True


def _share_units(leader: TableState, state: TableState, theirs: Replica, own: Replica) -> bool:
    """Shares provisioned units: of writes always, of reads unless one of the two has its own."""
    changed = False
    present = state.pending.throughput or state.throughput
    units = _wanted(
        leader.pending.throughput or leader.throughput, present, theirs.read_units, own.read_units
    )
    if units != present.units:
        state.pending.throughput = _with(present, units)
        changed = True
    for index in state.global_indexes:
        given = next((each for each in leader.global_indexes if each.name == index.name), None)
        if given is None or index.status == "DELETING":
            continue
        present = state.pending.index_throughput.get(index.name, index.throughput)
        following = leader.pending.index_throughput.get(index.name, given.throughput)
        before, after = theirs.index_read_units.get(index.name), own.index_read_units.get(index.name)
        units = _wanted(following, present, before, after)
        if units == present.units:
            continue
        if index.resource == UNASSIGNED:
            index.throughput = _with(present, units)
        else:
            state.pending.index_throughput[index.name] = _with(present, units)
            changed = True
    return changed


def _wanted(
    leader: UnitsState, present: UnitsState, their_read: int | None, own_read: int | None
) -> tuple[int, int]:
    read, write = leader.units
    if not write:
        return 0, 0  # on demand
    if own_read is not None:
        return own_read, write
    return (present.read_units or read) if their_read is not None else read, write


def _with(present: UnitsState, units: tuple[int, int]) -> UnitsState:
    return replace(present, read_units=units[0], write_units=units[1])


def _share_maximum(leader: Maximum, own: Maximum, their_read: int | None, own_read: int | None) -> None:
    """Shares an on-demand maximum: of writes always, of reads unless one of the two has its own."""
    own[1] = leader[1]
    if own_read is not None:
        own[0] = own_read
    elif their_read is None:
        own[0] = leader[0]


# --- Indexes -------------------------------------------------------------------------------------


def _share_indexes(leader: TableState, state: TableState, theirs: Replica, own: Replica) -> None:
    state.global_indexes += _added(leader.global_indexes, state.global_indexes)
    state.vector_indexes += _added(leader.vector_indexes, state.vector_indexes)
    given = {index.name: index for index in leader.global_indexes}
    remaining = {index.name for index in leader.online_indexes() if index.status != "DELETING"}
    for index in state.online_indexes():
        if index.name not in remaining:
            index.status = "DELETING"
    for each in state.global_indexes:
        if each.status != "DELETING" and state.pending.billing_mode is None:
            before, after = theirs.index_max_read.get(each.name), own.index_max_read.get(each.name)
            maximum = leader.pending.index_maximum.get(each.name, given[each.name].on_demand_maximum)
            _share_maximum(maximum, each.on_demand_maximum, before, after)


def _added(leader: Sequence[AnyIndex], present: Sequence[AnyIndex]) -> list[AnyIndex]:
    """Returns the indexes that a replica has not got yet, as they are created."""
    names = {index.name for index in present}
    return [
        replace(deepcopy(index), resource=UNASSIGNED, status="CREATING", until_ns=None)
        for index in leader
        if index.name not in names and index.status != "DELETING"
    ]
