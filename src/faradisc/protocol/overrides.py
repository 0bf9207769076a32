"""Every difference between the service and its own model, as data.

Four tables, read by `plan.py` and `constraints.py`:

    RULES         per operation: the wording of constraint errors, and which are reported separately
    MEMBERS       per structure and member: other bounds
    MEMBER_ORDER  per structure: members whose errors have another order than the model's
    ENUM_ORDER    per shape: the order in which messages list an enumeration

Sources: errors.md sections 3 ("Grammar of constraint messages", "Two layers in 2026"), 4 ("Captured
details"), 6.1, 6.5, 6.7; limits.md section 1; new-features.md section 10. `Assumed:` marks what no capture
shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

ERRORS_MAX = 10
"""Constraint errors collected in one message (errors.md section 3)."""

# --- Names of tables -----------------------------------------------------------------------------

NAME_PATTERN: Final = "[a-zA-Z0-9_.-]+"

TABLE_NAME_MINIMUM: Final = 1
TABLE_NAME_MAXIMUM: Final = 255
TABLE_ARN_MAXIMUM: Final = 1024
"""A member of shape TableArn accepts a name of 1 to 255 characters of the pattern above, or an ARN of up to
1,024 characters, which the operation parses (limits.md section 1, captured)."""

TABLE_NAME_LISTED_MINIMUM: Final = 3
"""The minimum in messages about the keys of a map of tables (captured). Assumed: shorter names are accepted
there, as in the other data requests."""

TABLE_NAME_SHAPE: Final = "TableArn"

# --- Wording and order per operation -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rules:
    """How one operation reports its constraint errors."""

    echoes: bool = True
    """True: `Value '<v>' at 'memberName'`, the old layer; False: `Value at 'MemberName'`, the new one."""
    echoed: frozenset[str] = frozenset()
    """Members of an operation of the new layer that keep the form of the old one."""
    empty_unechoed: bool = False
    """An empty string is reported in the form of the new layer, although the operation repeats values."""
    json_keys: bool = False
    """Errors of the keys of a map repeat the map as JSON, in the form of the old layer."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Members whose absence is reported first, alone and with this text."""
    empty_is_absent: bool = False
    """An empty map or string in such a member counts as absent."""
    lengths: Mapping[str, str] = field(default_factory=dict)
    """Names of tables and indexes whose length is reported before all others, in a sentence that calls them
    so."""
    separate: tuple[tuple[str, ...], ...] = ()
    """Groups of members whose errors are reported before all others are collected, each group by itself."""
    unprefixed: frozenset[str] = frozenset()
    """Those of them that are reported without `1 validation error detected: `."""
    order: tuple[str, ...] = ()
    """Members whose errors precede those of all others, in a structure inside too."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of every error of these members."""
    older_unless: str | None = None
    """A request without this member, or with a very deep value (`has_deep_value`), is checked by the default
    rules."""


def _enumeration(*names: str) -> str:
    return f"Failed to satisfy constraint: Member must satisfy enum value set: [{', '.join(names)}]"


_CONDITIONAL_OPERATOR: Final = {"ConditionalOperator": _enumeration("ALL", "OR")}
_WRITE_TEXTS: Final = {
    **_CONDITIONAL_OPERATOR,
    # UPDATE_NEW is the service's spelling.
    "ReturnValues": _enumeration("ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATE_NEW", "NONE"),
    "ReturnItemCollectionMetrics": "ReturnItemCollectionMetrics can only be SIZE or NONE",
}
_WRITE_ORDER: Final = ("ReturnConsumedCapacity", "ReturnValues", "ReturnItemCollectionMetrics")
_NO_TABLE_NAME: Final = {
    "TableName": "The parameter 'TableName' is required but was not present in the request",
}
_INDEX_NAME: Final = Rules(lengths={"IndexName": "IndexName"})
_TARGET_NAME: Final = Rules(lengths={"TargetTableName": "TableName"})
_GLOBAL_NAME: Final = Rules(lengths={"GlobalTableName": "TableName"})
_TABLE_CLASS: Final = Rules(
    absent=_NO_TABLE_NAME,
    separate=(("TableClass",),),
    unprefixed=frozenset({"TableClass"}),
    texts={
        "TableClass": "Invalid table-class parameter provided. Please try again with a valid table-class "
        "value: [STANDARD, STANDARD_INFREQUENT_ACCESS]."
    },
)


