"""What a resource policy can grant. Source: iam.md sections 1.2 (columns RP and XA) and 7.3."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.model import CompiledPolicy
from faradisc.operations.access.needs import Need

_ITEMS: Final = (
    *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "Query", "Scan"),
    *("BatchGetItem", "BatchWriteItem"),
)
_TAGS: Final = ("TagResource", "UntagResource", "ListTagsOfResource")
_POLICIES: Final = ("PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy")
STREAM_ACTIONS: Final = frozenset({"DescribeStream", "GetShardIterator", "GetRecords", *_POLICIES, *_TAGS})
TABLE_ACTIONS: Final = frozenset(
    {
        *(*_ITEMS, *_TAGS, *_POLICIES, "UpdateTable", "DeleteTable", "DescribeTable"),
        *("PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"),
        *("UpdateTimeToLive", "DescribeTimeToLive", "CreateBackup", "RestoreTableToPointInTime"),
        *("UpdateContinuousBackups", "DescribeContinuousBackups", "ExportTableToPointInTime"),
        *("UpdateContributorInsights", "DescribeContributorInsights"),
        *("DescribeTableReplicaAutoScaling", "UpdateTableReplicaAutoScaling"),
        *("EnableKinesisStreamingDestination", "DisableKinesisStreamingDestination"),
        *("UpdateKinesisStreamingDestination", "DescribeKinesisStreamingDestination"),
        *("AssociateTableReplica", "ReadDataForReplication", "WriteDataForReplication", "ReplicateSettings"),
        # Assumed: no source says whether these can be granted.
        *("SearchVectors", "StartBulkPutItems"),
    }
)
"""Actions that the policy of a table or of a stream may name."""

_FOREIGN: Final = frozenset(
    {
        *(*_ITEMS, *_TAGS, "UpdateTable", "DeleteTable", "DescribeTable"),
        *("DescribeStream", "GetShardIterator", "GetRecords"),
    }
)
"""Actions that may be granted to another account."""


def resource_policy_of(need: Need, *, foreign: bool) -> CompiledPolicy | None:
    """Returns the policy of the resource for a caller of its account, or of another (`foreign`).

    An action that it cannot grant it can still deny.
    """
    attached = None if need.state is None else need.state.policy
    if attached is None:
        return None
    granted = _FOREIGN if foreign else TABLE_ACTIONS | STREAM_ACTIONS
    return compiled(attached.document, grants=need.name in granted)


@lru_cache(1024)
def compiled(document: str, *, grants: bool = True) -> CompiledPolicy:
    """Compiles the policy of a resource. Raises PolicyError."""
    policy = compile_policy(document, "resource", name="resource policy")
    return policy if grants else replace(policy, allows=())
