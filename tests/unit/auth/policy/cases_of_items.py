"""Fine-grained access to items: the guide's example policies (iam.md sections 2.7, 10.3 and 10.4).

The contexts are those of the requests in the names; who builds them from requests has its own tests.
"""

from __future__ import annotations

from policy_cases import (
    IMPLEMENTED,
    INDEX,
    ITEMS,
    PARTIQL,
    SEVERAL,
    SIMULATOR,
    TAGS,
    TRANSACTIONS,
    VECTORS,
    Case,
    Expected,
    Policy,
    T,
    Value,
    allow,
    deny,
)

ITEM_ACTIONS = ["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"]
LEADING, ATTRIBUTES = "dynamodb:LeadingKeys", "dynamodb:Attributes"
SELECT, RETURNED, ENCLOSING = "dynamodb:Select", "dynamodb:ReturnValues", "dynamodb:EnclosingOperation"
SPECIFIC = "SPECIFIC_ATTRIBUTES"


def asked(
    name: str,
    action: str,
    expected: Expected,
    source: str,
    policy: Policy,
    *,
    on: str = T,
    **context: Value,
) -> Case:
    """Returns a case of alice. Keywords are DynamoDB's condition keys, lower-cased."""
    keys = {f"dynamodb:{key}": value for key, value in context.items()}
    return Case(name, ("alice", action, on), expected, source, identity=policy, context=keys)


OWN_ITEMS = allow(
    ITEM_ACTIONS, [T, f"{T}/index/*"], **{"ForAllValues:StringEquals": {LEADING: ["${aws:username}"]}}
)
OWN_ITEMS_AND_SCAN = allow("Scan", T, **OWN_ITEMS["Condition"])
ANY_OF_KEYS = allow("GetItem", T, **{"ForAnyValue:StringEquals": {LEADING: "${aws:username}"}})
PREFIXED = allow(ITEM_ACTIONS, T, **{"ForAllValues:StringLike": {LEADING: "${aws:PrincipalTag/team}#*"}})
NUMBERED = allow(ITEM_ACTIONS, T, **{"ForAllValues:StringEquals": {LEADING: ["1"]}})

KEYED = [
    asked("GetItem of alice", "GetItem", "allow", ITEMS, OWN_ITEMS, leadingkeys=("alice",)),
    asked("GetItem of bob", "GetItem", "implicit", ITEMS, OWN_ITEMS, leadingkeys=("bob",)),
    asked("GetItem of Alice", "GetItem", "implicit", ITEMS, OWN_ITEMS, leadingkeys=("Alice",)),
    asked("PutItem of alice", "PutItem", "allow", ITEMS, OWN_ITEMS, leadingkeys=("alice",)),
    asked("UpdateItem of bob", "UpdateItem", "implicit", ITEMS, OWN_ITEMS, leadingkeys=("bob",)),
    asked("BatchGetItem of both", "BatchGetItem", "implicit", ITEMS, OWN_ITEMS, leadingkeys=("alice", "bob")),
    asked("BatchWriteItem of alice", "BatchWriteItem", "allow", ITEMS, OWN_ITEMS, leadingkeys=("alice",)),
    asked("Query of alice", "Query", "allow", IMPLEMENTED, OWN_ITEMS, leadingkeys=("alice",)),
    asked("Query of bob", "Query", "implicit", IMPLEMENTED, OWN_ITEMS, leadingkeys=("bob",)),
    asked("Query of an index", "Query", "implicit", IMPLEMENTED, OWN_ITEMS, on=INDEX, leadingkeys=("chess",)),
    asked("Query of alice in an index", "Query", "allow", ITEMS, OWN_ITEMS, on=INDEX, leadingkeys=("alice",)),
    asked("Scan that is not granted", "Scan", "implicit", ITEMS, OWN_ITEMS),
    asked("Scan that is granted", "Scan", "allow", ITEMS, OWN_ITEMS_AND_SCAN),
    asked("one of two keys suffices", "GetItem", "allow", SEVERAL, ANY_OF_KEYS, leadingkeys=("alice", "b")),
    asked("no key suffices", "GetItem", "implicit", SEVERAL, ANY_OF_KEYS),
    asked("prefixed keys", "GetItem", "allow", ITEMS, PREFIXED, leadingkeys=("red#1",)),
    asked("prefixed keys of others", "GetItem", "implicit", ITEMS, PREFIXED, leadingkeys=("red#1", "blue#1")),
    asked("a prefix alone", "GetItem", "implicit", ITEMS, PREFIXED, leadingkeys=("red",)),
    asked("a numeric key", "GetItem", "allow", IMPLEMENTED, NUMBERED, leadingkeys=("1",)),
    asked("another numeric key", "GetItem", "implicit", IMPLEMENTED, NUMBERED, leadingkeys=("10",)),
    asked(
        "keys without a set operator",
        "GetItem",
        "implicit",
        SIMULATOR,
        allow("GetItem", T, StringEquals={LEADING: "${aws:username}"}),
        leadingkeys=("alice",),
    ),
]

