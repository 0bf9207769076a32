"""Faults by wish: what a client sees, what is stored, charged and counted (late-reads-and-faults.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from faradisc.operations.faults import danger_of, read_fault_file, read_faults, tables_of
from faradisc.services.administration.throughput import AdminError
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema

ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
ADD = {
    "TableName": "things",
    "Key": item(p="a"),
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}


@pytest.fixture
def made(bugs_surface: None, clock: ManualClock) -> Callable[..., LocalDatabase]:
    def made(*rules: dict[str, Any], seed: int = 0, **members: Any) -> LocalDatabase:
        database = LocalDatabase(clock=clock, faults={"seed": seed, "faults": [*rules]})
        database.faults({})
        database.client().create_table(TableName="things", **{**schema("p:S"), **members})
        database.faults({"seed": seed, "faults": [*rules]})
        return database

    return made


def counted(database: LocalDatabase, name: str, metric: str) -> int:
    ((_, registry),) = database.accounts()
    return int(getattr(registry.requests.operation("things", name), metric))


def stored(database: LocalDatabase) -> Any:
    database.faults({})
    return (
        database.client().get_item(TableName="things", Key=item(p="a")).get("Item", {}).get("n", {}).get("N")
    )


def refused(database: LocalDatabase, code: str) -> None:
    with pytest.raises(ClientError) as caught:
        database.client(config=ONE_ATTEMPT).update_item(**ADD)
    assert caught.value.response["Error"]["Code"] == code


def test_an_error_comes_before_the_request_is_made(made: Callable[..., LocalDatabase]) -> None:
    with made({"fault": "InternalServerError", "share": 1}) as database:
        refused(database, "InternalServerError")
        assert counted(database, "UpdateItem", "system_errors") == 1
        assert stored(database) is None


def test_an_error_comes_after_the_request_was_made(made: Callable[..., LocalDatabase]) -> None:
    with made({"fault": "InternalServerError", "share": 1, "made": True}) as database:
        refused(database, "InternalServerError")
        assert counted(database, "UpdateItem", "system_errors") == 1
        assert stored(database) == "1"


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({}, "ThrottlingException"),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            },
            "ProvisionedThroughputExceededException",
        ),
    ],
)
def test_a_throttle_is_that_of_the_table_s_mode(
    made: Callable[..., LocalDatabase], members: dict[str, Any], code: str
) -> None:
    with made({"fault": "Throttle", "share": 1}, **members) as database:
        refused(database, code)
        assert counted(database, "UpdateItem", "throttled") == 1
        assert stored(database) is None


@pytest.mark.parametrize(
    ("fault", "error"), [("ConnectionClosed", ConnectionClosedError), ("NoAnswer", ReadTimeoutError)]
)
def test_the_answer_of_a_made_write_is_lost(
    made: Callable[..., LocalDatabase], fault: str, error: type[Exception]
) -> None:
    with made({"fault": fault, "share": 1, "operations": ["UpdateItem"]}) as database:
        with pytest.raises(error):
            database.client(config=ONE_ATTEMPT).update_item(**ADD)
        assert stored(database) == "1"


def test_a_client_that_tries_again_adds_twice_and_is_told_so(made: Callable[..., LocalDatabase]) -> None:
    """With the fault every second time, botocore's own second attempt gets through."""
    with made({"fault": "ConnectionClosed", "share": 0.5, "operations": ["UpdateItem"]}, seed=3) as database:
        retrying = database.client(config=Config(retries={"total_max_attempts": 9}))
        for _ in range(6):
            retrying.update_item(**ADD)
        shown = database.faults()
        (rule,), (repeat,) = shown["faults"], shown["repeats"]
        assert rule["applied"] == repeat["count"] > 0
        assert (repeat["table"], repeat["operation"]) == ("things", "UpdateItem")
        assert repeat["danger"] == "applied twice"
        assert stored(database) == str(6 + rule["applied"])


def test_a_slow_answer_moves_the_clock_of_a_test(
    made: Callable[..., LocalDatabase], clock: ManualClock
) -> None:
    with made({"fault": "Slow", "share": 1, "ms": 1500}) as database:
        before_ns = clock.now_ns()
        database.client().update_item(**ADD)
        assert clock.now_ns() - before_ns == 1_500_000_000


def test_a_seed_gives_a_sequence_of_the_share(made: Callable[..., LocalDatabase]) -> None:
    def outcomes(seed: int) -> list[bool]:
        with made({"fault": "InternalServerError", "share": 0.3}, seed=seed) as database:
            client, found = database.client(config=ONE_ATTEMPT), []
            for _ in range(200):
                try:
                    client.get_item(TableName="things", Key=item(p="a"))
                    found.append(False)
                except ClientError:
                    found.append(True)
            return found

    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert 40 <= sum(outcomes(1)) <= 80


def test_rules_concern_their_tables_and_operations(made: Callable[..., LocalDatabase]) -> None:
    rules = ({"fault": "InternalServerError", "share": 1, "tables": ["others"]},)
    with made(*rules) as database:
        client = database.client(config=ONE_ATTEMPT)
        client.update_item(**ADD)
        client.execute_statement(Statement="SELECT * FROM things WHERE p = 'a'")
        database.faults({"faults": [{"fault": "InternalServerError", "share": 1, "operations": ["Query"]}]})
        client.update_item(**ADD)
        assert stored(database) == "2"
        with pytest.raises(AdminError, match=r"fault 1: there is no operation 'Peek'"):
            database.faults({"faults": [{"fault": "Slow", "share": 1, "ms": 1, "operations": ["Peek"]}]})


