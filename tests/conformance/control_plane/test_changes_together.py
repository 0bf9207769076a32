"""Which two changes one UpdateTable makes: every pair of them, on a provisioned table.

Source: errors.md section 6.10.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from fixtures.in_process import InProcess, Refused
from fixtures.schemas import schema

UNITS = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 7}
G = {"IndexName": "new", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}
CHANGES: dict[str, dict[str, Any]] = {
    "encryption": {"SSESpecification": {"Enabled": False}},
    "class": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
    "protection": {"DeletionProtectionEnabled": True},
    "warm": {"WarmThroughput": {"ReadUnitsPerSecond": 20_000}},
    "maximum": {"OnDemandThroughput": {"MaxReadRequestUnits": 9}},
    "stream": {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
    "units": {"ProvisionedThroughput": UNITS},
    "create": {
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {**G, "Projection": {"ProjectionType": "ALL"}}}],
    },
    "delete": {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "index"}}]},
    "on demand": {"BillingMode": "PAY_PER_REQUEST"},
}
ALONE = {
    "encryption": "Server-Side Encryption modification must be the only operation in the request",
    "class": "TableClass modification must be the only operation in the request",
    "protection": "DeletionProtection modification must be the only operation in the request",
}
"""In the order in which one is named before the other."""
TWO = {
    ("warm", "create"): "Create global secondary index cannot be specified when updating WarmThroughput",
    ("stream", "units"): "You cannot modify stream status while updating table IOPS",
    ("units", "create"): "You cannot create or delete index while updating table IOPS",
    ("units", "delete"): "You cannot create or delete index while updating table IOPS",
    ("stream", "create"): "You cannot create or delete index while changing stream status",
    ("stream", "delete"): "You cannot create or delete index while changing stream status",
}
NEITHER = (
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)
TOGETHER = {(change, "on demand") for change in ("maximum", "stream", "create", "delete")}


def expected(pair: tuple[str, str]) -> str | None:
    """The text that refuses a pair on a provisioned table; None: it is accepted."""
    for change, text in ALONE.items():
        if change in pair:
            return text
    if pair in TWO:
        return TWO[pair]
    if "maximum" in pair and "on demand" not in pair:
        return "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
    if "warm" in pair:
        return "WarmThroughput must be the only operation in the request"
    return NEITHER if pair == ("units", "on demand") else None


PAIRS = [pair for pair in combinations(CHANGES, 2) if pair != ("create", "delete")]


@pytest.mark.parametrize("case", PAIRS, ids=[" and ".join(pair) for pair in PAIRS])
def test_two_changes_stand_together_or_not(raw: InProcess, case: tuple[str, str]) -> None:
    members = {**schema("p:S", gsi={"index": ("g:S", "", "ALL")}), "BillingMode": "PROVISIONED"}
    members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = UNITS
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    raw.call("CreateTable", TableName="table", **members, ProvisionedThroughput=units)
    before = raw.call("DescribeTable", TableName="table")
    first, second = case
    text = expected(case)
    assert (text is None) == (case in TOGETHER)
    if text is None:
        raw.call("UpdateTable", TableName="table", **CHANGES[first], **CHANGES[second])
        return
    with pytest.raises(Refused) as refused:
        raw.call("UpdateTable", TableName="table", **CHANGES[first], **CHANGES[second])
    assert refused.value.text == f"One or more parameter values were invalid: {text}"
    assert raw.call("DescribeTable", TableName="table") == before
