"""PynamoDB against a real server: models, indexes, conditions, batches, transactions.

What it proves: an ORM that builds its own requests and converts every answer to its own types works
unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import DeleteError, PutError, TransactWriteError, UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite

from fixtures.served import Server

WHEN = datetime(2026, 11, 20, 12, 30, 15, 123456, tzinfo=UTC)


class BySender(GlobalSecondaryIndex):
    class Meta:
        index_name = "BySender"
        projection = AllProjection()
        read_capacity_units = 1
        write_capacity_units = 1

    sender = UnicodeAttribute(hash_key=True)
    sent = UTCDateTimeAttribute(range_key=True)


class ByLength(LocalSecondaryIndex):
    class Meta:
        index_name = "ByLength"
        projection = KeysOnlyProjection()

    thread = UnicodeAttribute(hash_key=True)
    length = NumberAttribute(range_key=True)


class Place(MapAttribute):
    city = UnicodeAttribute()
    floor = NumberAttribute(null=True)


class Message(Model):
    class Meta:
        table_name = "Message"
        region = "us-east-1"
        aws_access_key_id = "test"
        aws_secret_access_key = "test"
        read_capacity_units = 1
        write_capacity_units = 1

    thread = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    sender = UnicodeAttribute(null=True)
    sent = UTCDateTimeAttribute(null=True)
    length = NumberAttribute(null=True)
    text = UnicodeAttribute(default="")
    read = BooleanAttribute(default=False)
    tags = UnicodeSetAttribute(null=True)
    scores = NumberSetAttribute(null=True)
    raw = BinaryAttribute(legacy_encoding=False, null=True)
    extra = JSONAttribute(null=True)
    place = Place(null=True)
    history = ListAttribute(null=True)
    by_sender = BySender()
    by_length = ByLength()


class Account(Model):
    class Meta:
        table_name = "Account"
        region = "us-east-1"
        aws_access_key_id = "test"
        aws_secret_access_key = "test"
        billing_mode = "PAY_PER_REQUEST"

    owner = UnicodeAttribute(hash_key=True)
    balance = NumberAttribute(default=0)
    version = VersionAttribute()


@pytest.fixture
def messages(server: Server) -> Iterator[type[Message]]:
    """Yields the model with its table, and deletes the table."""
    yield from _table(Message, server)


@pytest.fixture
def accounts(server: Server) -> Iterator[type[Account]]:
    yield from _table(Account, server)


def _table(model: type[Model], server: Server) -> Iterator[type[Model]]:
    model.Meta.host = server.url
    model.create_table(wait=True)
    assert model.exists()
    yield model
    model.delete_table()


def _fill(messages: type[Message], count: int = 30) -> None:
    with messages.batch_write() as batch:
        for number in range(count):
            batch.save(
                messages(
                    "general",
                    number,
                    sender=f"user-{number % 3}",
                    sent=WHEN.replace(minute=number),
                    length=100 - number,
                )
            )


def test_describe_table(messages: type[Message]) -> None:
    described = messages.describe_table()
    assert described["TableStatus"] == "ACTIVE"
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["BySender"]
    assert [index["IndexName"] for index in described["LocalSecondaryIndexes"]] == ["ByLength"]


def test_values_of_every_type_are_read_back(messages: type[Message]) -> None:
    messages(
        "types",
        1,
        sender="ä𝄞",
        sent=WHEN,
        length=-0.5,
        text="",
        read=True,
        tags={"a", "b"},
        scores={1, 2.5},
        raw=b"\x00\xff",
        extra={"list": [1, None, "x"]},
        place=Place(city="Ulm", floor=3),
        history=["made", 1, {"by": "me"}],
    ).save()
    found = messages.get("types", 1, consistent_read=True)
    assert (found.sender, found.sent, found.length, found.text, found.read) == ("ä𝄞", WHEN, -0.5, "", True)
    assert (found.tags, found.scores, found.raw) == ({"a", "b"}, {1, 2.5}, b"\x00\xff")
    assert found.extra == {"list": [1, None, "x"]}
    assert (found.place.city, found.place.floor) == ("Ulm", 3)
    assert found.history == ["made", 1, {"by": "me"}]


def test_missing_item(messages: type[Message]) -> None:
    with pytest.raises(messages.DoesNotExist):
        messages.get("missing", 0)


def test_query_in_both_directions_and_pages(messages: type[Message]) -> None:
    _fill(messages)
    numbers = [found.number for found in messages.query("general", messages.number.between(5, 9))]
    assert numbers == [5, 6, 7, 8, 9]
    last = messages.query("general", scan_index_forward=False, limit=3)
    assert [found.number for found in last] == [29, 28, 27]
    paged = messages.query("general", page_size=7)
    assert [found.number for found in paged] == list(range(30))
    assert messages.count("general", filter_condition=messages.sender == "user-0") == 10


def test_query_continues_after_a_limit(messages: type[Message]) -> None:
    _fill(messages)
    first = messages.query("general", limit=4)
    assert len(list(first)) == 4
    rest = messages.query("general", last_evaluated_key=first.last_evaluated_key)
    assert [found.number for found in rest] == list(range(4, 30))


def test_indexes(messages: type[Message]) -> None:
    _fill(messages)
    since = WHEN.replace(minute=20)
    late = messages.by_sender.query("user-1", messages.sent >= since)
    assert [found.number for found in late] == [22, 25, 28]
    short = messages.by_length.query("general", messages.length < 75, scan_index_forward=False)
    assert [found.number for found in short] == [26, 27, 28, 29]
    assert messages.by_sender.count("user-2") == 10
    assert len(list(messages.by_sender.scan())) == 30


def test_scan_with_filters_and_segments(messages: type[Message]) -> None:
    _fill(messages)
    found = messages.scan((messages.number > 10) & ~(messages.sender == "user-0") | messages.tags.exists())
    assert {message.number for message in found} == {n for n in range(11, 30) if n % 3}
    segments = [messages.scan(segment=segment, total_segments=4) for segment in range(4)]
    assert sorted(message.number for segment in segments for message in segment) == list(range(30))


def test_update_actions(messages: type[Message]) -> None:
    message = messages("updates", 1, length=5, tags={"a", "b"}, history=["one"], place=Place(city="Ulm"))
    message.save()
    message.update(
        actions=[
            messages.length.set(messages.length + 2),
            messages.history.set(messages.history.append(["two"])),
            messages.tags.delete({"a"}),
            messages.place.city.set("Bonn"),
            messages.text.set(messages.sender | "missing"),
            messages.extra.remove(),
        ],
        condition=messages.length == 5,
    )
    assert (message.length, message.history, message.tags) == (7, ["one", "two"], {"b"})
    assert (message.place.city, message.text) == ("Bonn", "missing")
    with pytest.raises(UpdateError) as caught:
        message.update(actions=[messages.length.set(0)], condition=messages.length > 100)
    assert caught.value.cause_response_code == "ConditionalCheckFailedException"


def test_conditions_on_put_and_delete(messages: type[Message]) -> None:
    message = messages("conditions", 1, length=3)
    message.save(messages.thread.does_not_exist())
    with pytest.raises(PutError):
        message.save(messages.thread.does_not_exist())
    with pytest.raises(DeleteError):
        message.delete(messages.length.is_type() & messages.text.startswith("x"))
    message.delete((messages.length == 3) & messages.length.is_in(1, 2, 3) & (messages.text == ""))
    assert messages.count("conditions") == 0


def test_batches(messages: type[Message]) -> None:
    _fill(messages, 60)
    keys = [("general", number) for number in range(0, 60, 2)]
    assert {found.number for found in messages.batch_get(keys)} == set(range(0, 60, 2))
    with messages.batch_write() as batch:
        for found in messages.query("general"):
            batch.delete(found)
    assert messages.count("general") == 0


def test_optimistic_versions(accounts: type[Account]) -> None:
    account = accounts("ann", balance=10)
    account.save()
    stale = accounts.get("ann")
    account.update(actions=[accounts.balance.add(5)])
    assert (account.balance, account.version) == (15, 2)
    with pytest.raises(PutError):
        stale.save()


def test_transactions(accounts: type[Account], server: Server) -> None:
    for owner in ("ann", "bob"):
        accounts(owner, balance=10).save()
    connection = Connection(host=server.url, region="us-east-1")
    connection.session.set_credentials("test", "test")
    ann, bob = accounts.get("ann"), accounts.get("bob")
    with TransactWrite(connection=connection, client_request_token="once") as transaction:
        transaction.update(ann, actions=[accounts.balance.add(-4)], condition=accounts.balance >= 4)
        transaction.update(bob, actions=[accounts.balance.add(4)])
    with TransactGet(connection=connection) as transaction:
        futures = [transaction.get(accounts, owner) for owner in ("ann", "bob")]
    assert [future.get().balance for future in futures] == [6, 14]
    ann = accounts.get("ann")
    with (
        pytest.raises(TransactWriteError) as caught,
        TransactWrite(connection=connection) as transaction,
    ):
        transaction.update(ann, actions=[accounts.balance.add(-40)], condition=accounts.balance >= 40)
        transaction.save(accounts("eve", balance=40))
    # PynamoDB sends puts before updates.
    reasons = [reason and reason.code for reason in caught.value.cancellation_reasons]
    assert reasons == [None, "ConditionalCheckFailed"]
    assert accounts.count() == 2
