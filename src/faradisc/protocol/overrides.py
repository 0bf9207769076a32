"""Every difference between the service and its own model, as data.

Four tables, read by `plan.py` and `constraints.py`:

    RULES         per operation: the layer, and which constraint errors are reported together
    MEMBERS       per structure and member: other bounds
    MEMBER_ORDER  per structure: members whose errors have another order than the model's
    ENUM_ORDER    per shape: the order in which messages list an enumeration

Sources: errors.md sections 3 ("Grammar of constraint messages", "Two layers in 2026"), 4 ("Captured
details"), 6.1, 6.5, 6.7, 11; limits.md section 1; new-features.md section 10. `Assumed:` marks what no
capture shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from faradisc.errors import SELECTIONS
from faradisc.records import dataclass, field

ERRORS_MAX = 10
"""Constraint errors collected in one message (errors.md section 3)."""

# --- Names of tables -----------------------------------------------------------------------------

NAME_PATTERN: Final = "[a-zA-Z0-9_.-]+"

TABLE_NAME_MINIMUM: Final = 3
TABLE_NAME_MAXIMUM: Final = 255
TABLE_ARN_MAXIMUM: Final = 1024
"""A member of shape TableArn accepts a name of 3 to 255 characters of the pattern above, or an ARN of up to
1,024 characters, which the operation parses (limits.md section 1, captured)."""

TABLE_NAME_SHAPE: Final = "TableArn"

# --- Wording and order per operation -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stage:
    """Members whose errors are reported together, before those of the next stage."""

    members: tuple[str, ...]
    bare: bool = False
    """Without `1 validation error detected: `."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How one operation reports its constraint errors.

    The older layer reports all together, `Value '<v>' at 'memberName'`. The newer one first reports lengths
    and bounds, as `Value at 'MemberName'`; then enumerations and the form of table names, as the older one
    does. A request on which the newer layer gives up is checked by the older one: a required member is
    missing, or `serialization.normalise` says so.
    """

    newer: bool = False
    order: tuple[str, ...] = ()
    """Members whose errors precede those of all others, in a structure inside too; in the newer layer the
    errors of lengths and bounds."""
    stages: tuple[Stage, ...] = ()
    """What is reported before the members not named; in the newer layer after lengths and bounds."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of every error of these members; not of a request that the older layer checks instead."""
    older_if_wrong: str | None = None
    """A member with which, if it is invalid, the older layer checks the request."""
    only_old_values: bool = False
    """ReturnValues other than ALL_OLD and NONE are reported with, and after, its stage."""
    reports_nulls: bool = False
    """The newer layer reports a missing member, instead of leaving the request to the older one."""
    json_keys: bool = False
    """Errors of the keys of a map repeat the map as JSON."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Members whose absence is reported first, alone and with this text."""
    empty_is_absent: bool = False
    """An empty map or string in such a member counts as absent."""
    lengths: Mapping[str, str] = field(default_factory=dict)
    """Names of tables and indexes whose length is reported before all others, in a sentence that calls them
    so."""
    unechoed: tuple[str, ...] = ()
    """Members whose value the older layer does not repeat."""
    names_last: bool = False
    """The older layer reports names of tables after, and only without, other errors."""


_RETURN_VALUES: Final = {
    # UPDATE_NEW is the service's spelling.
    "ReturnValues": (
        "Failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
    ),
    "ReturnItemCollectionMetrics": "ReturnItemCollectionMetrics can only be SIZE or NONE",
}
_NO_TABLE_NAME: Final = {
    "TableName": "The parameter 'TableName' is required but was not present in the request",
}
_INDEX_NAME: Final = Rules(lengths={"IndexName": "IndexName"})
_TARGET_NAME: Final = Rules(lengths={"TargetTableName": "TableName"})
_GLOBAL_NAME: Final = Rules(lengths={"GlobalTableName": "TableName"})
_TABLE_CLASS: Final = Rules(
    absent=_NO_TABLE_NAME,
    stages=(Stage(("TableClass",), bare=True),),
    texts={
        "TableClass": "Invalid table-class parameter provided. Please try again with a valid table-class "
        "value: [STANDARD, STANDARD_INFREQUENT_ACCESS]."
    },
)
_NAME_AND_CAPACITY: Final = Stage(("TableName", "ReturnConsumedCapacity"))
_ITEM_WRITE: Final = Rules(
    newer=True,
    stages=(Stage((*_NAME_AND_CAPACITY.members, "ReturnValues", "ReturnItemCollectionMetrics")),),
    texts=_RETURN_VALUES,
    older_if_wrong="ReturnValuesOnConditionCheckFailure",
    only_old_values=True,
)