THIRD = allow(
    ["GetItem", "Scan", "UpdateItem"],
    T,
    **{
        "ForAllValues:StringEquals": {ATTRIBUTES: ["UserId", "TopScore"]},
        "StringEqualsIfExists": {SELECT: SPECIFIC, RETURNED: ["NONE", "UPDATED_OLD", "UPDATED_NEW"]},
    },
)
FOURTH = allow(
    "UpdateItem",
    T,
    **{"ForAllValues:StringNotLike": {ATTRIBUTES: ["FreeGamesAvailable", "BossLevelUnlocked"]}},
)
FIFTH = allow("Query", INDEX, StringEquals={SELECT: "ALL_PROJECTED_ATTRIBUTES"})
SEVENTH = [
    allow("*"),
    deny("*", T, **{"ForAnyValue:StringEquals": {ATTRIBUTES: ["SSN", "CreditCardNumber"]}}),
    deny("*", T, StringNotEqualsIfExists={SELECT: SPECIFIC}),
]
READ = {"select": SPECIFIC}
ID, SCORE, WINS = "UserId", "TopScore", "Wins"

ATTRIBUTE_CASES = [
    asked("3: GetItem, listed", "GetItem", "allow", ITEMS, THIRD, attributes=(ID, SCORE), **READ),
    asked("3: GetItem, all", "GetItem", "implicit", ITEMS, THIRD, attributes=(ID,), select="ALL_ATTRIBUTES"),
    asked("3: GetItem, more", "GetItem", "implicit", ITEMS, THIRD, attributes=(ID, SCORE, WINS), **READ),
    asked("3: update", "UpdateItem", "allow", ITEMS, THIRD, attributes=(ID, SCORE), returnvalues="NONE"),
    asked("3: new", "UpdateItem", "allow", ITEMS, THIRD, attributes=(ID, SCORE), returnvalues="UPDATED_NEW"),
    asked("3: all", "UpdateItem", "implicit", ITEMS, THIRD, attributes=(ID, SCORE), returnvalues="ALL_NEW"),
    asked(
        "3: condition", "UpdateItem", "implicit", ITEMS, THIRD, attributes=(SCORE, WINS), returnvalues="NONE"
    ),
    asked("3: Scan with a filter", "Scan", "implicit", ITEMS, THIRD, attributes=(ID, WINS), **READ),
    asked("3: Scan, listed", "Scan", "allow", ITEMS, THIRD, attributes=(ID,), **READ),
    asked("3: PutItem", "PutItem", "implicit", ITEMS, THIRD, attributes=(ID,), returnvalues="NONE"),
    asked("4: allowed", "UpdateItem", "allow", ITEMS, FOURTH, attributes=(ID, WINS)),
    asked("4: one is not", "UpdateItem", "implicit", ITEMS, FOURTH, attributes=(WINS, "BossLevelUnlocked")),
    asked("5: projected", "Query", "allow", ITEMS, FIFTH, on=INDEX, select="ALL_PROJECTED_ATTRIBUTES"),
    asked("5: all", "Query", "implicit", ITEMS, FIFTH, on=INDEX, select="ALL_ATTRIBUTES"),
    asked("5: the table", "Query", "implicit", ITEMS, FIFTH, select="ALL_PROJECTED_ATTRIBUTES"),
    asked("7: allowed", "GetItem", "allow", ITEMS, SEVENTH, attributes=("Name",), **READ),
    asked("7: denied", "GetItem", "explicit", ITEMS, SEVENTH, attributes=("SSN",), **READ),
    asked("7: all", "GetItem", "explicit", ITEMS, SEVENTH, attributes=("Name",), select="ALL_ATTRIBUTES"),
    asked("7: no Select", "PutItem", "explicit", ITEMS, SEVENTH, attributes=("Name",)),
    asked("a path is its attribute", "UpdateItem", "allow", ITEMS, FOURTH, attributes=("Address",)),
]

