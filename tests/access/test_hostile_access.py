"""Requests that try to pass a policy: by region, by spelling, by members that an operation does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.registry import OPERATIONS
from faradisc.protocol.http import HttpRequest
from fixtures.access import ACCOUNT, REGION, SECRET, AccessWorld, arn, denial, statement

GAMES = arn("Games")
KEY = {"UserId": {"S": "alice"}}
SCHEMA: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
OWN = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}


@pytest.fixture(params=[False, True], ids=["one namespace", "per region"])
def games(request: pytest.FixtureRequest, bugs_surface: None) -> Iterator[AccessWorld]:
    """A table, with an item of bob, in a database with one namespace or with one per region."""
    world = AccessWorld(per_region=request.param)
    admin = world.client()
    admin.create_table(
        TableName="Games",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        **SCHEMA,
    )
    admin.put_item(TableName="Games", Item={"UserId": {"S": "bob"}, "secret": {"S": "seven"}})
    yield world
    world.close()


def outcome(call: Any, **request: Any) -> Any:
    """Returns the answer of a call, or the code of its error."""
    try:
        return call(**request)
    except ClientError as error:
        return error.response["Error"]["Code"]


# --- Other regions and spellings of a table --------------------------------------------------------

OTHER_SPELLINGS = (
    *("games", "GAMES", "Games ", " Games", "Games/", "Games/index/ByTop", "./Games", "x/../Games"),
    *("Games*", "Game?", "*", "${aws:username}", "Games%2e", "Games\u200b", "Gаmes"),
    *(arn("games"), arn("Games/"), arn("Games/index/ByTop"), arn("*"), arn("x/../Games")),
    *(GAMES.upper(), GAMES.replace("arn:", "ARN:"), GAMES.replace("table", "Table"), f" {GAMES}"),
    *(GAMES + "\n", GAMES.replace(":table", ":/table"), GAMES.replace("dynamodb", "dynamodb*")),
)


@pytest.mark.parametrize("name", OTHER_SPELLINGS)
def test_another_spelling_reaches_no_table(games: AccessWorld, name: str) -> None:
    """Even where policies deny the table and nothing else."""
    user = games.user(statement("*"), statement("*", [GAMES, f"{GAMES}/*"], effect="Deny"))
    for call, request in (
        (user.get_item, {"TableName": name, "Key": {"UserId": {"S": "bob"}}}),
        (user.batch_get_item, {"RequestItems": {name: {"Keys": [{"UserId": {"S": "bob"}}]}}}),
        (user.scan, {"TableName": name}),
        (user.describe_table, {"TableName": name}),
        (user.delete_table, {"TableName": name}),
    ):
        assert isinstance(outcome(call, **request), str)
    assert games.client().scan(TableName="Games")["Count"] == 1


ELSEWHERE = (
    arn("Games", region="eu-west-1"),
    arn("Games", account="111122223333"),
    arn("Games", region="eu-west-1", account="111122223333"),
    GAMES.replace("arn:aws:", "arn:aws-cn:"),
)


@pytest.mark.parametrize("name", [GAMES, "Games", *ELSEWHERE])
@pytest.mark.parametrize("region", [REGION, "eu-west-1"])
def test_a_denied_table_is_denied_under_the_names_of_other_regions(
    games: AccessWorld, name: str, region: str
) -> None:
    user = games.user(statement("*"), statement("*", [GAMES, f"{GAMES}/*"], effect="Deny"), region=region)
    answers = [
        outcome(user.get_item, TableName=name, Key={"UserId": {"S": "bob"}}),
        outcome(user.scan, TableName=name),
        outcome(user.execute_statement, Statement=f'SELECT * FROM "{name}"'),
        outcome(user.delete_table, TableName=name),
    ]
    assert all(isinstance(answer, str) for answer in answers)
    assert games.client().scan(TableName="Games")["Count"] == 1


def test_a_table_is_allowed_by_its_own_name_only(games: AccessWorld) -> None:
    """The right to a table of the same name elsewhere does not count here."""
    user = games.user(statement("*", list(ELSEWHERE)))
    for name in ("Games", GAMES, *ELSEWHERE):
        assert isinstance(outcome(user.scan, TableName=name), str)


def test_a_table_is_created_where_the_request_is_signed_for(games: AccessWorld) -> None:
    user = games.user(statement("CreateTable", arn("New", region="eu-west-1")))
    assert denial(user.create_table, TableName="New", **SCHEMA) is not None
    assert isinstance(outcome(user.create_table, TableName=arn("New", region="eu-west-1"), **SCHEMA), str)
    assert games.client().list_tables()["TableNames"] == ["Games"]


def test_a_restore_needs_rights_on_its_target(games: AccessWorld) -> None:
    admin = games.client()
    backup = admin.create_backup(TableName="Games", BackupName="backup")["BackupDetails"]["BackupArn"]
    user = games.user(statement("RestoreTableFromBackup"), statement("*", arn("Mine")))
    request = {"BackupArn": backup, "TargetTableName": "Other"}
    assert denial(user.restore_table_from_backup, **request) is not None
    assert denial(user.restore_table_from_backup, **{**request, "TargetTableName": "Mine"}) is None


def test_a_stream_is_reached_under_its_own_name_only(games: AccessWorld) -> None:
    stream = games.client().describe_table(TableName="Games")["Table"]["LatestStreamArn"]
    key = games.user_key(statement("*"), statement("*", f"{GAMES}/stream/*", effect="Deny"))
    for region in (REGION, "eu-west-1"):
        client = games.client(key, service="dynamodbstreams", region=region)
        for name in (stream, stream.replace(REGION, "eu-west-1"), stream.replace(ACCOUNT, "111122223333")):
            assert isinstance(outcome(client.describe_stream, StreamArn=name), str)


def test_an_iterator_names_its_stream(games: AccessWorld) -> None:
    """GetRecords has no other member, and an iterator of one stream cannot be made one of another."""
    admin = games.client()
    stream = admin.describe_table(TableName="Games")["Table"]["LatestStreamArn"]
    reader = games.client(service="dynamodbstreams")
    shard = reader.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = reader.get_shard_iterator(StreamArn=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    mine = f"{arn('Mine')}/stream/*"
    client = games.client(games.user_key(statement("GetRecords", mine)), service="dynamodbstreams")
    assert denial(client.get_records, ShardIterator=iterator) is not None
    renamed = iterator.replace("table/Games", "table/Mine")
    assert isinstance(outcome(client.get_records, ShardIterator=renamed), str)
    prefixed = f"{arn('Mine')}/stream/x|1|{iterator}"
    assert isinstance(outcome(client.get_records, ShardIterator=prefixed), str)


# --- Members that operations do not have, and names that occur twice -------------------------------


def post(world: AccessWorld, key_id: str, operation: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """Sends a body as it is, signed."""
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
    }
    request = AWSRequest("POST", "http://localhost/", headers, body)
    SigV4Auth(Credentials(key_id, SECRET), "dynamodb", REGION).add_auth(request)
    sent = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
    answered = world.answer(HttpRequest("POST", b"/", {**sent, b"host": b"localhost"}, body))
    return answered.status, orjson.loads(answered.body)


def is_denied(answer: tuple[int, dict[str, Any]]) -> bool:
    status, document = answer
    return status == 400 and document["__type"] == "com.amazon.coral.service#AccessDeniedException"


def test_members_that_an_operation_does_not_have_do_not_count(games: AccessWorld) -> None:
    own = games.user_key(statement("GetItem", GAMES, OWN))
    shown = {"StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    some = games.user_key(statement("GetItem", GAMES, shown))
    get = {"TableName": "Games", "Key": {"UserId": {"S": "bob"}}}
    for more in ({"Keys": [KEY]}, {"Item": KEY}, {"KeyConditions": {}}, {"Statement": "x"}):
        assert is_denied(post(games, own, "GetItem", orjson.dumps({**more, **get})))
    for more in ({"Select": "SPECIFIC_ATTRIBUTES"}, {"projectionExpression": "UserId"}):
        assert is_denied(post(games, some, "GetItem", orjson.dumps({**get, **more})))
    elements = [{"Get": {**get, "AttributesToGet": ["UserId"]}}]
    assert is_denied(post(games, some, "TransactGetItems", orjson.dumps({"TransactItems": elements})))


def test_of_a_name_that_occurs_twice_the_tested_value_is_the_used_one(games: AccessWorld) -> None:
    own = games.user_key(statement("GetItem", GAMES, OWN))
    alice, bob = b'{"UserId": {"S": "alice"}}', b'{"UserId": {"S": "bob"}}'
    for first, second in ((alice, bob), (bob, alice)):
        body = b'{"TableName": "Games", "Key": %b, "Key": %b}' % (first, second)
        status, document = post(games, own, "GetItem", body)
        assert "secret" not in str(document)
        assert (status, document) == (200, {}) or is_denied((status, document))


def test_a_target_is_spelled_as_its_operation(games: AccessWorld) -> None:
    key = games.user_key(statement("GetItem", GAMES))
    for target in ("getitem", "GetItem ", "GETITEM", "GetItem\t"):
        status, document = post(games, key, target, orjson.dumps({"TableName": "Games", "Key": KEY}))
        assert status == 400
        assert not is_denied((status, document))


def test_an_element_of_a_transaction_with_two_actions_needs_both(games: AccessWorld) -> None:
    key = games.user_key(statement("PutItem", GAMES))
    element = {
        "Put": {"TableName": "Games", "Item": KEY},
        "Delete": {"TableName": "Games", "Key": {"UserId": {"S": "bob"}}},
    }
    assert is_denied(post(games, key, "TransactWriteItems", orjson.dumps({"TransactItems": [element]})))


# --- Around LeadingKeys ----------------------------------------------------------------------------


def test_a_table_named_twice_in_a_batch_is_tested_twice(games: AccessWorld) -> None:
    user = games.user(statement("BatchGetItem", GAMES, OWN))
    wanted = {"Games": {"Keys": [KEY]}, GAMES: {"Keys": [{"UserId": {"S": "bob"}}]}}
    assert denial(user.batch_get_item, RequestItems=wanted) is not None


def test_a_next_token_of_another_statement_opens_nothing(games: AccessWorld) -> None:
    admin = games.client()
    admin.put_item(TableName="Games", Item={"UserId": {"S": "carol"}})
    every = 'SELECT * FROM "Games"'
    token = admin.execute_statement(Statement=every, Limit=1)["NextToken"]
    full = {"Bool": {"dynamodb:FullTableScan": "true"}}
    user = games.user(
        statement("PartiQLSelect", GAMES, OWN), statement("PartiQLSelect", "*", full, effect="Deny")
    )
    own = """SELECT * FROM "Games" WHERE "UserId"='alice'"""
    assert denial(user.execute_statement, Statement=every, NextToken=token) is not None
    answer = outcome(user.execute_statement, Statement=own, NextToken=token)
    assert isinstance(answer, str) or answer["Items"] == []


@pytest.mark.parametrize(
    "text",
    [
        """SELECT * FROM Games WHERE UserId = 'bob'""",
        """select * from "Games" where "UserId" = 'bob'""",
        """SELECT * FROM "Games" WHERE "UserId" = 'alice' OR TRUE""",
        """SELECT * FROM "Games" WHERE NOT "UserId" = 'alice'""",
        """SELECT * FROM "Games" WHERE "UserId" = 'alice' OR "UserId" BETWEEN 'a' AND 'z'""",
        """SELECT * FROM "Games" WHERE 'bob' = "UserId" """,
        """SELECT * FROM "Games"."Games" WHERE "UserId" = 'bob'""",
        """SELECT * FROM "Games" WHERE "UserId" IN ['alice'] OR "secret" = 'seven'""",
        """SELECT * FROM "Games" g WHERE g."UserId" = 'bob'""",
    ],
)
def test_statements_do_not_read_what_policies_hide(games: AccessWorld, text: str) -> None:
    full = {"Bool": {"dynamodb:FullTableScan": "true"}}
    user = games.user(
        statement("PartiQLSelect", "*", OWN), statement("PartiQLSelect", "*", full, effect="Deny")
    )
    answer = outcome(user.execute_statement, Statement=text)
    assert isinstance(answer, str) or answer["Items"] == []
    batch = outcome(user.batch_execute_statement, Statements=[{"Statement": text}])
    assert "seven" not in str(batch)


def test_a_failed_evaluation_denies(games: AccessWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error where a key is computed: the request neither runs nor fails as a 500."""

    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr("faradisc.operations.access.conditions._items_of", broken)
    user = games.user(statement("GetItem", GAMES, OWN))
    assert denial(user.get_item, TableName="Games", Key=KEY) is not None


