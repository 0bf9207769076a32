"""UpdateTable with ReplicaUpdates: adds, changes and removes replicas of a global table (2019.11.21).

Checks: actions -> regions -> the table -> not in use -> the action against the group. The request changes the
group only; engine/replication/ does the rest.

Sources: errors.md section 6.11; new-features.md sections 12 and 14. Assumed: the texts for streams
of another view type, unknown indexes, overrides of the other billing mode, keys, and bulk operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faradisc.engine.exchange.task_store import BULK
from faradisc.engine.replication.creating import VIEW_TYPE
from faradisc.engine.replication.peers import PeerUnusable
from faradisc.engine.tables.replicas import Replica, ReplicaGroup
from faradisc.engine.tables.state import DAY_NS, StreamSetting, TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import check_exists
from faradisc.engine.tables.throughput_members import REMOVED
from faradisc.errors import ResourceInUseException, UnsupportedOperation, ValidationException, invalid
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.strong_replicas import NO_EXPIRY, change_of_strong, check_empty

_SHARED: Final = (
    *("GlobalSecondaryIndexUpdates", "VectorIndexUpdates", "TableClass", "OnDemandThroughput"),
    *("BillingMode", "ProvisionedThroughput"),
)
"""The changes of UpdateTable that all replicas get."""
_EXISTS: Final = (
    "Failed to create a the new replica of table with name: ‘{}’ because one or more replicas already "
    "existed as tables."
)
_IN_USE: Final = "The resource which you are attempting to change is in use."
_SOURCE: Final = (
    "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to the "
    "table in the last 24 hours."
)


def _action(request: Mapping[str, Any]) -> tuple[str, list[Mapping[str, Any]]]:
    """Returns the kind and the members of the actions. Raises ValidationException."""
    actions = [(kind, members) for update in request["ReplicaUpdates"] for kind, members in update.items()]
    kinds = {kind for kind, _ in actions}
    if len(kinds) > 1:
        raise ValidationException(
            "Update table operation with more than one type of replica actions not allowed."
        )
    (kind,) = kinds
    if kind == "Disassociate":
        raise UnsupportedOperation("Disassociate: this version of Faradisc does not support it")
    return kind, [members for _, members in actions]


async def change_replicas(backend: Backend, call: Call, table: Table) -> Table:
    """Changes the group; returns the table. Raises ValidationException, ResourceInUseException."""
    kind, actions = _action(call.request)
    group = ReplicaGroup.of(table.state)
    strong = change_of_strong(call.request, kind, [each["RegionName"] for each in actions], table, group)
    if len(actions) > 1 and strong is None:
        raise ValidationException(
            "Update table operation with more than one create or delete replica actions not allowed"
        )
    now_ns = backend.clock.now_ns()
    if not backend.tables.per_region:
        raise UnsupportedOperation(
            "ReplicaUpdates: this server has one set of tables for all regions; start it with --per-region, "
            "or with --regions us-east-1,eu-west-1."
        )
    witnesses = () if strong is None else strong.witnesses
    distant = [each["RegionName"] for each in actions if each["RegionName"] in backend.replicas.peers]
    if strong is not None and (distant or any(region in backend.replicas.peers for region in witnesses)):
        raise UnsupportedOperation("MultiRegionConsistency: STRONG needs all of its regions at one server")
    for region in (*(each["RegionName"] for each in actions), *witnesses):
        _check_region(backend, table, region)
    if kind == "Create":
        for region in distant:
            await _check_peer(backend, table, region)
    if strong is not None and kind == "Create":
        if backend.store.is_loose:
            raise UnsupportedOperation("MultiRegionConsistency: STRONG needs a store of one place")
        await check_empty(backend.store, table)
    keys = [await _change_key(backend, table, kind, members) for members in actions]

    def change(state: TableState) -> bool:
        check_exists(state)
        group = ReplicaGroup.of(state)
        if state.status == "UPDATING":
            raise ResourceInUseException(_IN_USE)
        if group is None:
            group = ReplicaGroup(backend.entropy.uuid(), 0, [Replica(state.region, "ACTIVE", now_ns)])
        elif not backend.replicas.is_settled(state, group):
            raise ResourceInUseException(_IN_USE)
        if strong is not None:
            strong.apply(group)
        for members, key_arn in zip(actions, keys, strict=True):
            if kind == "Create":
                _create(backend, state, group, members, now_ns).key_arn = key_arn
            else:
                _change(backend, state, group, kind, members).key_arn = key_arn
        group.raise_revision(state.region)
        group.put(state)
        return False

    return await backend.catalog.update(table, change)


def _check_region(backend: Backend, table: Table, region: str) -> None:
    """Raises ValidationException."""
    if region == table.state.region:
        raise ValidationException(
            "Cannot add or delete the local region through ReplicaUpdates. "
            "Use CreateTable, DeleteTable, or UpdateTable as required."
        )
    regions = backend.replicas.regions
    if regions and region not in regions:
        raise ValidationException(
            f"Region {region} is not supported. The latest version of global tables are only supported in "
            f"the following regions: [{', '.join(regions)}]"
        )


async def _check_peer(backend: Backend, table: Table, region: str) -> None:
    """Raises ValidationException when the server of another region cannot have a replica of a table."""
    try:
        taken = await backend.replicas.prepare(table.state, region)
    except PeerUnusable as error:
        raise ValidationException(
            f"Failed to create a the new replica of table with name: ‘{table.name}’: {error}"
        ) from error
    if taken:
        raise ValidationException(_EXISTS.format(table.name))


def _change(
    backend: Backend, state: TableState, group: ReplicaGroup, kind: str, members: Mapping[str, Any]
) -> Replica:
    """Changes or removes a replica of a group."""
    region = members["RegionName"]
    replica = group.find(region)
    if replica is None:
        raise ValidationException(
            "Update global table operation failed because one or more replicas were not part of the "
            f"global table. Please retry the request without these replicas: [{region}]."
        )
    if kind == "Delete":
        if not group.strong:
            check_no_source(group, region, backend.clock.now_ns())
        copies = {each: table.state for each, table in backend.replicas.copies(state, group).items()}
        copies |= backend.replicas.peers.states(state, group)
        _check_unprotected(copies.get(region))
        if replica.status == "CREATION_FAILED":
            group.replicas.remove(replica)
        replica.status = "DELETING"
    else:
        _override(state, replica, members)
        replica.status = "UPDATING"
    return replica


async def _change_key(backend: Backend, table: Table, kind: str, members: Mapping[str, Any]) -> str | None:
    """Returns the ARN of the master key of a replica that is added; changes that of one that exists.

    All replicas are encrypted with a key of their own, or none is. Raises ValidationException, KeyDenied.
    """
    region, state = members["RegionName"], table.state
    sealed = state.sealing is not None and state.sealing.enabled
    if not sealed and "KMSMasterKeyId" in members:
        raise invalid("KMSMasterKeyId cannot be specified for a replica of a table without a key of its own")
    if not sealed:
        return None
    if region in backend.replicas.peers:
        if kind == "Update" and "KMSMasterKeyId" in members:
            raise invalid(f"The key of the replica in {region} is changed there, with SSESpecification")
        present = ReplicaGroup.of(state)
        replica = None if present is None else present.find(region)
        named: str | None = members.get("KMSMasterKeyId", None if replica is None else replica.key_arn)
        return named
    key = {"Enabled": True, "SSEType": "KMS"}
    if "KMSMasterKeyId" in members:
        key["KMSMasterKeyId"] = members["KMSMasterKeyId"]
    if kind == "Create":
        sealing = await backend.encryption.of_new_table(key, table.name, region, state.account)
        return None if sealing is None else sealing.key_arn
    group = ReplicaGroup.of(state)
    copy = None if group is None else backend.replicas.copies(state, group).get(region)
    if copy is None:
        return None
    if "KMSMasterKeyId" not in members:
        return None if copy.state.sealing is None else copy.state.sealing.key_arn
    change = await backend.encryption.change_of(copy, key)
    assert change is not None, "a key is given"
    changed = await backend.catalog.update(copy, change)
    return None if changed.state.sealing is None else changed.state.sealing.key_arn


def check_scaled(backend: Backend, state: TableState) -> None:
    """Raises ValidationException where the write units of a table or of an index are not scaled."""
    scaling = backend.replicas.scaling
    if not scaling.is_scaled(state, None, "Write"):
        raise ValidationException("Table write capacity should either be Pay-Per-Request or AutoScaled.")
    if not all(scaling.is_scaled(state, index.name, "Write") for index in state.global_indexes):
        raise ValidationException("GSI write capacity should either be Pay-Per-Request or AutoScaled.")


def _create(
    backend: Backend, state: TableState, group: ReplicaGroup, members: Mapping[str, Any], now_ns: int
) -> Replica:
    region = members["RegionName"]
    if group.find(region) is not None or backend.replicas.at(state, region) is not None:
        raise ValidationException(_EXISTS.format(state.name))
    if not state.on_demand:
        check_scaled(backend, state)
    if any(task.table_arn == state.arn for task in backend.exchange.tasks.running(BULK)):
        raise ResourceInUseException(f"A bulk operation of the table is in progress: {state.name}")
    if group.strong:
        pass  # streams are not needed, and may differ
    elif state.stream is None:
        state.stream = StreamSetting(VIEW_TYPE)
    elif state.stream.view_type != VIEW_TYPE:
        raise invalid(f"The stream of a Global Table replica has the view type {VIEW_TYPE}")
    replica = Replica(region, "CREATING", now_ns, source=state.region)
    _override(state, replica, members)
    group.replicas.append(replica)
    return replica


def _override(state: TableState, replica: Replica, members: Mapping[str, Any]) -> None:
    """Takes over the settings that a replica has of its own."""
    indexes = {index.name for index in state.global_indexes}
    other = "ProvisionedThroughputOverride" if state.on_demand else "OnDemandThroughputOverride"
    for of in (members, *members.get("GlobalSecondaryIndexes", ())):
        if other in of:
            raise invalid(f"{other} cannot be specified when BillingMode is {state.billing_mode}")
    replica.table_class = members.get("TableClassOverride", replica.table_class)
    replica.read_units = _read_units(members, replica.read_units)
    maximum = members.get("OnDemandThroughputOverride", {})
    replica.max_read = _units(maximum, replica.max_read)
    for each in members.get("GlobalSecondaryIndexes", ()):
        name = each["IndexName"]
        if name not in indexes:
            raise invalid(f"The table does not have the specified index: {name}")
        units = _units(each.get("OnDemandThroughputOverride", {}), replica.index_max_read.get(name))
        if units is not None:
            replica.index_max_read[name] = units
        reads = _read_units(each, replica.index_read_units.get(name))
        if reads is not None:
            replica.index_read_units[name] = reads


def _read_units(members: Mapping[str, Any], present: int | None) -> int | None:
    units: int | None = members.get("ProvisionedThroughputOverride", {}).get("ReadCapacityUnits", present)
    return units


def _units(given: Mapping[str, int], present: int | None) -> int | None:
    units = given.get("MaxReadRequestUnits", present)
    if units is not None and units < 1:
        raise invalid(
            "Requested MaxReadRequestUnits for OnDemandThroughputOverride is outside of valid range"
        )
    return units


def check_no_source(group: ReplicaGroup, region: str, now_ns: int) -> None:
    """Raises ValidationException for a replica that another one was filled from in the last 24 hours."""
    if any(each.source == region and now_ns < each.since_ns + DAY_NS for each in group.replicas):
        raise ValidationException(_SOURCE)


def _check_unprotected(state: TableState | None) -> None:
    if state is not None and state.deletion_protection:
        raise ValidationException(
            f"Cannot delete table {state.name} in region {state.region} because it has deletion "
            "protection enabled. Disable deletion protection first."
        )


def check_shared(backend: Backend, state: TableState, request: Mapping[str, Any]) -> None:
    """Checks another change of a table, and gives it to all replicas if it is one.

    Called in the change itself. Raises ValidationException, ResourceInUseException.
    """
    group = ReplicaGroup.of(state)
    if group is None:
        return
    if not backend.replicas.is_settled(state, group):
        raise ResourceInUseException(_IN_USE)
    if group.strong and "TimeToLiveSpecification" in request:
        raise ValidationException(NO_EXPIRY)
    if (
        not group.strong
        and "StreamSpecification" in request
        and not request["StreamSpecification"]["StreamEnabled"]
    ):
        raise invalid("Disabling Stream is not allowed for a Global Table replica.")
    mode = request.get("BillingMode", state.billing_mode)
    if mode != state.billing_mode:
        if mode == "PROVISIONED":
            check_scaled(backend, state)
        for replica in group.replicas:
            replica.use_mode(mode)
    if "SSESpecification" in request:
        _check_key_only(state, request["SSESpecification"])
    if any(member in request for member in (*_SHARED, "TimeToLiveSpecification")):
        _take_own(backend, state, group.find(state.region), request)
        group.raise_revision(state.region)
        group.put(state)


def _check_key_only(state: TableState, specification: Mapping[str, Any]) -> None:
    """A replica may change its key, and not whether it has one. Raises ValidationException."""
    sealed = state.sealing is not None and state.sealing.enabled
    if sealed != ("SSEType" in specification or bool(specification.get("Enabled"))):
        raise invalid("The encryption type of a Global Table replica cannot be changed")


def _take_own(backend: Backend, state: TableState, own: Replica | None, request: Mapping[str, Any]) -> None:
    """Keeps what a replica has of its own equal to what its own region is asked for. Reads that are scaled
    there are its own, for other regions have other readers."""
    if own is None:
        return

    def own_reads(throughput: Mapping[str, int], present: int | None, index: str | None) -> int | None:
        reads = throughput.get("ReadCapacityUnits")
        if reads is None or (
            present is None and not backend.replicas.scaling.is_scaled(state, index, "Read")
        ):
            return present
        return reads

    own.read_units = own_reads(request.get("ProvisionedThroughput", {}), own.read_units, None)
    if own.max_read is not None:
        maximum = request.get("OnDemandThroughput", {}).get("MaxReadRequestUnits", own.max_read)
        own.max_read = None if maximum == REMOVED else maximum
    for update in request.get("GlobalSecondaryIndexUpdates", ()):
        if "Delete" in update:
            own.forget_index(update["Delete"]["IndexName"])
        changed = update.get("Update")
        if changed is None:
            continue
        name = changed["IndexName"]
        reads = own_reads(changed.get("ProvisionedThroughput", {}), own.index_read_units.get(name), name)
        if reads is not None:
            own.index_read_units[name] = reads
        if name in own.index_max_read:
            maximum = changed.get("OnDemandThroughput", {}).get("MaxReadRequestUnits")
            if maximum == REMOVED:
                del own.index_max_read[name]
            elif maximum is not None:
                own.index_max_read[name] = maximum
