"""Tables that cannot be made or changed, and the order in which that is found out.

Texts and order: errors.md section 6.1 ("order as dynalite checks them"); keys of several attributes:
new-features.md section 10; limits: limits.md section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixtures.rejections import INVALID, Case, World, in_lots

SOURCE = "errors.md 6.1"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"
SAME_NAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
NOT_HASH = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
NOT_RANGE = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
COUNT = (
    INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
    "AttributeDefinitions"
)
NEITHER = (
    INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
    "PAY_PER_REQUEST"
)
BOTH = (
    INVALID
    + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
)
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
TOO_MANY = 1_000_000_000_001


def types(text: str) -> list[dict[str, str]]:
    """`a:S b:N` as AttributeDefinitions."""
    return [
        {"AttributeName": n, "AttributeType": t} for n, _, t in (each.partition(":") for each in text.split())
    ]


def key(text: str) -> list[dict[str, str]]:
    """`a:HASH b:RANGE` as a KeySchema."""
    return [{"AttributeName": n, "KeyType": t} for n, _, t in (each.partition(":") for each in text.split())]


def table(keys: str = "p:HASH", definitions: str = "p:S", **members: Any) -> dict[str, Any]:
    return {
        "TableName": "new",
        "KeySchema": key(keys),
        "AttributeDefinitions": types(definitions),
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }


ALL = {"ProjectionType": "ALL"}


def index(keys: str, name: str = "index", projection: Any = None, **members: Any) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": key(keys), "Projection": projection or ALL, **members}


def local(*indexes: Any, keys: str = "p:HASH r:RANGE", definitions: str = "p:S r:S l:S") -> dict[str, Any]:
    return table(keys, definitions, LocalSecondaryIndexes=list(indexes))


def global_(*indexes: Any, definitions: str = "p:S g:S", **members: Any) -> dict[str, Any]:
    return table(definitions=definitions, GlobalSecondaryIndexes=list(indexes), **members)


def undefined(keys: str, definitions: str) -> str:
    return (
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: [{keys}], AttributeDefinitions: [{definitions}]"
    )


CREATIONS: list[tuple[str, dict[str, Any], str]] = [
    # Throughput
    ("units on demand", table(ProvisionedThroughput=UNITS), NEITHER),
    ("no units", table(BillingMode="PROVISIONED"), BOTH),
    ("no units by default", {k: v for k, v in table().items() if k != "BillingMode"}, BOTH),
    *(
        (
            f"{member} out of bounds",
            table(BillingMode="PROVISIONED", ProvisionedThroughput={**UNITS, member: TOO_MANY}),
            f"Given value {TOO_MANY} for {member} is out of bounds",
        )
        for member in UNITS
    ),
    (
        "units of an index out of bounds",
        global_(
            index("g:HASH", ProvisionedThroughput={**UNITS, "ReadCapacityUnits": TOO_MANY}),
            BillingMode="PROVISIONED",
            ProvisionedThroughput=UNITS,
        ),
        f"Given value {TOO_MANY} for ReadCapacityUnits is out of bounds for index index",
    ),
    # Keys
    ("a key without definition", table("q:HASH"), undefined("q", "p")),
    ("a sort key without definition", table("p:HASH q:RANGE"), undefined("q", "p")),
    ("no definitions", table("q:HASH", ""), NO_DEFINITION),
    ("one name twice", table("p:HASH p:RANGE"), NO_DEFINITION),
    ("RANGE first", table("p:RANGE"), NOT_HASH),
    ("RANGE, then HASH", table("p:RANGE q:HASH", "p:S q:S"), NOT_HASH),
    ("HASH twice", table("p:HASH q:HASH", "p:S q:S"), NOT_RANGE),
    ("a definition too many", table(definitions="p:S q:S"), COUNT),
    # Indexes
    ("no local indexes", local(definitions="p:S r:S"), INVALID + "List of LocalSecondaryIndexes is empty"),
    ("no global indexes", global_(definitions="p:S"), INVALID + "List of GlobalSecondaryIndexes is empty"),
    ("a local index's key without definition", local(index("p:HASH z:RANGE")), undefined("z", "p, r, l")),
    ("a global index's key without definition", global_(index("z:HASH")), undefined("z", "p, g")),
    (
        "a local index without sort key in the table",
        local(index("p:HASH l:RANGE"), keys="p:HASH", definitions="p:S l:S"),
        INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
        "LocalSecondaryIndex",
    ),
    (
        "a local index without sort key",
        local(index("p:HASH"), definitions="p:S r:S"),
        INVALID + "Index KeySchema does not have a range key for index: index",
    ),
    (
        "a local index of another partition key",
        local(index("l:HASH r:RANGE")),
        INVALID
        + "Index KeySchema does not have the same leading hash key as table KeySchema for index: index. "
        "index hash key: l, table hash key: p",
    ),
    ("a local index's RANGE first", local(index("p:RANGE l:HASH")), NOT_HASH),
    ("a local index's HASH twice", local(index("p:HASH l:HASH")), NOT_RANGE),
    ("a local index's name twice in its key", local(index("p:HASH p:RANGE")), SAME_NAME),
    ("a global index's RANGE first", global_(index("g:RANGE")), NOT_HASH),
    ("a global index's name twice in its key", global_(index("g:HASH g:RANGE")), SAME_NAME),
    *(
        entry
        for what, make in (
            ("local", lambda p: local(index("p:HASH l:RANGE", projection=p))),
            ("global", lambda p: global_(index("g:HASH", projection=p))),
        )
        for entry in (
            (
                f"a {what} index without projection type",
                make({"NonKeyAttributes": ["a"]}),
                INVALID + "Unknown ProjectionType: null",
            ),
            (
                f"a {what} index of all, naming some",
                make({"ProjectionType": "ALL", "NonKeyAttributes": ["a"]}),
                INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
            ),
            (
                f"a {what} index of keys, naming some",
                make({"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["a"]}),
                INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
            ),
            (
                f"a {what} index of some, naming none",
                make({"ProjectionType": "INCLUDE"}),
                INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
            ),
        )
    ),
    (
        "units of an index on demand",
        global_(index("g:HASH", ProvisionedThroughput=UNITS)),
        INVALID + "ProvisionedThroughput should not be specified for index: index when BillingMode is "
        "PAY_PER_REQUEST",
    ),
    (
        "one index name twice",
        global_(index("g:HASH"), index("p:HASH")),
        INVALID + "Duplicate index name: index",
    ),
    (
        "units of an index on demand before its name",
        global_(index("g:HASH"), index("p:HASH", ProvisionedThroughput=UNITS)),
        INVALID + "ProvisionedThroughput should not be specified for index: index when BillingMode is "
        "PAY_PER_REQUEST",
    ),
    (
        "one name for a local and a global index",
        {**local(index("p:HASH l:RANGE")), "GlobalSecondaryIndexes": [index("l:HASH")]},
        INVALID + "Duplicate index name: index",
    ),
    (
        "six local indexes",
        local(*(index("p:HASH l:RANGE", f"index{n}") for n in range(6))),
        INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    (
        "21 global indexes",
        global_(*(index("g:HASH", f"index{n}") for n in range(21))),
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    (
        "a view of a stream that is off",
        table(StreamSpecification={"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}),
        INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
    ),
    # Two or three at once, in the order of section 6.1
    ("units before keys", table("p:RANGE", ProvisionedThroughput=UNITS), NEITHER),
    (
        "bounds before keys",
        table(
            "q:HASH",
            BillingMode="PROVISIONED",
            ProvisionedThroughput={**UNITS, "ReadCapacityUnits": TOO_MANY},
        ),
        f"Given value {TOO_MANY} for ReadCapacityUnits is out of bounds",
    ),
    ("definition before order", table("q:RANGE"), undefined("q", "p")),
    ("same name before order", table("p:RANGE p:RANGE"), NO_DEFINITION),
    ("keys before their count", table("p:RANGE", "p:S q:S"), NOT_HASH),
    ("the count before an empty list is not reported", local(keys="p:RANGE", definitions="p:S"), NOT_HASH),
    (
        "an empty list before another's mistakes",
        {**local(index("z:HASH")), "GlobalSecondaryIndexes": []},
        INVALID + "List of GlobalSecondaryIndexes is empty",
    ),
    ("an existing table last", table("p:RANGE", TableName="hash"), NOT_HASH),
]


UPDATES: list[tuple[str, dict[str, Any], str]] = [
    ("units on demand", {"ProvisionedThroughput": UNITS}, NEITHER),
    (
        "provisioned without units",
        {"BillingMode": "PROVISIONED"},
        INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
    ),
    *(
        (
            f"an index update of {what}",
            {"GlobalSecondaryIndexUpdates": [update]},
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        )
        for what, update in (("nothing", {}), ("nulls", {"Create": None, "Delete": None}))
    ),
    (
        "one index twice",
        {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "global"}}] * 2},
        INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: global",
    ),
    (
        "an index that is there",
        {
            "AttributeDefinitions": types("g:S"),
            "GlobalSecondaryIndexUpdates": [{"Create": index("g:HASH", "global")}],
        },
        "Attempting to create an index which already exists",
    ),
    (
        "an index that a local one is called",
        {
            "AttributeDefinitions": types("g:S"),
            "GlobalSecondaryIndexUpdates": [{"Create": index("g:HASH", "local")}],
        },
        "Attempting to create an index which already exists",
    ),
    (
        "an index whose key has no definition",
        {"AttributeDefinitions": types("g:S"), "GlobalSecondaryIndexUpdates": [{"Create": index("zz:HASH")}]},
        undefined("zz", "g"),
    ),
]


def cases() -> Iterator[Case]:
    for what, request, text in CREATIONS:
        yield Case(what, "CreateTable", request, text, SOURCE)
    yield Case(
        "a name that is taken",
        "CreateTable",
        table(TableName="hash"),
        "Table already exists: hash",
        SOURCE,
        "ResourceInUseException",
    )
    for what, request, text in UPDATES:
        yield Case(what, "UpdateTable", {"TableName": "pair", **request}, text, SOURCE)
    yield Case(
        "two indexes at once",
        "UpdateTable",
        {
            "TableName": "pair",
            "AttributeDefinitions": types("y:S"),
            "GlobalSecondaryIndexUpdates": [{"Create": index("y:HASH", name)} for name in ("one", "two")],
        },
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        "errors.md 6.1",
        "LimitExceededException",
    )
    for operation, more in (
        ("DescribeTable", {}),
        ("DeleteTable", {}),
        ("UpdateTable", {"DeletionProtectionEnabled": True}),
    ):
        yield Case(
            "a table that is not there",
            operation,
            {"TableName": "nothing", **more},
            "Requested resource not found: Table: nothing not found",
            SOURCE,
            "ResourceNotFoundException",
        )
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/"
    for operation, more in (
        ("TagResource", {"Tags": [{"Key": "k", "Value": "v"}]}),
        ("UntagResource", {"TagKeys": ["k"]}),
        ("ListTagsOfResource", {}),
    ):
        yield Case(
            "a resource that is not there",
            operation,
            {"ResourceArn": arn + "nothing", **more},
            f"Requested resource not found: ResourceArn: {arn}nothing not found",
            "errors.md 6.10",
            "ResourceNotFoundException",
        )
        yield Case(
            "a resource that is no ARN",
            operation,
            {"ResourceArn": "hash", **more},
            INVALID + "ARNs must start with 'arn:': hash",
            "errors.md 6.10",
        )
        yield Case(
            "an index",
            operation,
            {"ResourceArn": f"{arn}pair/index/global", **more},
            INVALID + "Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {arn}pair/index/global",
            SOURCE,
        )
    yield Case(
        "no tags",
        "TagResource",
        {"ResourceArn": arn + "hash", "Tags": []},
        "Atleast one Tag needs to be provided as Input.",
        "errors.md 6.1 (sic)",
    )
    yield Case(
        "no tag keys",
        "UntagResource",
        {"ResourceArn": arn + "hash", "TagKeys": []},
        "Atleast one Tag Key needs to be provided as Input.",
        "errors.md 6.1 (sic)",
    )


@in_lots(cases())
def test_a_table_that_cannot_be_made_or_changed_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)