RULES: Final[Mapping[str, Rules]] = {
    # errors.md section 11.
    "PutItem": _ITEM_WRITE,
    "DeleteItem": _ITEM_WRITE,
    "UpdateItem": Rules(
        newer=True,
        stages=(
            Stage(("TableName",)),
            Stage(("ReturnValues",)),
            Stage(("ReturnValuesOnConditionCheckFailure",), bare=True),
            Stage(("ReturnItemCollectionMetrics",)),
            Stage(("ReturnConsumedCapacity",), bare=True),
        ),
        texts=_RETURN_VALUES,
    ),
    "GetShardIterator": Rules(unechoed=("sequenceNumber",)),  # streams.md section 4
    "GetItem": Rules(newer=True, stages=(_NAME_AND_CAPACITY,)),
    "Query": Rules(newer=True, order=("Limit", "TableName"), stages=(_NAME_AND_CAPACITY,)),
    "Scan": Rules(
        newer=True, order=("Limit", "Segment", "TotalSegments", "TableName"), stages=(_NAME_AND_CAPACITY,)
    ),
    "SearchVectors": Rules(
        newer=True,
        stages=(Stage(("TableName",), bare=True), Stage(("ReturnConsumedCapacity",), bare=True)),
    ),
    # errors.md section 8.
    "ExecuteStatement": Rules(
        order=(
            "ReturnValuesOnConditionCheckFailure",
            "Limit",
            "Statement",
            "ReturnConsumedCapacity",
            "Parameters",
        )
    ),
    "BatchExecuteStatement": Rules(
        order=("ReturnConsumedCapacity", "ReturnValuesOnConditionCheckFailure", "Statement", "Parameters")
    ),
    # errors.md 6.7.
    "BatchGetItem": Rules(newer=True, json_keys=True, reports_nulls=True),
    "BatchWriteItem": Rules(
        absent={"RequestItems": "The requestItems parameter is required for BatchWriteItem"},
        empty_is_absent=True,
        names_last=True,
    ),
    "TransactWriteItems": Rules(names_last=True),
    "TransactGetItems": Rules(names_last=True),
    # errors.md section 4 names the first three. Assumed for the others of the same family.
    "CreateTable": _TABLE_CLASS,
    "DeleteTable": Rules(absent=_NO_TABLE_NAME),
    "DescribeTable": Rules(absent=_NO_TABLE_NAME),
    "UpdateTable": _TABLE_CLASS,
    # errors.md 6.10.
    "UpdateContributorInsights": _INDEX_NAME,
    "DescribeContributorInsights": _INDEX_NAME,
    "RestoreTableFromBackup": _TARGET_NAME,
    "RestoreTableToPointInTime": _TARGET_NAME,
    "DescribeGlobalTable": _GLOBAL_NAME,
    "DescribeGlobalTableSettings": _GLOBAL_NAME,
    "DescribeTimeToLive": Rules(absent=_NO_TABLE_NAME),
    "UpdateTimeToLive": Rules(absent=_NO_TABLE_NAME),
}
"""Other operations have DEFAULT_RULES: the older layer."""

CHECKED_LATER: Final = frozenset({"Select", "ConditionalOperator", "ComparisonOperator", "AttributeAction"})
"""Shapes of enumerations that operations of the newer layer check themselves (errors.md section 11)."""

DEFAULT_RULES: Final = Rules()

# --- Bounds and enumerations ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelFix:
    """The difference from the model for one member. None keeps the model's value."""

    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    plain_name: bool = False
    """ARNs are not accepted, although the model's shape is TableArn."""
    optional: bool = False
    """The member may be absent."""


_TABLE_KEYS: Final = ModelFix(maximum=2)
_UNCHECKED: Final = ModelFix(minimum=0, maximum=1 << 24, optional=True)
_ATTRIBUTES_TO_GET: Final = ModelFix(maximum=255)

