"""Global indexes that come and go on a live table: states, one operation at a time, what gets in.

Sources: service.md section 2; errors.md section 6.1; limits.md sections 2 and 5. Background steps run
one by one where a test looks at the states in between; elsewhere they are all done before a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.jobs import walk
from fixtures.in_process import InProcess
from fixtures.schemas import everything, invalid, item, plain, refused, schema
from fixtures.stepped import Stepped

TRANSITION_S = 10
ONE_AT_A_TIME = (
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
)
FIVE = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": FIVE}
OpenProcess = Callable[..., InProcess]


def index(name: str, key: str, range_: str = "", projection: Any = "ALL", **more: Any) -> dict[str, Any]:
    """One element of GlobalSecondaryIndexUpdates that creates an index."""
    (members,) = schema("x:S", gsi={name: (key, range_, projection)})["GlobalSecondaryIndexes"]
    return {"Create": {**members, **more}}


def drop(name: str) -> dict[str, Any]:
    return {"Delete": {"IndexName": name}}


def definitions(keys: str) -> list[dict[str, str]]:
    """AttributeDefinitions written `name:TYPE name:TYPE`."""
    pairs = [part.rpartition(":") for part in keys.split()]
    return [{"AttributeName": name, "AttributeType": type_} for name, _, type_ in pairs]


def change(
    client: Any, *updates: dict[str, Any], defined: str = "", table: str = "table", **more: Any
) -> Any:
    if defined:
        more["AttributeDefinitions"] = definitions(defined)
    return client.update_table(TableName=table, GlobalSecondaryIndexUpdates=list(updates), **more)[
        "TableDescription"
    ]


def described(client: Any, table: str = "table") -> dict[str, Any]:
    shown: dict[str, Any] = client.describe_table(TableName=table)["Table"]
    return shown


def indexes(description: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {shown["IndexName"]: shown for shown in description.get("GlobalSecondaryIndexes", ())}


def states(description: dict[str, Any]) -> tuple[str, dict[str, tuple[str, bool | None]]]:
    """State of the table; of each index its state and whether it is backfilling."""
    return description["TableStatus"], {
        name: (shown["IndexStatus"], shown.get("Backfilling")) for name, shown in indexes(description).items()
    }


def defined(description: dict[str, Any]) -> dict[str, str]:
    return {d["AttributeName"]: d["AttributeType"] for d in description["AttributeDefinitions"]}


def entries(client: Any, name: str, table: str = "table") -> list[dict[str, Any]]:
    """What an index holds, in the order of the table's keys `p`."""
    found = [plain(entry) for entry in everything(client.scan, TableName=table, IndexName=name)]
    return sorted(found, key=lambda entry: str(entry["p"]))


@pytest.fixture
def process(bugs_surface: None, in_process_only: None, clock: ManualClock) -> Iterator[Stepped]:
    """A table `table` with key `p:S` in a database whose transitions take ten seconds."""
    process = Stepped(clock=clock, transition_ms=TRANSITION_S * 1000)
    process.client().create_table(TableName="table", **schema("p:S"))
    clock.advance(TRANSITION_S)
    yield process
    clock.advance(TRANSITION_S)
    process.finish()
    process.check()
    process.close()


@pytest.fixture
def stepped(process: Stepped) -> Any:
    """Its client."""
    return process.client()


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


def fill(client: Any, count: int, table: str = "table") -> None:
    for n in range(count):
        client.put_item(TableName=table, Item=item(p=f"{n:04}", g=f"g{n % 3}", n=n))


def added(process: Stepped, clock: ManualClock, name: str, key: str, range_: str = "", **more: Any) -> None:
    """Add an index and have it filled."""
    change(process.client(), index(name, key, range_, **more), defined=f"{key} {range_}")
    clock.advance(TRANSITION_S)
    process.finish()


# --- States --------------------------------------------------------------------------------------