VECTOR_KEYS = allow("SearchVectors", INDEX, **{"ForAllValues:StringEquals": {LEADING: "${aws:username}"}})
VECTOR_CASES = [
    asked(
        "vectors without condition",
        "SearchVectors",
        "allow",
        VECTORS,
        allow("SearchVectors", INDEX),
        on=INDEX,
    ),
    asked("vectors by leading keys", "SearchVectors", "implicit", VECTORS, VECTOR_KEYS, on=INDEX),
    asked(
        "vectors by absent Select",
        "SearchVectors",
        "implicit",
        VECTORS,
        allow("*", INDEX, StringEqualsIfExists={SELECT: SPECIFIC}),
        on=INDEX,
    ),
    asked(
        "vectors by another key",
        "SearchVectors",
        "allow",
        VECTORS,
        allow("SearchVectors", INDEX, StringEquals={"aws:username": "alice"}),
        on=INDEX,
    ),
]

WRITES = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "GetItem"]
IN_TRANSACTION = {"ForAnyValue:StringEquals": {ENCLOSING: ["TransactWriteItems", "TransactGetItems"]}}
SECOND_TX = allow(WRITES, T, **IN_TRANSACTION)
THIRD_TX = [deny(WRITES, T, **IN_TRANSACTION), allow(WRITES, T)]
FOURTH_TX = allow("ConditionCheckItem", T, StringEqualsIfExists={RETURNED: "NONE"})
NOT_IN_EXECUTE = [
    allow("PartiQL*", T),
    deny("PartiQL*", T, StringEquals={ENCLOSING: ["ExecuteTransaction"]}),
]
ONLY_IN_EXECUTE = allow("PartiQL*", T, StringEquals={ENCLOSING: ["ExecuteTransaction"]})
OUTSIDE = allow("PutItem", T, StringNotEquals={ENCLOSING: "TransactWriteItems"})
NO_FULL_SCAN = [
    deny("PartiQLSelect", T, Bool={"dynamodb:FullTableScan": ["true"]}),
    allow("PartiQLSelect", T),
]
WRITE, READS, EXECUTE = "TransactWriteItems", "TransactGetItems", "ExecuteTransaction"