MEMBERS: Final[Mapping[tuple[str, str], ModelFix]] = {
    # limits.md section 1: 3..255 on CreateTable.
    ("CreateTableInput", "TableName"): ModelFix(
        minimum=3, maximum=255, pattern=NAME_PATTERN, plain_name=True
    ),
    # new-features.md section 10: the service still has this maximum, except for GSIs; the model has not.
    ("CreateTableInput", "KeySchema"): _TABLE_KEYS,
    ("LocalSecondaryIndex", "KeySchema"): _TABLE_KEYS,
    ("TableCreationParameters", "KeySchema"): _TABLE_KEYS,
    # errors.md 6.10: the operations check tags, in words of their own.
    ("Tag", "Key"): _UNCHECKED,
    ("Tag", "Value"): _UNCHECKED,
    ("TagKeyList", "member"): _UNCHECKED,
    # errors.md section 7: beyond it the deserialiser finds no integer.
    ("SearchVectorsInput", "TopK"): ModelFix(maximum=2**31 - 1),
    # errors.md 6.10: an empty one is found by the operation.
    ("ExportTableToPointInTimeInput", "TableArn"): ModelFix(minimum=0),
    # limits.md section 3, legacy AttributesToGet.
    ("GetItemInput", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    ("QueryInput", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    ("ScanInput", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    ("KeysAndAttributes", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    # limits.md section 4, `Limit`; errors.md section 9.
    ("ListStreamsInput", "Limit"): ModelFix(maximum=100),
    ("DescribeStreamInput", "Limit"): ModelFix(maximum=100),
    ("GetRecordsInput", "Limit"): ModelFix(maximum=1000),
}

MEMBER_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateTableInput": ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"),
    "ProvisionedThroughput": ("WriteCapacityUnits", "ReadCapacityUnits"),
    "TimeToLiveSpecification": ("AttributeName", "Enabled"),
    "PutItemInput": (
        *("ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "ReturnValues", "TableName"),
        *("ConditionalOperator", "Item"),
    ),
    "TransactWriteItemsInput": (
        "ClientRequestToken",
        "ReturnConsumedCapacity",
        "ReturnItemCollectionMetrics",
    ),
    "UpdateItemInput": (
        *("ReturnConsumedCapacity", "ReturnValuesOnConditionCheckFailure", "TableName", "ReturnValues"),
        *("ReturnItemCollectionMetrics", "ConditionalOperator", "Key"),
    ),
    "QueryInput": (
        *("Select", "ReturnConsumedCapacity", "TableName", "ConditionalOperator", "QueryFilter"),
        *("KeyConditions", "Limit"),
    ),
    "ScanInput": (
        *("Select", "TotalSegments", "ReturnConsumedCapacity", "TableName", "ConditionalOperator"),
        *("ScanFilter", "Segment", "Limit"),
    ),
    "BatchWriteItemInput": ("RequestItems", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"),
}
"""Members of a structure whose errors the older layer reports in this order, at the place of the first of
them in the model (errors.md sections 4 and 11, captured: global indexes before local ones, tokens before
enumerations, UpdateItem, Query and Scan without a required member; section 6.10: units and time to live;
assumed: PutItem without Item, and of Query what Scan shows)."""

ENUM_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "ReturnConsumedCapacity": ("INDEXES", "TOTAL", "NONE"),
    "ReturnItemCollectionMetrics": ("SIZE", "NONE"),
    "ReturnValue": ("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"),
    "Select": SELECTIONS,
    "ScalarAttributeType": ("B", "N", "S"),
    "KeyType": ("HASH", "RANGE"),
    "ProjectionType": ("ALL", "INCLUDE", "KEYS_ONLY"),
    "BillingMode": ("PROVISIONED", "PAY_PER_REQUEST"),
    "InputCompressionType": ("ZSTD", "NONE", "GZIP"),
    "ContributorInsightsMode": ("THROTTLED_KEYS", "ACCESSED_AND_THROTTLED_KEYS"),
    "ComparisonOperator": (
        *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT"),
        *("NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"),
    ),
    "ConditionalOperator": ("OR", "AND"),
    "AttributeAction": ("ADD", "PUT", "DELETE"),
    "VectorDistanceFunction": ("DOT_PRODUCT", "COSINE", "EUCLIDEAN"),
}
"""errors.md section 3. Assumed for every other enumeration: the model's order."""

# --- Patterns ------------------------------------------------------------------------------------

_JAVA_PATTERNS: Final[Mapping[str, str]] = {
    r"\p{Print}+": r"[\x20-\x7e]+",
    r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*": (
        "[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]*"
    ),
    # The next two match the same as the models' patterns, but in linear time on hostile text.
    r"(?!((^[ ]+.*)|(.*([\u0000-\u001f]|[\u007f-\u009f]|[:/|])+.*)|(.*[ ]+$))).+": (
        r"(?! )[^\x00-\x1f\x7f-\x9f:/|]+(?<! )"
    ),
    r"^arn:.+:application-autoscaling:.+:[0-9]+:scalable-target\/[a-zA-Z0-9-]+$": (
        r"arn:[^:]+:application-autoscaling:[^:]+:[0-9]+:scalable-target/[a-zA-Z0-9-]+"
    ),
    **{
        rf"[\p{{L}}\p{{Z}}\p{{N}}_.:/=+\-@]{count}": (
            rf"(?u:[\w \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000.:/=+\-@]{count})"
        )
        for count in "*+"
    },
}
"""Python's form of patterns that only Java understands, or that are slow in Python."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Returns the model's pattern, for `fullmatch`. Java's `\\w` and `\\d` are ASCII."""
    return re.compile(_JAVA_PATTERNS.get(pattern, pattern), re.ASCII)
