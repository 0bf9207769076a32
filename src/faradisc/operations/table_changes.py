"""Which changes one UpdateTable makes together, and which beside a change that is still running.

Source: errors.md section 6.10. Assumed: that a change of the table's class meets a change of throughput in
the words of the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table_lifecycle import IN_USE, check_exists
from faradisc.errors import ResourceInUseException, ValidationException, invalid

CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "TableClass",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
    "VectorIndexUpdates",
)
_NAMED = (
    *("ProvisionedThroughput", "BillingMode", "UpdateStreamEnabled", "GlobalSecondaryIndexUpdates"),
    *("SSESpecification", "ReplicaUpdates", "MultiAccountReplicaReady", "ReplicaTransitRoleArn"),
    *("MultiRegionConsistency", "DeletionProtectionEnabled", "OnDemandThroughput"),
)
"""The changes that the service names when there is none; two more follow."""
_ALONE = {
    "ReplicaUpdates": "Replica modification",
    "SSESpecification": "Server-Side Encryption modification",
    "TableClass": "TableClass modification",
    "DeletionProtectionEnabled": "DeletionProtection modification",
}
"""In the order in which they are reported."""


def check_together(request: Mapping[str, Any], created: Collection[Any], deleted: Collection[Any]) -> None:
    """Raises ValidationException for a request without a change, or with changes that exclude each other.

    created, deleted: what happens to the table's indexes.
    """
    if all(request.get(member) in (None, []) for member in CHANGES):
        named = ", ".join(name for name in _NAMED if request.get(name) in (None, []))
        raise ValidationException(f"At least one of {named}, WarmThroughput or TableClass is required")
    if request.get("GlobalSecondaryIndexUpdates") == []:
        raise invalid("List of GlobalSecondaryIndexUpdates is empty")
    if {} in request.get("ReplicaUpdates", ()):
        raise ValidationException(
            "There are no actions specified in the Replica Update Action of the request."
        )
    given = {name for name in CHANGES if request.get(name) not in (None, [], {})}
    if "SSESpecification" in request:
        given.add("SSESpecification")
    strong = request.get("MultiRegionConsistency") == "STRONG" or "GlobalTableWitnessUpdates" in request
    if strong and len(given) > 1:
        raise ValidationException(
            "Requests that modify replicas or witnesses must not also modify other fields"
        )
    for member, what in _ALONE.items():
        if member in given and len(given) > 1:
            raise invalid(f"{what} must be the only operation in the request")
    if "WarmThroughput" in given and created:
        raise invalid("Create global secondary index cannot be specified when updating WarmThroughput")
    if "OnDemandThroughput" in given and given - {"OnDemandThroughput", "BillingMode"}:
        raise invalid("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")
    if "WarmThroughput" in given and len(given) > 1:
        raise invalid("WarmThroughput must be the only operation in the request")
    streamed = "StreamSpecification" in given
    if streamed and ("ProvisionedThroughput" in given or request.get("BillingMode") == "PROVISIONED"):
        raise invalid("You cannot modify stream status while updating table IOPS")
    if created or deleted:
        if "ProvisionedThroughput" in given:
            raise invalid("You cannot create or delete index while updating table IOPS")
        if streamed:
            raise invalid("You cannot create or delete index while changing stream status")


def check_admitted(
    state: TableState,
    request: Mapping[str, Any],
    updated: Collection[str],
    created: Collection[str],
    deleted: Collection[str],
) -> None:
    """Raises ResourceInUseException for a change that another one, which is still running, excludes.

    updated, created, deleted: names of indexes. Deletion protection, encryption, warm throughput and tags
    change beside everything.
    """
    check_exists(state)
    _check_indexes(state, updated, created, deleted)
    wanted = _wanted(request, state, created or deleted)
    for running in _running(state):
        for change in wanted:
            text = running[change]
            if text is not None:
                raise ResourceInUseException(IN_USE + text)


_VERBS = {
    "iops": "Can't change table IOPS",
    "stream": "Can't change stream status",
    "index": "Can't create or delete an index",
    "class": "Can't update table class",
}
_MAXIMUM = "OnDemandThroughput cannot be updated while {} is in progress"


def _wanted(request: Mapping[str, Any], state: TableState, indexed: bool | Collection[Any]) -> list[str]:
    """Returns the kinds of changes in a request that others can exclude."""
    mode = request.get("BillingMode", state.billing_mode)
    kinds = {
        "iops": "ProvisionedThroughput" in request or mode != state.billing_mode,
        "stream": "StreamSpecification" in request,
        "index": indexed,
        "class": "TableClass" in request,
        "maximum": request.get("OnDemandThroughput"),
    }
    return [kind for kind, given in kinds.items() if given]


def _running(state: TableState) -> list[dict[str, str | None]]:
    """Returns for each change that is running the text for every kind of change that it excludes."""
    pending, name = state.pending, state.name
    found: list[dict[str, str | None]] = []
    if pending.stream is not None:
        at = f"Table: {name} Stream: {state.latest_stream_label} Operation: {pending.stream}"
        texts = _texts(f"when stream status is being updated. {at}")
        found.append(
            {
                **texts,
                "stream": f"A stream status change is currently in progress. {at}",
                "maximum": f"{_MAXIMUM.format('stream status update')}. {at}",
            }
        )
    if pending.table_class is not None:
        at = f"TableClassUpdateInProgress: {pending.table_class}"
        texts = _texts(f"when a table class update is in progress. Table: {name} {at}")
        found.append({**texts, "maximum": f"{_MAXIMUM.format('TableClass update')}. {at}"})
    if pending.throughput is not None or pending.billing_mode is not None:
        rest = f"while table IOPS are being updated. Table: {name}"
        texts = _texts(rest)
        found.append(
            {
                **texts,
                "iops": f"Table IOPS are currently being updated. Table: {name}",
                "stream": f"Can't enable or disable stream {rest}",
                "index": f"Can't create or delete indexes {rest}",
                "maximum": _MAXIMUM.format("BillingMode update"),
            }
        )
    deleting = [index.name for index in state.online_indexes() if index.status == "DELETING"]
    for indexes, doing, noun in (
        (pending.allocating, "created", "creation"),
        (deleting, "deleted", "deletion"),
    ):
        if indexes:
            listed = f"[{', '.join(indexes)}]"
            texts = _texts(f"when an index is being {doing}. Table: {name} Indexes: {listed}")
            maximum = f"{_MAXIMUM.format(f'index {noun}')} for indexes: {listed}"
            found.append({**texts, "index": None, "maximum": maximum})  # definition.py: one at a time
    return found


def _texts(rest: str) -> dict[str, str | None]:
    return {kind: f"{verb} {rest}" for kind, verb in _VERBS.items()}


def _check_indexes(
    state: TableState, updated: Collection[str], created: Collection[str], deleted: Collection[str]
) -> None:
    """Raises ResourceInUseException for a change of an index that is changing itself."""
    for index in state.online_indexes():
        at = f"Table: {state.name} Index: {index.name}"
        if index.name not in {*updated, *created, *deleted}:
            continue
        if index.status == "DELETING":
            raise ResourceInUseException(f"{IN_USE}Index is being deleted. {at}")
        if index.name in state.pending.allocating:
            if index.name in deleted:
                raise ResourceInUseException(
                    f"{IN_USE}Index creation is in resource allocation phase. "
                    f"Retry deletion during backfilling phase or when the index is active. {at}"
                )
            if index.name in updated:
                # The two spaces are the service's.
                raise ResourceInUseException(
                    f"{IN_USE}Index is being created but is  not backfilling yet. {at}"
                )
        if index.name in {**state.pending.index_throughput, **state.pending.index_maximum}:
            raise ResourceInUseException(f"{IN_USE}Index is being updated. {at}")