def test_malformed_values_end_no_request_with_a_500(games: AccessWorld) -> None:
    key = games.user_key(statement("*", "*", OWN))
    deep: Any = {"S": "x"}
    for _ in range(40):
        deep = {"L": [deep]}
    for value in (
        {},
        {"S": 1},
        {"N": "x"},
        {"S": "a", "N": "1"},
        {"Q": "a"},
        deep,
        None,
        [],
        "a",
        {"N": "1e999"},
    ):
        for operation, member in (("GetItem", "Key"), ("PutItem", "Item")):
            request = {"TableName": "Games", member: {"UserId": value}}
            status, _ = post(games, key, operation, orjson.dumps(request))
            assert status == 400


# --- The other services ----------------------------------------------------------------------------


def test_other_services_need_actions_of_their_own(games: AccessWorld) -> None:
    key = games.user_key(statement("*", "arn:aws:dynamodb:*:*:table/*"), statement("dynamodb:*"))
    alarms = games.client(key, service="cloudwatch")
    targets = games.client(key, service="application-autoscaling")
    assert outcome(alarms.describe_alarms) in ("AccessDenied", "AccessDeniedException")
    assert outcome(targets.describe_scalable_targets, ServiceNamespace="dynamodb") == "AccessDeniedException"
    entitled = games.user_key(
        statement(["cloudwatch:DescribeAlarms", "application-autoscaling:DescribeScalableTargets"])
    )
    assert games.client(entitled, service="cloudwatch").describe_alarms()["MetricAlarms"] == []
    client = games.client(entitled, service="application-autoscaling")
    assert client.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"] == []
    assert outcome(client.register_scalable_target, **TARGET) == "AccessDeniedException"


TARGET = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/Games",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
    "MinCapacity": 1,
    "MaxCapacity": 2,
}


def test_a_denial_comes_before_every_other_error(games: AccessWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing table, wrong key, invalid expression: a caller without rights sees none of them."""

    async def never(backend: Backend, call: Call) -> dict[str, Any]:
        raise AssertionError(call.operation)

    for operation in OPERATIONS.values():
        monkeypatch.setattr(operation, "handler", never)
    user = games.user(statement("ListTables"))
    for call, request in (
        (user.get_item, {"TableName": "Missing", "Key": KEY}),
        (user.get_item, {"TableName": "Games", "Key": {"x": {"S": "a"}}}),
        (user.update_item, {"TableName": "Games", "Key": KEY, "UpdateExpression": "SET SET"}),
        (user.query, {"TableName": "Games", "KeyConditionExpression": "("}),
        (user.delete_table, {"TableName": "Missing"}),
    ):
        assert denial(call, **request) is not None