def test_an_index_is_creating_then_backfilling_then_active(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    """While an index is added the table is UPDATING until backfilling starts, then ACTIVE."""
    fill(stepped, 5)
    answer = change(stepped, index("index", "g:S"), defined="g:S")
    assert states(answer) == ("UPDATING", {"index": ("CREATING", False)})
    assert not process.step(), "filling begins when the index is set up"
    clock.advance(TRANSITION_S - 0.001)
    assert states(described(stepped)) == ("UPDATING", {"index": ("CREATING", False)})
    clock.advance(0.001)
    assert states(described(stepped)) == ("ACTIVE", {"index": ("CREATING", True)})
    while process.step():
        status, shown = states(described(stepped))
        assert status == "ACTIVE"
        assert shown["index"] in (("CREATING", True), ("ACTIVE", None))
    assert states(described(stepped)) == ("ACTIVE", {"index": ("ACTIVE", None)})
    assert len(entries(stepped, "index")) == 5


def test_an_empty_table_s_index_is_filled_too(process: Stepped, stepped: Any, clock: ManualClock) -> None:
    change(stepped, index("index", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    assert process.finish() > 0
    assert states(described(stepped)) == ("ACTIVE", {"index": ("ACTIVE", None)})
    assert entries(stepped, "index") == []


@pytest.mark.parametrize("operation", ["query", "scan"])
def test_an_index_that_is_not_complete_is_not_read(
    process: Stepped, stepped: Any, clock: ManualClock, operation: str
) -> None:
    parameters: dict[str, Any] = {"TableName": "table", "IndexName": "index"}
    if operation == "query":
        parameters |= {
            "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": item(**{":g": "g0"}),
        }
    change(stepped, index("index", "g:S"), defined="g:S")
    for _ in range(2):
        with invalid("Cannot read from backfilling global secondary index: index"):
            getattr(stepped, operation)(**parameters)
        clock.advance(TRANSITION_S)
    process.finish()
    getattr(stepped, operation)(**parameters)


def test_an_index_is_deleting_until_its_time_has_passed(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    fill(stepped, 5)
    added(process, clock, "index", "g:S")
    answer = change(stepped, drop("index"))
    assert states(answer) == ("UPDATING", {"index": ("DELETING", None)})
    clock.advance(TRANSITION_S - 0.001)
    assert states(described(stepped)) == ("UPDATING", {"index": ("DELETING", None)})
    with invalid("The table does not have the specified index: index"):
        stepped.scan(TableName="table", IndexName="index")
    clock.advance(0.001)
    assert states(described(stepped)) == ("ACTIVE", {})
    with invalid("The table does not have the specified index: index"):
        stepped.scan(TableName="table", IndexName="index")


def test_a_table_serves_while_its_indexes_change(process: Stepped, stepped: Any, clock: ManualClock) -> None:
    def works() -> None:
        stepped.put_item(TableName="table", Item=item(p="1", g="a"))
        assert stepped.get_item(TableName="table", Key=item(p="1"))["Item"] == item(p="1", g="a")
        stepped.delete_item(TableName="table", Key=item(p="1"))

    change(stepped, index("index", "g:S"), defined="g:S")
    works()
    clock.advance(TRANSITION_S)
    works()
    process.finish()
    change(stepped, drop("index"))
    works()


def test_an_added_index_has_an_arn_and_counts(process: Stepped, stepped: Any, clock: ManualClock) -> None:
    fill(stepped, 7)
    added(process, clock, "index", "g:S", projection="KEYS_ONLY")
    table = described(stepped)
    shown = indexes(table)["index"]
    assert shown["IndexArn"] == f"{table['TableArn']}/index/index"
    assert shown["ItemCount"] == 7
    assert shown["IndexSizeBytes"] == 7 * (1 + 4 + 1 + 2 + 100)
    assert shown["Projection"] == {"ProjectionType": "KEYS_ONLY"}


# --- One operation at a time ---------------------------------------------------------------------


def test_a_second_index_waits_for_the_first_to_be_filled(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    fill(stepped, 3)
    change(stepped, index("one", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    with refused("LimitExceededException", ONE_AT_A_TIME):
        change(stepped, index("two", "g:S"), defined="g:S")
    process.finish()
    change(stepped, index("two", "g:S"), defined="g:S")


def test_another_index_is_not_deleted_during_a_backfill(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    added(process, clock, "one", "g:S")
    change(stepped, index("two", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    with refused("LimitExceededException", ONE_AT_A_TIME):
        change(stepped, drop("one"))
    process.finish()
    change(stepped, drop("one"))


TWO_AT_ONCE: dict[str, list[dict[str, Any]]] = {
    "two creations": [index("new", "g:S"), index("newer", "g:S")],
    "two deletions": [drop("one"), drop("two")],
    "a creation and a deletion": [index("new", "g:S"), drop("one")],
}


@pytest.mark.parametrize("case", TWO_AT_ONCE)
def test_one_request_adds_or_removes_one_index(dynamodb: Any, create: Callable[..., str], case: str) -> None:
    table = create("p:S", gsi={"one": ("g:S", "", "ALL"), "two": ("g:S", "", "ALL")})
    with refused("LimitExceededException", ONE_AT_A_TIME):
        change(dynamodb, *TWO_AT_ONCE[case], defined="g:S", table=table)
    assert set(indexes(described(dynamodb, table))) == {"one", "two"}


# --- Deleting while filling ----------------------------------------------------------------------


def test_an_index_can_be_deleted_while_it_is_filled(
    process: Stepped, stepped: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    fill(stepped, 20)
    change(stepped, index("index", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    for _ in range(5):
        assert process.step()
    answer = change(stepped, drop("index"))
    assert states(answer) == ("UPDATING", {"index": ("DELETING", None)})
    assert process.finish() == 0
    clock.advance(TRANSITION_S)
    assert states(described(stepped)) == ("ACTIVE", {})


def test_a_new_index_of_the_same_name_starts_empty(
    process: Stepped, stepped: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    fill(stepped, 20)
    change(stepped, index("index", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    for _ in range(5):
        process.step()
    change(stepped, drop("index"))
    clock.advance(TRANSITION_S)
    stepped.delete_item(TableName="table", Key=item(p="0000"))
    added(process, clock, "index", "n:N", projection="KEYS_ONLY")
    assert entries(stepped, "index") == [{"p": f"{n:04}", "n": n} for n in range(1, 20)]
    assert indexes(described(stepped))["index"]["ItemCount"] == 19


def test_a_table_can_be_deleted_while_its_index_is_filled(
    process: Stepped, stepped: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    fill(stepped, 20)
    change(stepped, index("index", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    for _ in range(5):
        process.step()
    # The service refuses DeleteTable now; a restore that fails, for example, deletes all the same.
    catalog = process.backend.catalog
    process.run(catalog.delete(catalog.tables.for_data("table", "", ""), while_in_use=True))
    assert process.finish() == 0
    clock.advance(TRANSITION_S)
    stepped.create_table(TableName="table", **schema("p:S", gsi={"index": ("g:S", "", "ALL")}))
    clock.advance(TRANSITION_S)
    assert entries(stepped, "index") == []


# --- Writes while filling ------------------------------------------------------------------------


def test_writes_during_a_backfill_are_in_the_index(
    process: Stepped, stepped: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the cursor, before it, and of items that were there before; a write at every step."""
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    fill(stepped, 30)
    change(stepped, index("index", "g:S"), defined="g:S")
    clock.advance(TRANSITION_S)
    n = 0
    while process.step():
        if n < 30:
            key = item(p=f"{n:04}")
            match n % 3:
                case 0:
                    stepped.delete_item(TableName="table", Key=key)
                case 1:
                    stepped.update_item(
                        TableName="table",
                        Key=key,
                        UpdateExpression="SET g = :g",
                        ExpressionAttributeValues=item(**{":g": "moved"}),
                    )
                case _:
                    stepped.put_item(TableName="table", Item=item(p=f"new{n}", g="new"))
        n += 1
    assert n >= 15
    items = [plain(found) for found in everything(stepped.scan, TableName="table")]
    assert entries(stepped, "index") == sorted(items, key=lambda found: str(found["p"]))
    assert indexes(described(stepped))["index"]["ItemCount"] == len(items)


def test_writes_during_a_backfill_are_charged_for_the_index(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    """The index is kept up from the moment it is CREATING; filling it costs the table nothing."""
    change(stepped, index("index", "g:S"), defined="g:S")
    answer = stepped.put_item(TableName="table", Item=item(p="1", g="a"), ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"index": {"CapacityUnits": 1.0}}


def test_an_item_with_an_unsuitable_index_key_is_rejected_from_the_beginning(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    stepped.put_item(TableName="table", Item=item(p="1", g=1))
    change(stepped, index("index", "g:S"), defined="g:S")
    with invalid():
        stepped.put_item(TableName="table", Item=item(p="2", g=1))


def test_a_backfill_continues_after_reopening(
    bugs_surface: None,
    in_process_only: None,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It resumes where it was: the steps of all lives together are those of one."""
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    process = Stepped(tmp_path, clock=clock)
    client = process.client()
    client.create_table(TableName="table", **schema("p:S"))
    fill(client, 40)
    change(client, index("index", "g:S", projection="KEYS_ONLY"), defined="g:S")
    steps = 0
    while process.step():
        steps += 1
        if steps % 7 == 0:
            assert indexes(described(process.client()))["index"]["IndexStatus"] in ("CREATING", "ACTIVE")
            process.close()
            process = Stepped(tmp_path, clock=clock)
    parts = 1 + len(process.backend.tables.for_data("table", "", "").placement.parts)
    assert steps <= 40 / 2 + parts + 1
    assert states(described(process.client())) == ("ACTIVE", {"index": ("ACTIVE", None)})
    assert len(entries(process.client(), "index")) == 40
    process.check()
    process.close()


# --- What gets into the index --------------------------------------------------------------------

UNSUITABLE: dict[str, dict[str, Any]] = {
    "absent": {},
    "a number": {"g": 1},
    "binary": {"g": b"g"},
    "a list": {"g": ["g"]},
    "null": {"g": None},
    "an empty string": {"g": ""},
    "a string of 2,049 bytes": {"g": "x" * 2049},
}


@pytest.mark.parametrize("case", UNSUITABLE)
def test_items_that_cannot_have_the_key_are_left_out(dynamodb: Any, table: str, case: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", g="good"))
    dynamodb.put_item(TableName=table, Item=item(p="2", **UNSUITABLE[case]))
    change(dynamodb, index("index", "g:S"), defined="g:S", table=table)
    assert entries(dynamodb, "index", table) == [{"p": "1", "g": "good"}]
    assert indexes(described(dynamodb, table))["index"]["ItemCount"] == 1
    assert dynamodb.scan(TableName=table)["Count"] == 2


@pytest.mark.parametrize(("size", "count"), [(1024, 1), (1025, 0)])
def test_a_sort_key_has_up_to_1024_bytes(dynamodb: Any, table: str, size: int, count: int) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", g="good", s="x" * size))
    change(dynamodb, index("index", "g:S", "s:S"), defined="g:S s:S", table=table)
    assert len(entries(dynamodb, "index", table)) == count


def test_items_left_out_can_be_corrected_or_deleted(dynamodb: Any, table: str) -> None:
    for name, value in (("1", 1), ("2", 2), ("3", 3)):
        dynamodb.put_item(TableName=table, Item=item(p=name, g=value, a=1))
    change(dynamodb, index("index", "g:S"), defined="g:S", table=table)
    dynamodb.put_item(TableName=table, Item=item(p="1", g="now good"))
    dynamodb.delete_item(TableName=table, Key=item(p="2"))
    dynamodb.update_item(
        TableName=table,
        Key=item(p="3"),
        UpdateExpression="SET a = :a",
        ExpressionAttributeValues=item(**{":a": 2}),
    )
    assert entries(dynamodb, "index", table) == [{"p": "1", "g": "now good"}]
    assert dynamodb.get_item(TableName=table, Key=item(p="3"))["Item"] == item(p="3", g=3, a=2)


PROJECTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ALL": ("ALL", {"p": "1", "g": "a", "x": 1, "y": 2}),
    "KEYS_ONLY": ("KEYS_ONLY", {"p": "1", "g": "a"}),
    "INCLUDE": (["x", "gone"], {"p": "1", "g": "a", "x": 1}),
}


@pytest.mark.parametrize("case", PROJECTIONS)
def test_a_filled_index_holds_what_it_projects(dynamodb: Any, table: str, case: str) -> None:
    projection, entry = PROJECTIONS[case]
    dynamodb.put_item(TableName=table, Item=item(p="1", g="a", x=1, y=2))
    change(dynamodb, index("index", "g:S", projection=projection), defined="g:S", table=table)
    assert entries(dynamodb, "index", table) == [entry]


def test_a_filled_index_answers_queries_in_order(dynamodb: Any, table: str) -> None:
    for n in (5, -3, 40, 0):
        dynamodb.put_item(TableName=table, Item=item(p=str(n), g="a", n=n))
    change(dynamodb, index("index", "g:S", "n:N"), defined="g:S n:N", table=table)
    found = dynamodb.query(
        TableName=table,
        IndexName="index",
        KeyConditionExpression="g = :g AND n >= :n",
        ExpressionAttributeValues=item(**{":g": "a", ":n": 0}),
        ScanIndexForward=False,
    )
    assert [entry["n"]["N"] for entry in found["Items"]] == ["40", "5", "0"]


def test_an_index_of_several_key_attributes_is_filled(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", a="x", b=1, c="y", d=b"z"))
    dynamodb.put_item(TableName=table, Item=item(p="2", a="x", b=1, c="y"))
    keys = ("a:S b:N", "c:S d:B")
    change(dynamodb, index("index", *keys), defined=" ".join(keys), table=table)
    assert [entry["p"] for entry in entries(dynamodb, "index", table)] == ["1"]


def test_an_index_on_the_table_s_own_key_is_filled(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", "r:N")
    for r in range(3):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=r))
    change(dynamodb, index("index", "r:N", "p:S"), defined="r:N p:S", table=table)
    assert len(entries(dynamodb, "index", table)) == 3


# --- Attribute definitions -----------------------------------------------------------------------


def test_definitions_are_merged_with_existing_ones(dynamodb: Any, table: str) -> None:
    """A delta, captured: what is there need not be sent again."""
    change(dynamodb, index("index", "g:S", "n:N"), defined="g:S n:N", table=table)
    assert defined(described(dynamodb, table)) == {"p": "S", "g": "S", "n": "N"}


def test_definitions_no_key_needs_are_dropped(dynamodb: Any, table: str) -> None:
    change(dynamodb, index("index", "g:S"), defined="p:S g:S unused:B", table=table)
    assert defined(described(dynamodb, table)) == {"p": "S", "g": "S"}


def test_an_existing_definition_keeps_its_type(dynamodb: Any, table: str) -> None:
    """Silently (captured), where the new index does not use it."""
    change(dynamodb, index("index", "n:N"), defined="p:N n:N", table=table)
    assert defined(described(dynamodb, table)) == {"p": "S", "n": "N"}


def test_the_keys_of_a_new_index_are_defined_in_its_request(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    table = create("p:S", gsi={"one": ("g:S", "", "ALL")})
    with invalid():
        change(dynamodb, index("two", "g:S"), table=table)
    with invalid():
        change(dynamodb, index("two", "g:S", "n:N"), defined="n:N", table=table)
    change(dynamodb, index("two", "g:S", "n:N"), defined="g:S n:N", table=table)


def test_deleting_an_index_removes_its_definitions(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    added(process, clock, "one", "g:S", "n:N")
    added(process, clock, "two", "g:S", "m:N")
    change(stepped, drop("one"))
    clock.advance(TRANSITION_S)
    assert defined(described(stepped)) == {"p": "S", "g": "S", "m": "N"}
    change(stepped, drop("two"))
    clock.advance(TRANSITION_S)
    assert defined(described(stepped)) == {"p": "S"}


def test_an_attribute_may_be_defined_again_with_another_type(
    process: Stepped, stepped: Any, clock: ManualClock
) -> None:
    stepped.put_item(TableName="table", Item=item(p="1", g="text"))
    stepped.put_item(TableName="table", Item=item(p="2"))
    added(process, clock, "index", "g:S")
    change(stepped, drop("index"))
    clock.advance(TRANSITION_S)
    stepped.put_item(TableName="table", Item=item(p="2", g=2))
    added(process, clock, "index", "g:N")
    assert entries(stepped, "index") == [{"p": "2", "g": 2}]


# --- Rejections ------------------------------------------------------------------------------------


def test_an_index_name_is_used_once(dynamodb: Any, create: Callable[..., str]) -> None:
    """Local and global indexes share one namespace (limits.md section 5)."""
    table = create("p:S", "r:S", gsi={"global": ("g:S", "", "ALL")}, lsi={"local": ("n:N", "ALL")})
    for name in ("global", "local"):
        with invalid("Attempting to create an index which already exists"):
            change(dynamodb, index(name, "g:S"), defined="g:S", table=table)


def test_an_unknown_index_cannot_be_deleted(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", "r:S", lsi={"local": ("n:N", "ALL")})
    with refused("ResourceNotFoundException", f"Requested resource not found: Index gone for table {table}"):
        change(dynamodb, drop("gone"), table=table)
    with refused("ValidationException", "Cannot delete an index that is not a GlobalSecondaryIndex: local"):
        change(dynamodb, drop("local"), table=table)


def test_an_index_of_a_missing_table_cannot_be_added(dynamodb: Any) -> None:
    with refused("ResourceNotFoundException", "Requested resource not found: Table: missing not found"):
        change(dynamodb, index("index", "g:S"), defined="g:S", table="missing")


WRONG: dict[str, tuple[list[dict[str, Any]], str]] = {
    "nothing in it": (
        [{}],
        "One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update, "
        "GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null",
    ),
    "one index twice": (
        [index("index", "g:S"), drop("index")],
        "One or more parameter values were invalid: Only one global secondary index update per index is "
        "allowed simultaneously. Index: index",
    ),
    "names to INCLUDE are missing": (
        [{"Create": {**index("index", "g:S")["Create"], "Projection": {"ProjectionType": "INCLUDE"}}}],
        "One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not "
        "specified",
    ),
    "names with KEYS_ONLY": (
        [
            {
                "Create": {
                    **index("index", "g:S")["Create"],
                    "Projection": {"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["a"]},
                }
            }
        ],
        "One or more parameter values were invalid: ProjectionType is KEYS_ONLY, but NonKeyAttributes is "
        "specified",
    ),
    "one name for both keys": (
        [index("index", "g:S", "g:S")],
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    ),
    "units on demand": (
        [index("index", "g:S", ProvisionedThroughput=FIVE)],
        "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be "
        "specified for index: index when BillingMode is PAY_PER_REQUEST",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_impossible_index_changes_nothing(dynamodb: Any, table: str, case: str) -> None:
    updates, text = WRONG[case]
    with invalid(text):
        change(dynamodb, *updates, defined="g:S", table=table)
    assert states(described(dynamodb, table)) == ("ACTIVE", {})
    assert defined(described(dynamodb, table)) == {"p": "S"}


def test_a_table_has_up_to_20_global_indexes(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", gsi={f"index.{n}": ("g:S", "", "KEYS_ONLY") for n in range(19)})
    change(dynamodb, index("index.19", "g:S"), defined="g:S", table=table)
    text = "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20"
    with refused("LimitExceededException", text):
        change(dynamodb, index("index.20", "g:S"), defined="g:S", table=table)


# --- Throughput of an index ----------------------------------------------------------------------


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def update(name: str, read: int, write: int) -> dict[str, Any]:
    return {"Update": {"IndexName": name, "ProvisionedThroughput": units(read, write)}}


def shown_units(description: dict[str, Any], name: str) -> tuple[int, int]:
    shown = indexes(description)[name]["ProvisionedThroughput"]
    return shown["ReadCapacityUnits"], shown["WriteCapacityUnits"]


@pytest.fixture
def provisioned(create: Callable[..., str]) -> str:
    members = schema("p:S", gsi={"one": ("g:S", "", "ALL")})
    (one,) = members["GlobalSecondaryIndexes"]
    return create(
        "p:S",
        **{**members, **PROVISIONED, "GlobalSecondaryIndexes": [{**one, "ProvisionedThroughput": FIVE}]},
    )


def test_the_units_of_an_index_change(dynamodb: Any, provisioned: str) -> None:
    change(dynamodb, update("one", 7, 4), table=provisioned)
    shown = described(dynamodb, provisioned)
    assert shown_units(shown, "one") == (7, 4)
    throughput = indexes(shown)["one"]["ProvisionedThroughput"]
    assert throughput["NumberOfDecreasesToday"] == 1
    assert "LastIncreaseDateTime" in throughput
    assert shown["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


def test_the_units_of_an_unknown_index_cannot_change(dynamodb: Any, provisioned: str) -> None:
    with refused("ResourceNotFoundException"):
        change(dynamodb, update("gone", 7, 7), table=provisioned)


def test_a_new_index_of_a_provisioned_table_needs_units(dynamodb: Any, provisioned: str) -> None:
    with invalid():
        change(dynamodb, index("two", "g:S"), defined="g:S", table=provisioned)
    new = index("two", "g:S", ProvisionedThroughput=units(3, 2))
    change(dynamodb, new, defined="g:S", table=provisioned)
    assert shown_units(described(dynamodb, provisioned), "two") == (3, 2)


def test_an_index_added_together_with_new_units_stays(dynamodb: Any, provisioned: str) -> None:
    """The values that hold after UPDATING once replaced the list of indexes, and the new one was lost."""
    new = index("two", "g:S", ProvisionedThroughput=units(3, 2))
    change(dynamodb, update("one", 8, 9), new, defined="g:S", table=provisioned)
    shown = described(dynamodb, provisioned)
    assert shown_units(shown, "one") == (8, 9)
    assert shown_units(shown, "two") == (3, 2)
    dynamodb.put_item(TableName=provisioned, Item=item(p="1", g="a"))
    assert len(entries(dynamodb, "two", provisioned)) == 1


def test_an_index_added_together_with_on_demand_mode_stays(dynamodb: Any, provisioned: str) -> None:
    change(dynamodb, index("two", "g:S"), defined="g:S", table=provisioned, BillingMode="PAY_PER_REQUEST")
    shown = described(dynamodb, provisioned)
    assert shown_units(shown, "one") == shown_units(shown, "two") == (0, 0)


def test_units_change_during_a_backfill(
    process: Stepped, stepped: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is UPDATING again while the index waits; both come to their end."""
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)
    stepped.update_table(TableName="table", **PROVISIONED)
    clock.advance(TRANSITION_S)
    fill(stepped, 10)
    change(stepped, index("one", "g:S", ProvisionedThroughput=FIVE), defined="g:S")
    clock.advance(TRANSITION_S)
    process.step()
    change(stepped, update("one", 6, 6))
    clock.advance(TRANSITION_S)
    process.finish()
    shown = described(stepped)
    assert states(shown) == ("ACTIVE", {"one": ("ACTIVE", None)})
    assert shown_units(shown, "one") == (6, 6)
    assert len(entries(stepped, "one")) == 10