def _item_write(required: str, *separate: str) -> Rules:
    """The rules of a single-item write: the table name alone, then the rest together (errors.md section 4).

    Assumed for PutItem and DeleteItem: that a missing item or key leads to the old layer, as in UpdateItem.
    """
    return Rules(
        empty_unechoed=True,
        separate=tuple((name,) for name in ("TableName", *separate)),
        order=_WRITE_ORDER,
        texts=_WRITE_TEXTS,
        older_unless=required,
    )


RULES: Final[Mapping[str, Rules]] = {
    "PutItem": _item_write("Item"),
    "DeleteItem": _item_write("Key"),
    "UpdateItem": _item_write("Key", "ReturnValues"),
    # errors.md section 3, "new, bare"; 6.5 shows Query's `Value at 'Limit'`, section 4 the order. Assumed of
    # GetItem: ReturnConsumedCapacity is repeated as by Query and BatchGetItem.
    "GetItem": Rules(echoes=False, echoed=frozenset({"ReturnConsumedCapacity"})),
    "Query": Rules(
        echoes=False,
        echoed=frozenset({"ReturnConsumedCapacity", "Select"}),
        separate=(("ConditionalOperator",),),
        unprefixed=frozenset({"ConditionalOperator"}),
        texts=_CONDITIONAL_OPERATOR,
    ),
    "SearchVectors": Rules(echoes=False),
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
    "BatchGetItem": Rules(echoes=False, echoed=frozenset({"ReturnConsumedCapacity"}), json_keys=True),
    "BatchWriteItem": Rules(
        absent={"RequestItems": "The requestItems parameter is required for BatchWriteItem"},
        empty_is_absent=True,
        separate=(("ReturnConsumedCapacity", "ReturnItemCollectionMetrics"),),
    ),
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
"""Other operations have DEFAULT_RULES: the old layer."""

DEFAULT_RULES: Final = Rules()

# --- Bounds and enumerations ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """The difference from the model for one member. None keeps the model's value."""

    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    plain_name: bool = False
    """ARNs are not accepted, although the model's shape is TableArn."""
    optional: bool = False
    """The member may be absent."""
    between: bool = False
    """One range error, `Value at '<member>' ... between <a> and <b>`, instead of one per bound."""


_TABLE_KEYS: Final = Change(maximum=2)
_UNCHECKED: Final = Change(minimum=0, maximum=1 << 24, optional=True)
_ATTRIBUTES_TO_GET: Final = Change(maximum=255)

MEMBERS: Final[Mapping[tuple[str, str], Change]] = {
    # limits.md section 1: 3..255 on CreateTable.
    ("CreateTableInput", "TableName"): Change(minimum=3, maximum=255, pattern=NAME_PATTERN, plain_name=True),
    # new-features.md section 10: the service still has this maximum, except for GSIs; the model has not.
    ("CreateTableInput", "KeySchema"): _TABLE_KEYS,
    ("LocalSecondaryIndex", "KeySchema"): _TABLE_KEYS,
    ("TableCreationParameters", "KeySchema"): _TABLE_KEYS,
    # errors.md 6.10: the operations check tags, in words of their own.
    ("Tag", "Key"): _UNCHECKED,
    ("Tag", "Value"): _UNCHECKED,
    ("TagKeyList", "member"): _UNCHECKED,
    # errors.md 6.10: an empty one is found by the operation.
    ("ExportTableToPointInTimeInput", "TableArn"): Change(minimum=0),
    # errors.md 6.5.
    ("ScanInput", "TotalSegments"): Change(between=True),
    # limits.md section 3, legacy AttributesToGet.
    ("GetItemInput", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    ("QueryInput", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    ("ScanInput", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    ("KeysAndAttributes", "AttributesToGet"): _ATTRIBUTES_TO_GET,
    # limits.md section 4, `Limit`; errors.md section 9.
    ("ListStreamsInput", "Limit"): Change(maximum=100),
    ("DescribeStreamInput", "Limit"): Change(maximum=100),
    ("GetRecordsInput", "Limit"): Change(maximum=1000),
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
        *("ReturnConsumedCapacity", "TableName", "ReturnValues", "ReturnItemCollectionMetrics"),
        *("ConditionalOperator", "Key"),
    ),
}
"""Members of a structure whose errors are reported in this order, at the place of the first of them in the
model (errors.md section 4, captured: global indexes before local ones, tokens before enumerations, UpdateItem
without Key; section 6.10: units and time to live; assumed in part: the others, and PutItem without Item)."""

ENUM_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "ReturnConsumedCapacity": ("INDEXES", "TOTAL", "NONE"),
    "ReturnItemCollectionMetrics": ("SIZE", "NONE"),
    "ReturnValue": ("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"),
    "Select": ("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
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
