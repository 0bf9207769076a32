"""`faradisc.testing.assert_units` and `assert_no_scans`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from faradisc import local
from faradisc.testing import assert_no_scans, assert_units
from fixtures.schemas import item, schema


@pytest.fixture
def database() -> Iterator[local.LocalDatabase]:
    with local.LocalDatabase() as database:
        client = database.client()
        client.create_table(TableName="things", **schema("pk:S", gsi={"kinds": ("kind:S", "", "ALL")}))
        client.put_item(TableName="things", Item=item(pk="a", kind="k", text="x" * 5000))
        yield database


def test_units_of_every_kind_of_request(database: local.LocalDatabase) -> None:
    client = database.client()
    key = {"TableName": "things", "Key": item(pk="a")}
    with assert_units(client, read=17.5, write=9.0) as units:
        client.get_item(**key)  # 5 KB: 2 blocks of 4 KB, at half price
        assert (units.read, units.write) == (1, 0)
        client.get_item(**key, ConsistentRead=True)
        client.query(
            TableName="things",
            IndexName="kinds",
            KeyConditionExpression="kind = :k",
            ExpressionAttributeValues={":k": {"S": "k"}},
        )
        client.batch_get_item(RequestItems={"things": {"Keys": [item(pk="a"), item(pk="b")]}})
        client.transact_get_items(TransactItems=[{"Get": key}])
        client.execute_statement(Statement=" select * from things where pk = 'a'")
        client.batch_execute_statement(Statements=[{"Statement": "SELECT * FROM things WHERE pk = 'a'"}])
        client.execute_transaction(TransactStatements=[{"Statement": "SELECT * FROM things WHERE pk = 'a'"}])
        client.scan(TableName="things")
        before_writes = units.read
        client.put_item(TableName="things", Item=item(pk="b"))
        client.batch_write_item(RequestItems={"things": [{"PutRequest": {"Item": item(pk="c")}}]})
        client.transact_write_items(TransactItems=[{"Put": {"TableName": "things", "Item": item(pk="d")}}])
        client.execute_statement(Statement="INSERT INTO things VALUE {'pk': 'e'}")
        client.put_item(TableName="things", Item=item(pk="f", kind="k"))
        client.execute_transaction(TransactStatements=[{"Statement": "INSERT INTO things VALUE {'pk': 'g'}"}])
        assert units.read == before_writes
        client.list_tables()


def test_only_the_units_that_are_named_are_compared(database: local.LocalDatabase) -> None:
    client = database.client()
    with assert_units(client), assert_units(client, write=1), assert_units(client, read=0):
        client.put_item(TableName="things", Item=item(pk="b"))


def test_other_units_are_reported_by_request(database: local.LocalDatabase) -> None:
    client = database.client()
    with pytest.raises(AssertionError) as error, assert_units(client, read=0.5, write=3):
        client.get_item(TableName="things", Key=item(pk="a"))
        client.put_item(TableName="things", Item=item(pk="b"))
    assert str(error.value) == (
        "1 read units, not 0.5 and 1 write units, not 3, were consumed:\n"
        "  GetItem of things: 1 read\n"
        "  PutItem of things: 1 write"
    )
    with pytest.raises(AssertionError, match="no request"), assert_units(client, read=1):
        pass


def test_answers_show_units_only_to_those_who_asked(database: local.LocalDatabase) -> None:
    client = database.client()
    key: dict[str, Any] = {"TableName": "things", "Key": item(pk="a")}
    with assert_units(client, read=3) as outer, assert_units(client, read=3) as inner:
        assert "ConsumedCapacity" not in client.get_item(**key)
        assert "ConsumedCapacity" not in client.get_item(**key, ReturnConsumedCapacity="NONE")
        shown = client.get_item(**key, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        assert shown["Table"]["CapacityUnits"] == 1
    assert outer.requests == inner.requests
    assert "ConsumedCapacity" not in client.get_item(**key)
    assert len(outer.requests) == 3


def test_units_of_a_resource_and_of_its_table(database: local.LocalDatabase) -> None:
    resource = database.resource()
    table = resource.Table("things")
    with assert_units(resource, read=1), assert_units(table, read=1):
        assert table.get_item(Key={"pk": "a"})["Item"]["kind"] == "k"


def test_an_exception_of_the_block_is_not_replaced(database: local.LocalDatabase) -> None:
    client = database.client()
    with pytest.raises(ClientError), assert_units(client, read=5):
        client.get_item(TableName="missing", Key=item(pk="a"))


def test_scans_are_found_by_what_they_do(database: local.LocalDatabase) -> None:
    client = database.client()
    with assert_no_scans(database):
        client.get_item(TableName="things", Key=item(pk="a"))
        client.execute_statement(Statement="SELECT * FROM things WHERE pk = 'a'")
    for scan in (
        lambda: client.scan(TableName="things"),
        lambda: client.scan(TableName="things", IndexName="kinds"),
        lambda: client.execute_statement(Statement="SELECT * FROM things WHERE kind = 'k'"),
    ):
        with pytest.raises(AssertionError, match="scanned: things"), assert_no_scans(database):
            scan()
    client.scan(TableName="things")


def test_scans_of_the_patched_database_are_found(database: local.LocalDatabase) -> None:
    with local.patch(database), pytest.raises(AssertionError), assert_no_scans():
        database.resource().Table("things").scan()
    with pytest.raises(RuntimeError, match="around it"), assert_no_scans():
        pass
