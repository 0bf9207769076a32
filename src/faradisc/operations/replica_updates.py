"""UpdateTable with ReplicaUpdates: adds, changes and removes replicas of a global table (2019.11.21).

Checks: actions -> regions -> the table -> not in use -> the action against the group. The request changes the
group only; engine/replication/ does the rest.

Sources: errors.md section 6.11; new-features.md section 12. Assumed: the texts for streams
of another view type, unknown indexes, and overrides of provisioned throughput.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faradisc.engine.replication.group import VIEW_TYPE
from faradisc.engine.tables.definition import invalid
from faradisc.engine.tables.replicas import Replica, ReplicaGroup
from faradisc.engine.tables.state import DAY_NS, StreamSetting, TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import check_exists
from faradisc.errors import ResourceInUseException, UnsupportedOperation, ValidationException
from faradisc.operations.call import Backend, Call

_SHARED: Final = ("GlobalSecondaryIndexUpdates", "TableClass", "OnDemandThroughput")
"""The changes of UpdateTable that all replicas get."""
NOT_ON_DEMAND: Final = "Table write capacity should either be Pay-Per-Request or AutoScaled."
_IN_USE: Final = "The resource which you are attempting to change is in use."
_SOURCE: Final = (
    "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to the "
    "table in the last 24 hours."
)


def _action(request: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Returns the kind and the members of the one action. Raises ValidationException."""
    actions = [(kind, members) for update in request["ReplicaUpdates"] for kind, members in update.items()]
    kinds = {kind for kind, _ in actions}
    if len(kinds) > 1:
        raise ValidationException(
            "Update table operation with more than one type of replica actions not allowed."
        )
    if len(actions) > 1:
        raise ValidationException(
            "Update table operation with more than one create or delete replica actions not allowed"
        )
    if "Disassociate" in kinds:
        raise UnsupportedOperation("Disassociate: this version of Faradisc does not support it")
    if request.get("MultiRegionConsistency") == "STRONG":
        raise UnsupportedOperation(
            "MultiRegionConsistency: this version of Faradisc supports global tables that are EVENTUAL only"
        )
    return actions[0]


async def change_replicas(backend: Backend, call: Call, table: Table) -> Table:
    """Changes the group; returns the table. Raises ValidationException, ResourceInUseException."""
    kind, members = _action(call.request)
    region, now_ns = members["RegionName"], backend.clock.now_ns()
    if not backend.catalog.per_region:
        raise UnsupportedOperation(
            "ReplicaUpdates: this server has one set of tables for all regions; start it with --per-region, "
            "or with --regions us-east-1,eu-west-1."
        )
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

    def change(state: TableState) -> bool:
        check_exists(state)
        group = ReplicaGroup.of(state)
        if state.status == "UPDATING":
            raise ResourceInUseException(_IN_USE)
        if group is None:
            group = ReplicaGroup(backend.entropy.uuid(), 0, [Replica(state.region, "ACTIVE", now_ns)])
        elif not backend.replicas.is_settled(state, group):
            raise ResourceInUseException(_IN_USE)
        replica = group.find(region)
        if kind == "Create":
            _create(backend, state, group, members, now_ns)
        elif replica is None:
            raise ValidationException(
                "Update global table operation failed because one or more replicas were not part of the "
                f"global table. Please retry the request without these replicas: [{region}]."
            )
        elif kind == "Delete":
            check_no_source(group, region, now_ns)
            _check_unprotected(backend.replicas.copies(state, group).get(region))
            replica.status = "DELETING"
            if backend.replicas.at(state, region) is None:
                group.replicas.remove(replica)  # its creation has failed
        else:
            _override(state, replica, members)
            replica.status = "UPDATING"
        group.revision += 1
        group.put(state)
        return False

    return await backend.catalog.update(table, change)


def _create(
    backend: Backend, state: TableState, group: ReplicaGroup, members: Mapping[str, Any], now_ns: int
) -> None:
    region = members["RegionName"]
    if group.find(region) is not None or backend.replicas.at(state, region) is not None:
        raise ValidationException(
            f"Failed to create a the new replica of table with name: ‘{state.name}’ because one or more "
            "replicas already existed as tables."
        )
    if not state.on_demand:
        raise ValidationException(NOT_ON_DEMAND)
    if state.sealing is not None or "KMSMasterKeyId" in members:
        raise UnsupportedOperation(
            "ReplicaUpdates: this version of Faradisc does not replicate encrypted tables"
        )
    if state.vector_indexes:
        raise UnsupportedOperation(
            "ReplicaUpdates: this version of Faradisc does not replicate tables with vector indexes"
        )
    if state.stream is None:
        state.stream = StreamSetting(VIEW_TYPE)
    elif state.stream.view_type != VIEW_TYPE:
        raise invalid(f"The stream of a Global Table replica has the view type {VIEW_TYPE}")
    replica = Replica(region, "CREATING", now_ns, source=state.region)
    _override(state, replica, members)
    group.replicas.append(replica)


def _override(state: TableState, replica: Replica, members: Mapping[str, Any]) -> None:
    """Takes over the settings that a replica has of its own."""
    indexes = {index.name for index in state.global_indexes}
    for of in (members, *members.get("GlobalSecondaryIndexes", ())):
        if "ProvisionedThroughputOverride" in of:
            raise invalid(
                "ProvisionedThroughputOverride cannot be specified when BillingMode is PAY_PER_REQUEST"
            )
    if "KMSMasterKeyId" in members:
        raise UnsupportedOperation("KMSMasterKeyId: this version of Faradisc does not encrypt replicas")
    replica.table_class = members.get("TableClassOverride", replica.table_class)
    maximum = members.get("OnDemandThroughputOverride", {})
    replica.max_read = _units(maximum, replica.max_read)
    for each in members.get("GlobalSecondaryIndexes", ()):
        name = each["IndexName"]
        if name not in indexes:
            raise invalid(f"The table does not have the specified index: {name}")
        units = _units(each.get("OnDemandThroughputOverride", {}), replica.index_max_read.get(name))
        if units is not None:
            replica.index_max_read[name] = units


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


def _check_unprotected(table: Table | None) -> None:
    if table is not None and table.state.deletion_protection:
        raise ValidationException(
            f"Cannot delete table {table.name} in region {table.state.region} because it has deletion "
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
    if "StreamSpecification" in request and not request["StreamSpecification"]["StreamEnabled"]:
        raise invalid("Disabling Stream is not allowed for a Global Table replica.")
    if request.get("BillingMode") == "PROVISIONED":
        raise ValidationException(NOT_ON_DEMAND)
    for member in ("SSESpecification", "VectorIndexUpdates"):
        if member in request:
            raise UnsupportedOperation(f"{member}: this version of Faradisc does not change it of a replica")
    if any(member in request for member in (*_SHARED, "TimeToLiveSpecification")):
        group.revision += 1
        group.put(state)
