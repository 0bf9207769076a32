"""Vector indexes in CreateTable, UpdateTable and descriptions: what may be asked, and how they live.

Sources: new-features.md section 13, "Control plane"; errors.md section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess
from fixtures.schemas import invalid, item, refused, schema
from fixtures.stepped import Stepped

TRANSITION_S = 10
INVALID = "One or more parameter values were invalid: "
ONE_AT_A_TIME = (
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
)
IN_USE = "Attempt to change a resource which is still in use: "
OpenProcess = Callable[..., InProcess]


def vector(name: str = "vec", attribute: str = "e", dimensions: int = 3, **more: Any) -> dict[str, Any]:
    """One vector index. `search` writes its SearchSchema: "h:HASH f:INLINE_FILTER"."""
    search = more.pop("search", "")
    if search:
        more["SearchSchema"] = [
            {"AttributeName": part.partition(":")[0], "SearchSchemaElementType": part.partition(":")[2]}
            for part in search.split()
        ]
    return {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": attribute},
        "Dimensions": dimensions,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "ALL"},
        **more,
    }


def defined(keys: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": part.partition(":")[0], "AttributeType": part.partition(":")[2]}
        for part in keys.split()
    ]


def create(client: Any, *indexes: dict[str, Any], attributes: str = "p:S", **more: Any) -> dict[str, Any]:
    members = {**schema("p:S"), "AttributeDefinitions": defined(attributes), **more}
    made: dict[str, Any] = client.create_table(TableName="table", VectorIndexes=list(indexes), **members)[
        "TableDescription"
    ]
    return made


def update(client: Any, *updates: dict[str, Any], attributes: str = "", **more: Any) -> dict[str, Any]:
    if attributes:
        more["AttributeDefinitions"] = defined(attributes)
    if updates:
        more["VectorIndexUpdates"] = list(updates)
    changed: dict[str, Any] = client.update_table(TableName="table", **more)["TableDescription"]
    return changed


def drop(name: str = "vec") -> dict[str, Any]:
    return {"Delete": {"IndexName": name}}


def described(client: Any) -> dict[str, Any]:
    shown: dict[str, Any] = client.describe_table(TableName="table")["Table"]
    return shown


def state(description: dict[str, Any], name: str = "vec") -> tuple[str, str | None, bool | None]:
    """State of the table; state of an index and whether it is backfilling."""
    for shown in description.get("VectorIndexes", ()):
        if shown["IndexName"] == name:
            return description["TableStatus"], shown["IndexStatus"], shown.get("Backfilling")
    return description["TableStatus"], None, None


def search(client: Any, name: str = "vec", dimensions: int = 3) -> list[str]:
    answer = client.search_vectors(
        TableName="table", IndexName=name, SearchVector=[{"N": "1"}] * dimensions, TopK=100
    )
    return sorted(found["Item"]["p"]["S"] for found in answer["SearchResults"])


def row(p: str, *elements: float, **more: Any) -> dict[str, Any]:
    return {**item(p=p, **more), "e": {"L": [{"N": str(element)} for element in elements]}}


@pytest.fixture
def process(bugs_surface: None, in_process_only: None, clock: ManualClock) -> Iterator[Stepped]:
    process = Stepped(clock=clock, transition_ms=TRANSITION_S * 1000)
    yield process
    clock.advance(TRANSITION_S)
    process.finish()
    process.check()
    process.close()


@pytest.fixture
def client(process: Stepped) -> Any:
    return process.client()


@pytest.fixture
def table(client: Any, clock: ManualClock) -> Any:
    """The client, with an ACTIVE table `table` that has no vector index yet."""
    client.create_table(TableName="table", **schema("p:S"))
    clock.advance(TRANSITION_S)
    return client


# --- CreateTable ---------------------------------------------------------------------------------


def test_an_index_is_described_and_becomes_active_with_its_table(client: Any, clock: ManualClock) -> None:
    wanted = vector(
        search="h:HASH f:INLINE_FILTER",
        Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
    )
    made = create(client, wanted, attributes="p:S h:S f:N")
    (shown,) = made["VectorIndexes"]
    arn = f"{made['TableArn']}/index/vec"
    assert shown == {
        **wanted,
        "IndexStatus": "CREATING",
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "IndexArn": arn,
    }
    clock.advance(TRANSITION_S)
    assert state(described(client)) == ("ACTIVE", "ACTIVE", None)


def test_items_and_bytes_of_an_index_are_counted(client: Any, clock: ManualClock) -> None:
    create(client, vector())
    clock.advance(TRANSITION_S)
    client.put_item(TableName="table", Item=row("a", 1, 2, 3))
    client.put_item(TableName="table", Item=item(p="b"))
    (shown,) = described(client)["VectorIndexes"]
    assert shown["ItemCount"] == 1
    assert shown["IndexSizeBytes"] > 100


def test_vector_indexes_need_an_on_demand_table(client: Any) -> None:
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    with invalid(f"{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables"):
        create(client, vector(), BillingMode="PROVISIONED", ProvisionedThroughput=units)


REFUSED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "six": (
        [vector(f"vec{n}") for n in range(6)],
        "p:S",
        "VectorIndex count exceeds the per-table limit of 5",
    ),
    "undefined": (
        [vector(search="f:INLINE_FILTER")],
        "p:S",
        "One element in SearchSchema is not defined in attribute definitions",
    ),
    "dimensions": (
        [vector(dimensions=4097)],
        "p:S",
        "Number of dimensions must be between 1 and 4096 inclusive.",
    ),
    "two dimensions": (
        [vector("one"), vector("two", dimensions=4)],
        "p:S",
        "Conflicting attribute definition for 'e'. "
        "All VectorIndexes on the same vector attribute must use the same dimensions.",
    ),
    "vector defined beside the key": (
        [vector()],
        "p:S e:S",
        "Conflicting attribute definition for 'e'. "
        "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute.",
    ),
    "vector defined": (
        [vector(attribute="p")],
        "p:S",
        "Conflicting attribute definition for 'p'. "
        "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute.",
    ),
    "same name": ([vector(), vector(attribute="f")], "p:S", "Duplicate index name: vec"),
    "two HASH": (
        [vector(search="a:HASH b:HASH")],
        "p:S a:S b:S",
        "SearchSchema can have at most one HASH element",
    ),
    "19 filters": (
        [vector(search=" ".join(f"f{n}:INLINE_FILTER" for n in range(19)))],
        "p:S " + " ".join(f"f{n}:S" for n in range(19)),
        "SearchSchema can have at most 18 INLINE_FILTER elements",
    ),
    "unused definition": (
        [vector(search="a:HASH")],
        "p:S a:S b:S",
        "Some AttributeDefinitions are not used. AttributeDefinitions: [p, a, b], keys used: [p, a]",
    ),
    "projection": (
        [vector(Projection={"ProjectionType": "INCLUDE"})],
        "p:S",
        "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_create_table_rejects_invalid_vector_indexes(client: Any, what: str) -> None:
    indexes, attributes, text = REFUSED[what]
    with invalid(INVALID + text):
        create(client, *indexes, attributes=attributes)


def test_names_are_shared_with_other_indexes(client: Any) -> None:
    members = schema("p:S", gsi={"vec": ("g:S", "", "ALL")})
    with invalid(f"{INVALID}Duplicate index name: vec"):
        client.create_table(TableName="table", VectorIndexes=[vector()], **members)


def test_18_filters_and_a_hash_are_allowed(client: Any) -> None:
    names = [f"f{n}" for n in range(18)]
    create(
        client,
        vector(search="h:HASH " + " ".join(f"{name}:INLINE_FILTER" for name in names), dimensions=4096),
        attributes="p:S h:S " + " ".join(f"{name}:B" for name in names),
    )


# --- UpdateTable ---------------------------------------------------------------------------------


def test_an_index_is_allocated_then_backfilled_then_active(
    process: Stepped, table: Any, clock: ManualClock
) -> None:
    """Rule 8; items that cannot be in the index are left out."""
    table.put_item(TableName="table", Item=row("a", 1, 2, 3, h="x"))
    for p, e in (("b", {"S": "text"}), ("c", {"L": [{"N": "1"}]}), ("d", {"L": [{"N": "1e39"}] * 3})):
        table.put_item(TableName="table", Item={**item(p=p), "e": e})
    answer = update(table, {"Create": vector()})
    assert state(answer) == ("UPDATING", "CREATING", False)
    with invalid("Cannot search backfilling vector index: vec"):
        search(table)
    table.put_item(TableName="table", Item=row("f", 1, 2, 3))
    clock.advance(TRANSITION_S)
    assert state(described(table)) == ("ACTIVE", "CREATING", True)
    with invalid("Cannot search backfilling vector index: vec"):
        search(table)
    process.finish()
    assert state(described(table)) == ("ACTIVE", "ACTIVE", None)
    assert search(table) == ["a", "f"]


def test_an_index_can_be_deleted_while_it_is_backfilled_but_not_before(
    process: Stepped, table: Any, clock: ManualClock
) -> None:
    update(table, {"Create": vector()})
    text = (
        f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during backfilling phase "
        "or when the index is active. Table: table Index: vec"
    )
    with refused("ResourceInUseException", text):
        update(table, drop())
    clock.advance(TRANSITION_S)
    assert state(update(table, drop())) == ("UPDATING", "DELETING", None)
    clock.advance(TRANSITION_S)
    assert state(described(table)) == ("ACTIVE", None, None)


def test_a_deleted_index_can_be_created_again(process: Stepped, table: Any, clock: ManualClock) -> None:
    created = {"Create": vector(search="f:INLINE_FILTER")}
    for _ in range(2):
        update(table, created, attributes="f:N")
        clock.advance(TRANSITION_S)
        table.put_item(TableName="table", Item=row("a", 1, 2, 3))
        process.finish()
        assert search(table) == ["a"]
        assert len(described(table)["AttributeDefinitions"]) == 2
        update(table, drop())
        with invalid("The table does not have the specified index: vec"):
            search(table)
        clock.advance(TRANSITION_S)
        assert described(table)["AttributeDefinitions"] == defined("p:S")
        with invalid("The table does not have the specified index: vec"):
            search(table)


def test_one_index_operation_at_a_time_whatever_the_kind(table: Any, clock: ManualClock) -> None:
    (gsi,) = schema("p:S", gsi={"global": ("g:S", "", "ALL")})["GlobalSecondaryIndexes"]
    with refused("LimitExceededException", ONE_AT_A_TIME):
        update(table, {"Create": vector("one")}, {"Create": vector("two")})
    with refused("LimitExceededException", ONE_AT_A_TIME):
        update(
            table,
            {"Create": vector()},
            GlobalSecondaryIndexUpdates=[{"Create": gsi}],
            attributes="g:S",
        )
    update(table, {"Create": vector()})
    clock.advance(TRANSITION_S)
    with refused("LimitExceededException", ONE_AT_A_TIME):
        update(table, GlobalSecondaryIndexUpdates=[{"Create": gsi}], attributes="g:S")
    with refused("LimitExceededException", ONE_AT_A_TIME):
        update(table, {"Create": vector("two")})


def test_update_table_rejects_invalid_vector_changes(client: Any, clock: ManualClock) -> None:
    members = schema("p:S", "r:N", gsi={"global": ("g:S", "", "ALL")})
    client.create_table(TableName="table", VectorIndexes=[vector(f"vec{n}") for n in range(5)], **members)
    clock.advance(TRANSITION_S)
    with refused(
        "LimitExceededException",
        "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of 5",
    ):
        update(client, {"Create": vector()})
    for name in ("vec0", "global"):
        with invalid("Attempting to create an index which already exists"):
            update(client, {"Create": vector(name)})
    for name in ("none", "global"):
        with refused("ResourceNotFoundException", "Requested resource not found"):
            update(client, drop(name))
    with invalid(
        f"{INVALID}Conflicting attribute definition for 'e'. "
        "All VectorIndexes on the same vector attribute must use the same dimensions."
    ):
        update(client, {"Create": vector(dimensions=7)})
    redefined = (
        f"{INVALID}Attributes cannot be redefined. Please check that your attribute has the same type as "
        "previously defined. Existing schema: Schema:[SchemaElement: key{r:N:RANGE}] "
        "New schema: VectorIndexSchema:[VectorAttribute: key{r:L:3}]"
    )
    with invalid(redefined):
        update(client, {"Create": vector(attribute="r")})
    with invalid(f"{INVALID}One element in SearchSchema is not defined in attribute definitions"):
        update(client, {"Create": vector(search="g:HASH")})
    conflict = "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
    (gsi,) = schema("p:S", gsi={"new": ("e:S", "", "ALL")})["GlobalSecondaryIndexes"]
    with invalid(f"{INVALID}Conflicting attribute definition for 'e'. {conflict}"):
        update(client, GlobalSecondaryIndexUpdates=[{"Create": gsi}], attributes="e:S")
    with invalid(f"{INVALID}One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null"):
        update(client, {})


def test_a_table_with_vector_indexes_stays_on_demand(client: Any, clock: ManualClock) -> None:
    create(client, vector())
    clock.advance(TRANSITION_S)
    with invalid(f"{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables"):
        update(
            client,
            BillingMode="PROVISIONED",
            ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        )


def test_a_provisioned_table_rejects_vector_indexes(client: Any, clock: ManualClock) -> None:
    members: dict[str, Any] = {
        **schema("p:S"),
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    }
    client.create_table(TableName="table", **members)
    clock.advance(TRANSITION_S)
    with invalid(f"{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables"):
        update(client, {"Create": vector()})


def test_an_index_survives_a_restart(open_process: OpenProcess, tmp_path: Path) -> None:
    process = open_process(tmp_path / "data")
    create(process.client(), vector())
    process.client().put_item(TableName="table", Item=row("a", 1, 2, 3))
    assert search(process.client()) == ["a"]
    process.close()
    again = open_process(tmp_path / "data")
    assert state(described(again.client())) == ("ACTIVE", "ACTIVE", None)
    assert search(again.client()) == ["a"]
