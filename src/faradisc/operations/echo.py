"""Structures of a request that its description repeats, with the members of the service model only.

A request may carry members that the model does not have; they are ignored, and an answer must not hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Members = Mapping[str, "Members | None"]
"""By name: None for a value that is repeated as it is, otherwise the members of a structure or of list
elements."""


def _plain(*names: str) -> dict[str, None]:
    return dict.fromkeys(names)


_KEY_SCHEMA = _plain("AttributeName", "KeyType")
_PROJECTION = _plain("ProjectionType", "NonKeyAttributes")
_PROVISIONED = _plain("ReadCapacityUnits", "WriteCapacityUnits")
_ON_DEMAND = _plain("MaxReadRequestUnits", "MaxWriteRequestUnits")
_WARM = _plain("ReadUnitsPerSecond", "WriteUnitsPerSecond")
_BUCKET = _plain("S3Bucket", "S3BucketOwner", "S3KeyPrefix")

S3_SOURCE: Members = _BUCKET
FORMAT_OPTIONS: Members = {"Csv": _plain("Delimiter", "HeaderList")}
TABLE_PARAMETERS: Members = {
    **_plain("TableName", "BillingMode"),
    "AttributeDefinitions": _plain("AttributeName", "AttributeType"),
    "KeySchema": _KEY_SCHEMA,
    "ProvisionedThroughput": _PROVISIONED,
    "OnDemandThroughput": _ON_DEMAND,
    "SSESpecification": _plain("Enabled", "SSEType", "KMSMasterKeyId"),
    "GlobalSecondaryIndexes": {
        "IndexName": None,
        "KeySchema": _KEY_SCHEMA,
        "Projection": _PROJECTION,
        "ProvisionedThroughput": _PROVISIONED,
        "OnDemandThroughput": _ON_DEMAND,
        "WarmThroughput": _WARM,
    },
    "VectorIndexes": {
        **_plain("IndexName", "Dimensions", "DistanceFunction"),
        "VectorAttribute": _plain("AttributeName"),
        "SearchSchema": _plain("AttributeName", "SearchSchemaElementType"),
        "Projection": _PROJECTION,
    },
}
FILTER: Members = _plain(
    "FilterExpression",
    "ProjectionExpression",
    "KeyConditionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
)
BULK_INPUT: Members = {**_BUCKET, **_plain("InputFormat", "InputCompressionType")}
BULK_OUTPUT: Members = {**_BUCKET, **_plain("S3SseAlgorithm", "S3SseKmsKeyId", "OutputType")}


def echoed(given: Any, members: Members) -> Any:
    """Returns a structure, or a list of them, with the named members only."""
    if isinstance(given, list):
        return [echoed(each, members) for each in given]
    return {
        name: given[name] if inner is None else echoed(given[name], inner)
        for name, inner in members.items()
        if name in given
    }
