"""Condition keys of requests: what the policies of AWS's guides allow and deny.

Source: iam.md sections 2, 5 and 10.3; its numbers of cases are given where a test is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from faradisc.protocol.http import Peer
from fixtures.access import AccessWorld, arn, denial, statement

GAMES, BY_TOP = arn("Games"), arn("Games") + "/index/ByTop"
ITEM_ACTIONS = [
    *("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
    *("PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete", "ConditionCheckItem"),
]
OWN = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}


def create(admin: Any, name: str, kind: str = "S") -> None:
    """Creates a table with one partition key, UserId, and an index by Top."""
    admin.create_table(
        TableName=name,
        AttributeDefinitions=[
            {"AttributeName": "UserId", "AttributeType": kind},
            {"AttributeName": "Top", "AttributeType": "S"},
        ],
        KeySchema=[{"AttributeName": "UserId", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "ByTop",
                "KeySchema": [{"AttributeName": "Top", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


@pytest.fixture(scope="module")
def games() -> Iterator[AccessWorld]:
    world = AccessWorld()
    create(world.client(), "Games")
    create(world.client(), "Numbers", "N")
    create(world.client(), "Binaries", "B")
    yield world
    world.close()


def key(user: str) -> dict[str, Any]:
    return {"UserId": {"S": user}}


def allowed(call: Any, **request: Any) -> bool:
    return denial(call, **request) is None


def allowed_statement(client: Any, text: str, *parameters: Any) -> bool:
    more = {"Parameters": list(parameters)} if parameters else {}
    return allowed(client.execute_statement, Statement=text, **more)


# --- LeadingKeys -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alice(games: AccessWorld) -> Any:
    """May use items of her own, and scan."""
    return games.user(
        statement(ITEM_ACTIONS, [GAMES, BY_TOP, arn("Numbers"), arn("Binaries")], OWN),
    )


def test_operations_of_one_item(alice: Any) -> None:
    """Case 56."""
    for user, own in (("alice", True), ("bob", False), ("Alice", False), ("alice ", False)):
        assert allowed(alice.get_item, TableName="Games", Key=key(user)) is own
        assert allowed(alice.put_item, TableName="Games", Item=key(user)) is own
        assert allowed(alice.update_item, TableName="Games", Key=key(user)) is own
        assert allowed(alice.delete_item, TableName="Games", Key=key(user)) is own


def test_a_batch_is_denied_for_one_foreign_key(alice: Any) -> None:
    """Cases 57 and 58."""
    for users, own in ((["alice"], True), (["alice", "bob"], False)):
        keys = {"Games": {"Keys": [key(user) for user in users]}}
        assert allowed(alice.batch_get_item, RequestItems=keys) is own
        puts = {"Games": [{"PutRequest": {"Item": key(user)}} for user in users]}
        assert allowed(alice.batch_write_item, RequestItems=puts) is own
        deletes = {"Games": [{"DeleteRequest": {"Key": key(user)}} for user in users]}
        assert allowed(alice.batch_write_item, RequestItems=deletes) is own


def test_a_transaction_is_denied_for_one_foreign_key(alice: Any) -> None:
    gets = [{"Get": {"TableName": "Games", "Key": key(user)}} for user in ("alice", "bob")]
    assert allowed(alice.transact_get_items, TransactItems=gets[:1])
    assert not allowed(alice.transact_get_items, TransactItems=gets)
    check = {"TableName": "Games", "Key": key("bob"), "ConditionExpression": "attribute_exists(x)"}
    put = {"Put": {"TableName": "Games", "Item": key("alice")}}
    assert allowed(alice.transact_write_items, TransactItems=[put])
    assert not allowed(alice.transact_write_items, TransactItems=[put, {"ConditionCheck": check}])


@pytest.mark.parametrize(
    "condition",
    [
        "UserId = {}",
        "(UserId = {})",
        "((UserId)={})",
        "UserId\t=\n{}",
        "{} = UserId",
        "#u = {}",
        "UserId = {} AND begins_with(Title, :t)",
        "begins_with(Title, :t) AND (UserId = {})",
    ],
)
def test_a_query_is_of_its_partition_however_it_is_written(alice: Any, condition: str) -> None:
    """Cases 59 and 60. The table has no sort key, which is found after the test of rights."""
    for value, own in ((":a", True), (":b", False)):
        text = condition.format(value)
        values = {":a": {"S": "alice"}, ":b": {"S": "bob"}, ":t": {"S": "x"}}
        used = {name: each for name, each in values.items() if name in text}
        names = {"ExpressionAttributeNames": {"#u": "UserId"}} if "#u" in text else {}
        request = {"KeyConditionExpression": text, "ExpressionAttributeValues": used, **names}
        assert allowed(alice.query, TableName="Games", **request) is own


def test_a_query_by_legacy_conditions(alice: Any) -> None:
    for user, own in (("alice", True), ("bob", False)):
        condition = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": user}]}
        assert allowed(alice.query, TableName="Games", KeyConditions={"UserId": condition}) is own


def test_a_query_without_its_partition_key_is_denied(alice: Any) -> None:
    """Whatever is wrong with it: a key that is not known is no vacuous truth."""
    for text in ("Title = :a", "UserId > :a", "begins_with(UserId, :a)", "UserId <> :a"):
        values = {":a": {"S": "alice"}}
        with pytest.raises(ClientError) as caught:
            alice.query(TableName="Games", KeyConditionExpression=text, ExpressionAttributeValues=values)
        assert caught.value.response["Error"]["Code"] in ("AccessDeniedException", "ValidationException")
    condition = {"ComparisonOperator": "IN", "AttributeValueList": [{"S": "alice"}]}
    assert not allowed(alice.query, TableName="Games", KeyConditions={"UserId": condition})


def test_a_query_of_an_index_is_of_the_partition_of_the_index(alice: Any) -> None:
    """Case 63."""
    for top, own in (("chess", False), ("alice", True)):
        values = {":t": {"S": top}}
        request = {"KeyConditionExpression": "Top = :t", "ExpressionAttributeValues": values}
        assert allowed(alice.query, TableName="Games", IndexName="ByTop", **request) is own
    missing = {"KeyConditionExpression": "Top = :t", "ExpressionAttributeValues": {":t": {"S": "alice"}}}
    assert not allowed(alice.query, TableName="Games", IndexName="Missing", **missing)


def test_a_scan_has_no_leading_keys(games: AccessWorld, alice: Any) -> None:
    """Cases 61 and 62: do not list Scan in such a policy."""
    assert not allowed(alice.scan, TableName="Games")
    assert allowed(games.user(statement("Scan", GAMES, OWN)).scan, TableName="Games")
    some = {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}
    assert not allowed(games.user(statement("Scan", GAMES, some)).scan, TableName="Games")


def test_a_request_without_its_partition_key_is_denied(alice: Any) -> None:
    for wrong in ({}, {"Title": {"S": "alice"}}, {"userid": {"S": "alice"}}, {"UserId": {"SS": ["alice"]}}):
        assert not allowed(alice.get_item, TableName="Games", Key=wrong)
        assert not allowed(alice.put_item, TableName="Games", Item=wrong)
    assert not allowed(
        alice.batch_get_item, RequestItems={"Games": {"Keys": [key("alice"), {"x": {"S": "alice"}}]}}
    )


def test_a_missing_table_has_no_known_partition_key(games: AccessWorld) -> None:
    user = games.user(statement("GetItem", "*", OWN))
    assert not allowed(user.get_item, TableName="Missing", Key=key("alice"))


def test_numbers_are_compared_in_their_canonical_form(games: AccessWorld) -> None:
    """Case 68."""
    condition = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["1", "120"]}}
    user = games.user(statement(["GetItem", "PutItem"], arn("Numbers"), condition))
    for text, own in (("1", True), ("1.0", True), ("1e0", True), ("01", True), ("12e1", True), ("2", False)):
        assert allowed(user.get_item, TableName="Numbers", Key={"UserId": {"N": text}}) is own
    # With an invalid value elsewhere in the request, which is found later.
    item = {"UserId": {"N": "1.0"}, "x": {"N": "one"}}
    assert allowed(user.put_item, TableName="Numbers", Item=item)
    assert not allowed(user.put_item, TableName="Numbers", Item={**item, "UserId": {"N": "2"}})


def test_binary_keys_are_base64(games: AccessWorld) -> None:
    condition = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "AQI="}}
    user = games.user(statement("GetItem", arn("Binaries"), condition))
    assert allowed(user.get_item, TableName="Binaries", Key={"UserId": {"B": b"\1\2"}})
    assert not allowed(user.get_item, TableName="Binaries", Key={"UserId": {"B": b"\1\3"}})


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("""SELECT * FROM "Games" WHERE "UserId"='alice'""", True),
        ("""SELECT * FROM "Games" WHERE "UserId"='bob'""", False),
        ("""SELECT * FROM "Games" WHERE "UserId" IN ['alice']""", True),
        ("""SELECT * FROM "Games" WHERE "UserId" IN ['alice', 'bob']""", False),
        ("""SELECT * FROM "Games" WHERE "UserId"='alice' OR "UserId"='bob'""", False),
        ("""SELECT * FROM "Games"."ByTop" WHERE "Top"='alice'""", True),
        ("""SELECT * FROM "Games"."ByTop" WHERE "Top"='chess' AND "UserId"='alice'""", False),
        ("""INSERT INTO "Games" VALUE {'UserId':'alice'}""", True),
        ("""INSERT INTO "Games" VALUE {'UserId':'bob'}""", False),
        ("""INSERT INTO "Games" VALUE {'x':'alice'}""", False),
        ("""UPDATE "Games" SET "x"=1 WHERE "UserId"='alice'""", True),
        ("""UPDATE "Games" SET "x"=1 WHERE "UserId"='bob'""", False),
        ("""UPDATE "Games" SET "x"=1 WHERE "x"=1""", False),
        ("""DELETE FROM "Games" WHERE "UserId"='alice'""", True),
        ("""DELETE FROM "Games" WHERE "UserId"='bob'""", False),
        ("""DELETE FROM "Games" WHERE "UserId"='alice' OR "UserId"='bob'""", False),
    ],
)
def test_statements(alice: Any, text: str, own: bool) -> None:
    """Cases 64 and 66."""
    assert allowed_statement(alice, text) is own


def test_parameters_of_statements(alice: Any) -> None:
    for user, own in (("alice", True), ("bob", False)):
        value = {"S": user}
        assert allowed_statement(alice, 'SELECT * FROM "Games" WHERE "UserId"=?', value) is own
        assert allowed_statement(alice, 'SELECT * FROM "Games" WHERE "UserId" IN ?', {"L": [value]}) is own
        assert allowed_statement(alice, "INSERT INTO \"Games\" VALUE {'UserId':?}", value) is own
        assert allowed_statement(alice, 'INSERT INTO "Games" VALUE ?', {"M": {"UserId": value}}) is own


def test_a_statement_that_reads_the_whole_table(games: AccessWorld, alice: Any) -> None:
    """Case 65: it has no leading keys; a policy has to deny full scans."""
    text = """SELECT * FROM "Games" WHERE "UserId"='alice' OR "Top">'3'"""
    assert allowed_statement(alice, text)
    full = {"Bool": {"dynamodb:FullTableScan": ["true"]}}
    user = games.user(
        statement("PartiQLSelect", GAMES, OWN), statement("PartiQLSelect", "*", full, effect="Deny")
    )
    assert not allowed_statement(user, text)
    assert not allowed_statement(user, 'SELECT * FROM "Games"')
    assert allowed_statement(user, """SELECT * FROM "Games" WHERE "UserId"='alice'""")


def test_the_second_name_of_leading_keys(games: AccessWorld) -> None:
    condition = {"ForAllValues:StringEquals": {"dynamodb:FirstPartitionKeyValues": "${aws:username}"}}
    user = games.user(statement("GetItem", GAMES, condition))
    assert allowed(user.get_item, TableName="Games", Key=key("alice"))
    assert not allowed(user.get_item, TableName="Games", Key=key("bob"))


def test_further_attributes_of_a_partition_key(world: AccessWorld) -> None:
    names = ("UserId", "Tenant", "Season")
    world.client().create_table(
        TableName="Games",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[{"AttributeName": "UserId", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "BySeason",
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in names[1:]],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    condition = {"ForAnyValue:StringEquals": {"dynamodb:SecondPartitionKeyValues": "2026"}}
    user = world.user(statement("Query", f"{GAMES}/index/BySeason", condition))
    for season, own in (("2026", True), ("2025", False)):
        request = {
            "KeyConditionExpression": "Tenant = :t AND Season = :s",
            "ExpressionAttributeValues": {":t": {"S": "a"}, ":s": {"S": season}},
        }
        assert allowed(user.query, TableName="Games", IndexName="BySeason", **request) is own


# --- Attributes, Select, ReturnValues --------------------------------------------------------------

THIRD_EXAMPLE = {
    "ForAllValues:StringEquals": {"dynamodb:Attributes": ["UserId", "TopScore"]},
    "StringEqualsIfExists": {
        "dynamodb:Select": "SPECIFIC_ATTRIBUTES",
        "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"],
    },
}


@pytest.fixture(scope="module")
def limited(games: AccessWorld) -> Any:
    """The third example of the guide."""
    return games.user(
        statement(["GetItem", "Query", "Scan", "UpdateItem", "PartiQLSelect"], GAMES, THIRD_EXAMPLE)
    )


def test_reads_of_some_attributes(limited: Any) -> None:
    """Cases 69 to 71 and 79."""
    for projection, own in (
        ("TopScore", True),
        ("TopScore.Best", True),
        ("TopScore[0]", True),
        ("UserId, TopScore", True),
        ("TopScore, Wins", False),
        ("Wins.TopScore", False),
        (None, False),
    ):
        more = {} if projection is None else {"ProjectionExpression": projection}
        assert allowed(limited.get_item, TableName="Games", Key=key("a"), **more) is own
    names = {"#n": "Wins"}
    request = {"Key": key("a"), "ProjectionExpression": "#n", "ExpressionAttributeNames": names}
    assert not allowed(limited.get_item, TableName="Games", **request)
    for attributes, own in ((["TopScore"], True), (["Wins"], False)):
        assert allowed(limited.get_item, TableName="Games", Key=key("a"), AttributesToGet=attributes) is own


def test_updates_of_some_attributes(limited: Any) -> None:
    """Cases 72, 73 and 75, and an item that a failed condition would show."""
    one = {":o": {"N": "1"}}
    update = {"Key": key("a"), "UpdateExpression": "SET TopScore = :o", "ExpressionAttributeValues": one}
    for more, own in (
        ({}, True),
        ({"ReturnValues": "UPDATED_NEW"}, True),
        ({"ReturnValues": "ALL_NEW"}, False),
        ({"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}, False),
        ({"ReturnValues": "UPDATED_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}, False),
        ({"ConditionExpression": "TopScore < :o"}, True),
        ({"ConditionExpression": "attribute_exists(Wins)"}, False),
        ({"ConditionExpression": "size(Wins) = :o"}, False),
        ({"UpdateExpression": "SET TopScore = Wins + :o"}, False),
        ({"UpdateExpression": "SET TopScore = if_not_exists(Wins, :o)"}, False),
        ({"UpdateExpression": "SET TopScore = :o REMOVE Wins"}, False),
    ):
        assert allowed(limited.update_item, TableName="Games", **{**update, **more}) is own, more
    legacy = {"TopScore": {"Action": "PUT", "Value": {"N": "1"}}}
    assert allowed(limited.update_item, TableName="Games", Key=key("a"), AttributeUpdates=legacy)
    expected = {"Wins": {"Exists": False}}
    request = {"Key": key("a"), "AttributeUpdates": legacy, "Expected": expected}
    assert not allowed(limited.update_item, TableName="Games", **request)
    assert not allowed(limited.put_item, TableName="Games", Item=key("a"))


def test_searches_of_some_attributes(limited: Any) -> None:
    """Case 74."""
    values = {"ExpressionAttributeValues": {":o": {"N": "1"}}}
    seen = {"ProjectionExpression": "UserId"}
    assert allowed(limited.scan, TableName="Games", **seen)
    assert not allowed(limited.scan, TableName="Games", **seen, **values, FilterExpression="Wins > :o")
    assert allowed(limited.scan, TableName="Games", **seen, **values, FilterExpression="TopScore > :o")
    condition = {"Wins": {"ComparisonOperator": "NOT_NULL"}}
    assert not allowed(limited.scan, TableName="Games", AttributesToGet=["UserId"], ScanFilter=condition)
    assert not allowed(limited.scan, TableName="Games", Select="COUNT")
    assert not allowed(limited.scan, TableName="Games")


def test_statements_with_some_attributes(limited: Any) -> None:
    for text, own in (
        ("""SELECT "TopScore" FROM "Games" WHERE "UserId"='a'""", True),
        ("""SELECT * FROM "Games" WHERE "UserId"='a'""", False),
        ("""SELECT "Wins" FROM "Games" WHERE "UserId"='a'""", False),
        ("""SELECT "TopScore" FROM "Games" WHERE "UserId"='a' AND "Wins">1""", False),
        ("""SELECT "TopScore" FROM "Games" WHERE "UserId"='a' AND attribute_type("Wins", 'N')""", False),
    ):
        assert allowed_statement(limited, text) is own, text


def test_written_attributes_of_statements(games: AccessWorld) -> None:
    condition = {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["UserId", "TopScore"]}}
    user = games.user(
        statement(["PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"], GAMES, condition),
    )
    for text, own in (
        ("""INSERT INTO "Games" VALUE {'UserId':'a','TopScore':1}""", True),
        ("""INSERT INTO "Games" VALUE {'UserId':'a','Wins':1}""", False),
        ("""UPDATE "Games" SET "TopScore"=1 WHERE "UserId"='a'""", True),
        ("""UPDATE "Games" SET "TopScore"="Wins"+1 WHERE "UserId"='a'""", False),
        ("""UPDATE "Games" REMOVE "Wins" WHERE "UserId"='a'""", False),
        ("""UPDATE "Games" SET "TopScore"=1 WHERE "UserId"='a' AND "Wins">1""", False),
        ("""DELETE FROM "Games" WHERE "UserId"='a' AND "TopScore"=1""", True),
        ("""DELETE FROM "Games" WHERE "UserId"='a' AND "Wins"=1""", False),
    ):
        assert allowed_statement(user, text) is own, text


def test_batches_with_some_attributes(games: AccessWorld) -> None:
    condition = {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["UserId", "TopScore"]}}
    user = games.user(statement(["BatchGetItem", "BatchWriteItem"], GAMES, condition))
    for name, own in (("TopScore", True), ("Wins", False)):
        part = {"Keys": [key("a")], "ProjectionExpression": name}
        assert allowed(user.batch_get_item, RequestItems={"Games": part}) is own
        item = {**key("a"), name: {"N": "1"}}
        assert allowed(user.batch_write_item, RequestItems={"Games": [{"PutRequest": {"Item": item}}]}) is own
    whole = {"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE", "dynamodb:Select": "COUNT"}}
    writer = games.user(statement("BatchWriteItem", GAMES, whole))
    assert allowed(writer.batch_write_item, RequestItems={"Games": [{"PutRequest": {"Item": key("a")}}]})


def test_the_value_of_select_is_implied(games: AccessWorld) -> None:
    """Case 77."""
    index = {"StringEquals": {"dynamodb:Select": "ALL_PROJECTED_ATTRIBUTES"}}
    user = games.user(statement("Query", BY_TOP, index))
    request = {
        "TableName": "Games",
        "IndexName": "ByTop",
        "KeyConditionExpression": "Top = :t",
        "ExpressionAttributeValues": {":t": {"S": "a"}},
    }
    assert allowed(user.query, **request)
    assert allowed(user.query, **request, Select="ALL_PROJECTED_ATTRIBUTES")
    assert not allowed(user.query, **request, Select="ALL_ATTRIBUTES")
    assert not allowed(user.query, **request, Select="COUNT")
    assert not allowed(user.query, **request, ProjectionExpression="Top")


def test_denied_attributes(games: AccessWorld) -> None:
    """Case 78: the seventh example of the guide."""
    user = games.user(
        statement(["GetItem", "Query", "Scan", "BatchGetItem"], GAMES),
        statement("*", "*", {"ForAnyValue:StringEquals": {"dynamodb:Attributes": "SSN"}}, effect="Deny"),
        statement(
            "*",
            "*",
            {"StringNotEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}},
            effect="Deny",
        ),
    )
    get = {"TableName": "Games", "Key": key("a")}
    assert allowed(user.get_item, **get, ProjectionExpression="Title")
    assert not allowed(user.get_item, **get, ProjectionExpression="SSN")
    assert not allowed(user.get_item, **get)


def test_consumed_capacity(games: AccessWorld) -> None:
    condition = {"StringEquals": {"dynamodb:ReturnConsumedCapacity": "NONE"}}
    user = games.user(statement("GetItem", GAMES, condition))
    get = {"TableName": "Games", "Key": key("a")}
    assert allowed(user.get_item, **get)
    assert not allowed(user.get_item, **get, ReturnConsumedCapacity="TOTAL")


def test_an_invalid_expression_is_named_where_a_policy_asks_for_its_attributes(limited: Any) -> None:
    with pytest.raises(ClientError, match="Invalid ProjectionExpression") as caught:
        limited.get_item(TableName="Games", Key=key("a"), ProjectionExpression="a b")
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_searches_of_vectors_match_no_statement_on_items(games: AccessWorld) -> None:
    """Case 80."""
    index = f"{GAMES}/index/Vectors"
    search = {"TableName": "Games", "IndexName": "Vectors", "TopK": 1, "SearchVector": [{"N": "1"}]}
    assert not allowed(games.user(statement("SearchVectors", index, OWN)).search_vectors, **search)
    assert allowed(games.user(statement("SearchVectors", index)).search_vectors, **search)


# --- Transactions ----------------------------------------------------------------------------------


def test_item_actions_inside_and_outside_transactions(games: AccessWorld) -> None:
    """Cases 81 to 85."""
    put = {"Put": {"TableName": "Games", "Item": key("a")}}
    check = {
        "ConditionCheck": {
            "TableName": "Games",
            "Key": key("b"),
            "ConditionExpression": "attribute_not_exists(x)",
        }
    }
    inside = {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}}
    writer = games.user(statement("PutItem", GAMES))
    assert allowed(writer.transact_write_items, TransactItems=[put])
    assert not allowed(writer.transact_write_items, TransactItems=[put, check])
    misled = games.user(statement("TransactWriteItems", "*"))
    assert not allowed(misled.transact_write_items, TransactItems=[put])
    only = games.user(statement(["PutItem", "ConditionCheckItem"], GAMES, inside))
    assert allowed(only.transact_write_items, TransactItems=[put, check])
    assert not allowed(only.put_item, TableName="Games", Item=key("a"))
    never = games.user(statement("PutItem", GAMES), statement("PutItem", GAMES, inside, effect="Deny"))
    assert not allowed(never.transact_write_items, TransactItems=[put])
    assert allowed(never.put_item, TableName="Games", Item=key("a"))


def test_what_a_failed_condition_check_returns(games: AccessWorld) -> None:
    """Case 86."""
    condition = {"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}
    user = games.user(statement("ConditionCheckItem", GAMES, condition))
    check = {"TableName": "Games", "Key": key("b"), "ConditionExpression": "attribute_not_exists(x)"}
    assert allowed(user.transact_write_items, TransactItems=[{"ConditionCheck": check}])
    check["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    assert not allowed(user.transact_write_items, TransactItems=[{"ConditionCheck": check}])


def test_statements_inside_and_outside_transactions(games: AccessWorld) -> None:
    """Case 87."""
    inside = {"StringEquals": {"dynamodb:EnclosingOperation": "ExecuteTransaction"}}
    user = games.user(statement("PartiQLSelect", GAMES, inside))
    text = """SELECT * FROM "Games" WHERE "UserId"='a'"""
    assert allowed(user.execute_transaction, TransactStatements=[{"Statement": text}])
    assert not allowed_statement(user, text)


def test_item_actions_do_not_allow_statements(games: AccessWorld) -> None:
    """Case 67."""
    user = games.user(statement(["GetItem", "Query", "Scan"], GAMES))
    assert not allowed_statement(user, 'SELECT * FROM "Games"')


def test_what_statements_return(games: AccessWorld) -> None:
    condition = {"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}
    user = games.user(statement(["PartiQLUpdate", "PartiQLDelete"], GAMES, condition))
    for text in (
        """UPDATE "Games" SET "x"=1 WHERE "UserId"='a'""",
        """DELETE FROM "Games" WHERE "UserId"='a'""",
    ):
        assert allowed_statement(user, text)
        assert not allowed_statement(user, f"{text} RETURNING ALL OLD *")


# --- Tags ------------------------------------------------------------------------------------------


def test_tags_of_the_resource_and_of_the_caller(world: AccessWorld) -> None:
    admin = world.client()
    create(admin, "Games")
    user = world.user(
        statement("*", "*", {"StringEquals": {"aws:ResourceTag/Team": "${aws:PrincipalTag/Team}"}}),
        tags={"Team": "red"},
    )
    get = {"TableName": "Games", "Key": key("a")}
    assert not allowed(user.get_item, **get)
    admin.tag_resource(ResourceArn=GAMES, Tags=[{"Key": "Team", "Value": "blue"}])
    assert not allowed(user.get_item, **get)
    admin.tag_resource(ResourceArn=GAMES, Tags=[{"Key": "Team", "Value": "red"}])
    assert allowed(user.get_item, **get)
    assert allowed(user.scan, TableName="Games", IndexName="ByTop")
    admin.tag_resource(ResourceArn=GAMES, Tags=[{"Key": "team", "Value": "blue"}])
    assert not allowed(user.get_item, **get)


def test_tags_of_the_request(world: AccessWorld) -> None:
    admin = world.client()
    create(admin, "Games")
    condition = {
        "StringEquals": {"aws:RequestTag/Team": "red"},
        "ForAllValues:StringEquals": {"aws:TagKeys": ["Team", "Stage"]},
    }
    user = world.user(
        statement("TagResource", GAMES, condition),
        statement("UntagResource", GAMES, {"ForAllValues:StringEquals": {"aws:TagKeys": "Stage"}}),
    )
    for tags, own in (
        ({"Team": "red"}, True),
        ({"Team": "red", "Stage": "test"}, True),
        ({"Team": "blue"}, False),
        ({"Stage": "test"}, False),
        ({"Team": "red", "Other": "x"}, False),
    ):
        listed = [{"Key": name, "Value": value} for name, value in tags.items()]
        assert allowed(user.tag_resource, ResourceArn=GAMES, Tags=listed) is own
    assert allowed(user.untag_resource, ResourceArn=GAMES, TagKeys=["Stage"])
    assert not allowed(user.untag_resource, ResourceArn=GAMES, TagKeys=["Stage", "Team"])


# --- Keys of every request -------------------------------------------------------------------------


def test_the_address_and_the_encryption_of_the_connection(world: AccessWorld) -> None:
    create(world.client(), "Games")
    near = world.user(statement("GetItem", GAMES, {"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}}))
    encrypted = world.user(statement("GetItem", GAMES, {"Bool": {"aws:SecureTransport": "true"}}))
    get = {"TableName": "Games", "Key": key("a")}
    for peer, is_near, is_encrypted in (
        (Peer("192.0.2.7"), True, False),
        (Peer("198.51.100.7", is_tls=True), False, True),
        (Peer(), False, False),
    ):
        world.peer = peer
        assert allowed(near.get_item, **get) is is_near
        assert allowed(encrypted.get_item, **get) is is_encrypted


def test_the_time(world: AccessWorld) -> None:
    """The clock is the database's, which a test moves."""
    create(world.client(), "Games")
    now = "2023-11-14T22:{}:00Z"
    user = world.user(
        statement("GetItem", GAMES, {"DateLessThan": {"aws:CurrentTime": now.format("30")}}),
        statement("Query", GAMES, {"NumericLessThan": {"aws:EpochTime": 1_700_000_600}}),
    )
    get = {"TableName": "Games", "Key": key("a")}
    assert allowed(user.get_item, **get)
    world.process.clock.advance(3600)  # type: ignore[attr-defined]
    assert not allowed(user.get_item, **get)


def test_the_agent_and_the_region(world: AccessWorld) -> None:
    create(world.client(), "Games")
    get = {"TableName": "Games", "Key": key("a")}
    here = statement("GetItem", "*", {"StringEquals": {"aws:RequestedRegion": "us-east-1"}})
    assert allowed(world.user(here).get_item, **get)
    assert not allowed(world.user(here, region="eu-west-1").get_item, **get)
    agent = {"StringLike": {"aws:UserAgent": "Boto3/*"}}
    assert allowed(world.user(statement("GetItem", "*", agent)).get_item, **get)
    other = {"StringLike": {"aws:UserAgent": "curl/*"}}
    assert not allowed(world.user(statement("GetItem", "*", other)).get_item, **get)
    referer = {"StringLike": {"aws:Referer": "*"}}
    assert not allowed(world.user(statement("GetItem", "*", referer)).get_item, **get)