TRANSACTION_CASES = [
    asked("TX 1: Put", "PutItem", "allow", TRANSACTIONS, allow(WRITES, T), enclosingoperation=WRITE),
    asked("TX 2: Get", "GetItem", "allow", TRANSACTIONS, SECOND_TX, enclosingoperation=READS),
    asked("TX 2: outside", "GetItem", "implicit", TRANSACTIONS, SECOND_TX),
    asked("TX 2: check", "ConditionCheckItem", "allow", TRANSACTIONS, SECOND_TX, enclosingoperation=WRITE),
    asked("TX 3: inside", "PutItem", "explicit", TRANSACTIONS, THIRD_TX, enclosingoperation=WRITE),
    asked("TX 3: outside", "PutItem", "allow", TRANSACTIONS, THIRD_TX),
    asked("TX 4: old", "ConditionCheckItem", "implicit", TRANSACTIONS, FOURTH_TX, returnvalues="ALL_OLD"),
    asked("TX 4: none", "ConditionCheckItem", "allow", TRANSACTIONS, FOURTH_TX, returnvalues="NONE"),
    asked("not in a transaction", "PutItem", "implicit", TRANSACTIONS, OUTSIDE, enclosingoperation=WRITE),
    asked("a negated key is absent", "PutItem", "allow", TRANSACTIONS, OUTSIDE),
    asked("QL 4: inside", "PartiQLInsert", "allow", PARTIQL, ONLY_IN_EXECUTE, enclosingoperation=EXECUTE),
    asked("QL 4: outside", "PartiQLInsert", "implicit", PARTIQL, ONLY_IN_EXECUTE),
    asked("QL 5: inside", "PartiQLUpdate", "explicit", PARTIQL, NOT_IN_EXECUTE, enclosingoperation=EXECUTE),
    asked("QL 5: outside", "PartiQLUpdate", "allow", PARTIQL, NOT_IN_EXECUTE),
    asked("QL 6: whole table", "PartiQLSelect", "explicit", PARTIQL, NO_FULL_SCAN, fulltablescan="true"),
    asked("QL 6: one key", "PartiQLSelect", "allow", PARTIQL, NO_FULL_SCAN, fulltablescan="false"),
    asked("select only", "PartiQLDelete", "implicit", PARTIQL, allow("PartiQLSelect", T)),
]

TENANT = allow("*", StringEquals={"aws:ResourceTag/team": "${aws:PrincipalTag/team}"})
TAGGING = allow(
    "TagResource",
    T,
    **{
        "StringEquals": {"aws:RequestTag/team": ["red", "blue"]},
        "ForAllValues:StringEquals": {"aws:TagKeys": ["team"]},
    },
)


def tagged(
    name: str, caller: str, action: str, expected: Expected, policy: Policy, *, keys: dict[str, Value]
) -> Case:
    return Case(name, (caller, action, T), expected, TAGS, identity=policy, context=keys)


RED, BLUE = {"aws:resourcetag/team": "red"}, {"aws:resourcetag/team": "blue"}
TAG_CASES = [
    tagged("a table with the caller's tag", "alice", "GetItem", "allow", TENANT, keys={**RED}),
    tagged("a table with another tag", "alice", "GetItem", "implicit", TENANT, keys={**BLUE}),
    tagged("a table without tags", "alice", "GetItem", "implicit", TENANT, keys={}),
    tagged("a caller without tags", "bob", "GetItem", "implicit", TENANT, keys={**RED}),
    tagged("neither has tags", "bob", "GetItem", "implicit", TENANT, keys={}),
    tagged(
        "a listed tag",
        "alice",
        "TagResource",
        "allow",
        TAGGING,
        keys={"aws:requesttag/team": "blue", "aws:tagkeys": ("team",)},
    ),
    tagged(
        "a listed tag and another",
        "alice",
        "TagResource",
        "implicit",
        TAGGING,
        keys={"aws:requesttag/team": "blue", "aws:tagkeys": ("team", "x")},
    ),
    tagged(
        "another value of a tag",
        "alice",
        "TagResource",
        "implicit",
        TAGGING,
        keys={"aws:requesttag/team": "green", "aws:tagkeys": ("team",)},
    ),
]

CASES = [*KEYED, *ATTRIBUTE_CASES, *VECTOR_CASES, *TRANSACTION_CASES, *TAG_CASES]