def test_an_answer_without_faults_is_byte_for_byte_the_same(bugs_surface: None) -> None:
    plain, faulty = InProcess(), InProcess(faults={"faults": [{"fault": "NoAnswer", "share": 0}]})
    for process in (plain, faulty):
        process.call("CreateTable", TableName="things", **schema("p:S"))
    body = b'{"TableName":"things","Item":{"p":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"}'
    assert plain.post("PutItem", body).body == faulty.post("PutItem", body).body
    for process in (plain, faulty):
        process.close()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "line 1: write an object"),
        ('{"fault": []}', "there is no member 'fault'"),
        ('{"seed": "1"}', "seed is a whole number"),
        (
            '{"faults": [\n {"fault": "Slow", "share": 1, "ms": 5},\n {"fault": "Fire"}]}',
            "line 3: fault is one of",
        ),
        (
            '{"faults": [\n\n{"fault": "NoAnswer", "share": 2}]}',
            "line 3: share is a number from 0 to 1, not 2",
        ),
        ('{"faults": [{"fault": "NoAnswer", "share": true}]}', "line 1: share is a number"),
        ('{"faults": [{"fault": "NoAnswer", "share": 1, "made": true}]}', "only of InternalServerError"),
        ('{"faults": [{"fault": "Slow", "share": 1}]}', "ms is how slow"),
        ('{"faults": [{"fault": "Slow", "share": 1, "ms": -1}]}', "ms is a number of milliseconds"),
        ('{"faults": [{"fault": "Slow", "share": 1, "ms": 1, "tables": "a"}]}', "tables is a list of names"),
        (
            '{"faults": [{"fault": "Throttle", "share": 1, "operations": ["ListTables"]}]}',
            "read or write items",
        ),
        ('{"faults": [{"fault": "NoAnswer", "share": 1, "often": 1}]}', "there is no member 'often'"),
    ],
)
def test_a_mistake_in_a_file_is_one_sentence_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_fault_file(text)


@pytest.mark.parametrize(
    ("operation", "request_", "danger"),
    [
        ("PutItem", {}, "undoes later writes"),
        ("PutItem", {"ConditionExpression": "attribute_not_exists(p)"}, ""),
        ("DeleteItem", {}, "undoes later writes"),
        ("UpdateItem", {"UpdateExpression": "SET a = :a"}, "undoes later writes"),
        ("UpdateItem", {"UpdateExpression": "SET a = a + :a"}, "applied twice"),
        ("UpdateItem", {"UpdateExpression": "SET a = a-:a"}, "applied twice"),
        ("UpdateItem", {"UpdateExpression": "SET a = list_append(a, :a)"}, "applied twice"),
        ("UpdateItem", {"UpdateExpression": "ADD a :a", "ConditionExpression": "v = :v"}, ""),
        ("UpdateItem", {"AttributeUpdates": {"a": {"Action": "ADD"}}}, "applied twice"),
        ("BatchWriteItem", {"RequestItems": {"t": []}}, "undoes later writes"),
        ("TransactWriteItems", {"ClientRequestToken": "1", "TransactItems": [{"Put": {}}]}, ""),
        ("TransactWriteItems", {"TransactItems": [{"Put": {}}]}, "undoes later writes"),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {}}, {"Update": {"UpdateExpression": "ADD a :a"}}]},
            "applied twice",
        ),
        ("ExecuteStatement", {"Statement": "INSERT INTO t VALUE {'p': '1'}"}, ""),
        ("ExecuteStatement", {"Statement": "SELECT * FROM t"}, ""),
        (
            "ExecuteStatement",
            {"Statement": "UPDATE \"my-t\" SET a = 'b-c' WHERE p = '1'"},
            "undoes later writes",
        ),
        ("ExecuteStatement", {"Statement": "update t set a = a + 1 where p = '1'"}, "applied twice"),
        (
            "BatchExecuteStatement",
            {"Statements": [{"Statement": "DELETE FROM t WHERE p='1'"}]},
            "undoes later writes",
        ),
    ],
)
def test_what_a_second_execution_can_do(operation: str, request_: dict[str, Any], danger: str) -> None:
    assert danger_of(operation, request_) == danger


def test_the_tables_of_requests_are_known() -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
    assert tables_of({"TableName": arn}) == ["orders"]
    assert tables_of({"RequestItems": {"a": [], "b": []}}) == ["a", "b"]
    actions = [{"Put": {"TableName": "a"}}, {"ConditionCheck": {"TableName": "b"}}]
    assert tables_of({"TransactItems": actions}) == ["a", "b"]
    assert tables_of({"Statements": [{"Statement": 'SELECT * FROM "a-b"."index"'}]}) == ["a-b"]
    assert tables_of({"Statement": "INSERT INTO a VALUE {'p': '1'}"}) == ["a"]
    assert tables_of({"Limit": 3}) == []
    assert read_faults({}).rules == []
