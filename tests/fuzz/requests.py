"""Valid requests of every supported operation against the standing tables.

A valid request is right in itself; its condition may fail, its paths and tables may not exist.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from faradisc.operations.registry import OPERATIONS
from faradisc.protocol.service_model import operation_named

from . import backups
from .exchanges import (
    describe_bulk_operation,
    describe_export,
    describe_import,
    export_table,
    import_table,
    list_bulk_operations,
    list_exports,
    list_imports,
    start_bulk_put_items,
)
from .expressions import Expressions
from .statements import Statement, a_read, a_write, any_statement
from .streams import stream
from .tables import TABLES, Keys, Standing
from .values import NAMES, STRINGS, scalar, value

Request = dict[str, Any]
Maker = Callable[[Random], Request]

_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
_EXTRA_TABLES = ("Extra.1", "Extra-2", "Extra_3")
_FREE = ("title", "tags", "doc", "n", "kind", "rank")
_COMPARISONS = {
    "EQ": 1,
    "NE": 1,
    "LT": 1,
    "GE": 1,
    "CONTAINS": 1,
    "NOT_CONTAINS": 1,
    "IN": 2,
    "NULL": 0,
    "NOT_NULL": 0,
}


def _table(rng: Random) -> Standing:
    return rng.choice(TABLES)


def _named(rng: Random, table: Standing) -> str:
    return _ARN + table.name if rng.random() < 0.1 else table.name


def _maybe(rng: Random, chance: float, **members: Any) -> Request:
    return members if rng.random() < chance else {}


def _report(rng: Random, *, writes: bool = False) -> Request:
    members = _maybe(rng, 0.4, ReturnConsumedCapacity=rng.choice(("NONE", "TOTAL", "INDEXES")))
    if writes:
        members |= _maybe(rng, 0.3, ReturnItemCollectionMetrics=rng.choice(("NONE", "SIZE")))
    return members


# --- Items ---------------------------------------------------------------------------------------


def _legacy_condition(rng: Random) -> Request:
    operator = rng.choice(tuple(_COMPARISONS))
    kind = rng.choice("SNB")
    operands = [scalar(rng, kind) for _ in range(_COMPARISONS[operator])]
    return {"ComparisonOperator": operator, **({"AttributeValueList": operands} if operands else {})}


def _legacy_conditions(rng: Random, member: str) -> Request:
    names = rng.sample(_FREE, rng.randrange(1, 3))
    conditions = {name: _legacy_condition(rng) for name in names}
    if member == "Expected" and rng.random() < 0.5:
        conditions[rng.choice(_FREE)] = rng.choice(({"Exists": False}, {"Value": value(rng)}))
    operator = {"ConditionalOperator": rng.choice(("AND", "OR"))} if len(conditions) > 1 else {}
    return {member: conditions, **operator}


def _condition(rng: Random, expressions: Expressions) -> Request:
    if rng.random() < 0.5:
        return {}
    return {
        "ConditionExpression": expressions.condition(),
        **_maybe(rng, 0.3, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    }


def put_item(rng: Random) -> Request:
    table = _table(rng)
    expressions = Expressions(rng)
    condition = _legacy_conditions(rng, "Expected") if rng.random() < 0.15 else _condition(rng, expressions)
    return {
        "TableName": _named(rng, table),
        "Item": table.item(rng),
        **condition,
        **expressions.placeholders(),
        **_maybe(rng, 0.3, ReturnValues="ALL_OLD"),
        **_report(rng, writes=True),
    }


def delete_item(rng: Random) -> Request:
    table = _table(rng)
    expressions = Expressions(rng)
    condition = _legacy_conditions(rng, "Expected") if rng.random() < 0.15 else _condition(rng, expressions)
    return {
        "TableName": _named(rng, table),
        "Key": table.key(rng),
        **condition,
        **expressions.placeholders(),
        **_maybe(rng, 0.3, ReturnValues="ALL_OLD"),
        **_report(rng, writes=True),
    }


def update_item(rng: Random) -> Request:
    table = _table(rng)
    expressions = Expressions(rng)
    if rng.random() < 0.2:
        clauses = _legacy_updates(rng)
        if rng.random() < 0.5:
            clauses |= _legacy_conditions(rng, "Expected")
    else:
        clauses = _condition(rng, expressions)
        if rng.random() < 0.95:
            clauses["UpdateExpression"] = expressions.update(_FREE)
    modes = ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
    return {
        "TableName": _named(rng, table),
        "Key": table.key(rng),
        **clauses,
        **expressions.placeholders(),
        **_maybe(rng, 0.6, ReturnValues=rng.choice(modes)),
        **_report(rng, writes=True),
    }


def _legacy_updates(rng: Random) -> Request:
    choices = (
        {"Action": "PUT", "Value": value(rng)},
        {"Value": value(rng)},
        {"Action": "DELETE"},
        {"Action": "DELETE", "Value": {"SS": ["a"]}},
        {"Action": "ADD", "Value": {"N": "2"}},
        {"Action": "ADD", "Value": {"L": [value(rng)]}},
    )
    return {
        "AttributeUpdates": {name: rng.choice(choices) for name in rng.sample(_FREE, rng.randrange(1, 4))}
    }


def get_item(rng: Random) -> Request:
    table = _table(rng)
    return {
        "TableName": _named(rng, table),
        "Key": table.key(rng),
        **_projection(rng),
        **_maybe(rng, 0.3, ConsistentRead=rng.random() < 0.5),
        **_report(rng),
    }


def _projection(rng: Random) -> Request:
    if rng.random() < 0.5:
        return {}
    if rng.random() < 0.2:
        return {"AttributesToGet": rng.sample(NAMES, rng.randrange(1, 4))}
    expressions = Expressions(rng)
    return {"ProjectionExpression": expressions.projection(), **expressions.placeholders()}


# --- Query and Scan ------------------------------------------------------------------------------


def _source(rng: Random) -> tuple[Standing, str | None, Keys]:
    table = _table(rng)
    index = rng.choice((None, *table.indexes))
    return table, index, table.keys if index is None else table.indexes[index]


def _search(rng: Random, expressions: Expressions, table: Standing, index: str | None, keys: Keys) -> Request:
    members: Request = {"TableName": _named(rng, table)}
    if index is not None:
        members["IndexName"] = index
    elif rng.random() < 0.3:
        members["ConsistentRead"] = True
    members |= _maybe(rng, 0.4, Limit=rng.choice((1, 2, 3, 1000)))
    members |= _report(rng)
    members |= _maybe(rng, 0.3, Select=rng.choice(("COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")))
    if "Select" not in members and rng.random() < 0.3:
        members["ProjectionExpression"] = expressions.projection()
    if rng.random() < 0.2:
        members["ExclusiveStartKey"] = table.key(rng) | (table.key(rng, keys) if index else {})
    return members


def query(rng: Random) -> Request:
    table, index, keys = _source(rng)
    if rng.random() < 0.15:
        return _legacy_query(rng, table, index, keys)
    expressions = Expressions(rng)
    members = _search(rng, expressions, table, index, keys)
    members["KeyConditionExpression"] = expressions.key_condition(keys.hash, keys.range)
    members |= _maybe(rng, 0.4, ScanIndexForward=rng.random() < 0.5)
    if rng.random() < 0.4:
        members["FilterExpression"] = expressions.condition()
    return members | expressions.placeholders()


def _legacy_query(rng: Random, table: Standing, index: str | None, keys: Keys) -> Request:
    conditions = {
        name: {"ComparisonOperator": "EQ", "AttributeValueList": [scalar(rng, kind)]}
        for name, kind in keys.all().items()
    }
    members: Request = {"TableName": table.name, "KeyConditions": conditions}
    if index is not None:
        members["IndexName"] = index
    if rng.random() < 0.5:
        members |= _legacy_conditions(rng, "QueryFilter")
    return members


def scan(rng: Random) -> Request:
    table, index, keys = _source(rng)
    if rng.random() < 0.15:
        return {"TableName": table.name, **_legacy_conditions(rng, "ScanFilter")}
    expressions = Expressions(rng)
    members = _search(rng, expressions, table, index, keys)
    if rng.random() < 0.5:
        members["FilterExpression"] = expressions.condition()
    if rng.random() < 0.3:
        segments = rng.choice((1, 2, 7, 1_000_000))
        members |= {"Segment": rng.randrange(segments), "TotalSegments": segments}
        members.pop("ExclusiveStartKey", None)
    return members | expressions.placeholders()


# --- Batches and transactions --------------------------------------------------------------------


def batch_get_item(rng: Random) -> Request:
    tables = {}
    for table in rng.sample(TABLES, rng.randrange(1, 4)):
        keys = {repr(key): key for key in (table.key(rng) for _ in range(rng.randrange(1, 4)))}
        tables[table.name] = {"Keys": list(keys.values()), **_projection(rng)}
    return {"RequestItems": tables, **_report(rng)}


def batch_write_item(rng: Random) -> Request:
    tables = {}
    for table in rng.sample(TABLES, rng.randrange(1, 4)):
        requests: dict[str, Request] = {}
        for _ in range(rng.randrange(1, 5)):
            item = table.item(rng)
            key = {name: item[name] for name in table.keys.all()}
            put = rng.random() < 0.7
            requests[repr(key)] = {"PutRequest": {"Item": item}} if put else {"DeleteRequest": {"Key": key}}
        tables[table.name] = list(requests.values())
    return {"RequestItems": tables, **_report(rng, writes=True)}


def transact_get_items(rng: Random) -> Request:
    gets = []
    for _ in range(rng.randrange(1, 4)):
        table = _table(rng)
        expressions = Expressions(rng)
        get: Request = {"TableName": table.name, "Key": table.key(rng)}
        if rng.random() < 0.4:
            get |= {"ProjectionExpression": expressions.projection(), **expressions.placeholders()}
        gets.append({"Get": get})
    return {"TransactItems": gets, **_report(rng)}


def transact_write_items(rng: Random) -> Request:
    actions: dict[str, Request] = {}
    for _ in range(rng.randrange(1, 5)):
        table = _table(rng)
        item = table.item(rng)
        key = {name: item[name] for name in table.keys.all()}
        actions[table.name + repr(key)] = _action(rng, table, item, key)
    return {
        "TransactItems": list(actions.values()),
        **_maybe(rng, 0.3, ClientRequestToken=f"token-{rng.randrange(20)}"),
        **_report(rng, writes=True),
    }


def _action(rng: Random, table: Standing, item: Request, key: Request) -> Request:
    expressions = Expressions(rng)
    common: Request = {"TableName": table.name}
    match rng.randrange(4):
        case 0:
            return {
                "Put": {**common, "Item": item, **_condition(rng, expressions), **expressions.placeholders()}
            }
        case 1:
            update = {"UpdateExpression": expressions.update(_FREE), **_condition(rng, expressions)}
            return {"Update": {**common, "Key": key, **update, **expressions.placeholders()}}
        case 2:
            return {
                "Delete": {**common, "Key": key, **_condition(rng, expressions), **expressions.placeholders()}
            }
        case _:
            check = {"ConditionExpression": expressions.condition()}
            return {"ConditionCheck": {**common, "Key": key, **check, **expressions.placeholders()}}


# --- Statements ----------------------------------------------------------------------------------


def _with_parameters(statement: Statement) -> Request:
    text, parameters = statement
    return {"Statement": text, **({"Parameters": parameters} if parameters else {})}


def execute_statement(rng: Random) -> Request:
    return {
        **_with_parameters(any_statement(rng)),
        **_maybe(rng, 0.2, ConsistentRead=rng.random() < 0.5),
        **_maybe(rng, 0.3, Limit=rng.choice((1, 2, 100))),
        **_report(rng),
    }


def batch_execute_statement(rng: Random) -> Request:
    make = rng.choice((a_read, a_write))
    statements = [_with_parameters(make(rng)) for _ in range(rng.randrange(1, 4))]
    return {"Statements": statements, **_report(rng)}


def execute_transaction(rng: Random) -> Request:
    make = rng.choice((a_read, a_write))
    statements = [_with_parameters(make(rng)) for _ in range(rng.randrange(1, 4))]
    return {
        "TransactStatements": statements,
        **_maybe(rng, 0.3, ClientRequestToken=f"statement-{rng.randrange(20)}"),
        **_report(rng),
    }


# --- Tables --------------------------------------------------------------------------------------


def _any_table_name(rng: Random) -> str:
    return rng.choice((*_EXTRA_TABLES, *_EXTRA_TABLES, _table(rng).name))


def create_table(rng: Random) -> Request:
    definition = {**_table(rng).definition(), "TableName": _any_table_name(rng)}
    definition |= _maybe(rng, 0.2, Tags=[{"Key": "team", "Value": rng.choice(STRINGS[:6])}])
    definition |= _maybe(rng, 0.1, TableClass="STANDARD_INFREQUENT_ACCESS")
    definition |= _maybe(rng, 0.05, DeletionProtectionEnabled=True)
    return definition


def update_table(rng: Random) -> Request:
    units = {"ReadCapacityUnits": rng.choice((1, 5, 40)), "WriteCapacityUnits": rng.choice((1, 5, 40))}
    change = rng.choice(
        (
            {"BillingMode": "PAY_PER_REQUEST"},
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units},
            {"ProvisionedThroughput": units},
            {"DeletionProtectionEnabled": rng.random() < 0.2},
            {"TableClass": rng.choice(("STANDARD", "STANDARD_INFREQUENT_ACCESS"))},
            _index_updates(rng, units),
            _index_updates(rng, units),
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": units,
                **_index_updates(rng, units),
            },
        )
    )
    return {"TableName": _any_table_name(rng), **change}


def _index_updates(rng: Random, units: dict[str, int]) -> Request:
    """Change, add or remove global indexes, mostly one at a time as the service wants it."""
    updates: list[Request] = []
    definitions: list[Request] = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        name = rng.choice(("Inverted", "ByKind", "Multi", "Late"))
        match rng.randrange(3):
            case 0:
                updates.append({"Update": {"IndexName": name, "ProvisionedThroughput": units}})
            case 1:
                updates.append({"Delete": {"IndexName": name}})
            case _:
                attribute, kind = rng.choice((("kind", "S"), ("rank", "N"), ("title", "S"), ("a", "S")))
                definitions.append({"AttributeName": attribute, "AttributeType": kind})
                keys = Keys({attribute: kind})
                index = {
                    "IndexName": name,
                    "KeySchema": keys.schema(),
                    "Projection": {"ProjectionType": rng.choice(("ALL", "KEYS_ONLY"))},
                    **_maybe(rng, 0.3, ProvisionedThroughput=units),
                }
                updates.append({"Create": index})
    return {
        "GlobalSecondaryIndexUpdates": updates,
        **({"AttributeDefinitions": definitions} if definitions else {}),
    }


def delete_table(rng: Random) -> Request:
    return {"TableName": rng.choice(_EXTRA_TABLES)}


def describe_table(rng: Random) -> Request:
    return {"TableName": _any_table_name(rng)}


def update_contributor_insights(rng: Random) -> Request:
    modes = ("ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS")
    return {
        "TableName": _any_table_name(rng),
        "ContributorInsightsAction": rng.choice(("ENABLE", "DISABLE")),
        **_maybe(rng, 0.3, ContributorInsightsMode=rng.choice(modes)),
        **_maybe(rng, 0.2, IndexName=rng.choice(("index", "g1", "by-rank"))),
    }


def describe_contributor_insights(rng: Random) -> Request:
    return {"TableName": _any_table_name(rng), **_maybe(rng, 0.2, IndexName="index")}


def list_contributor_insights(rng: Random) -> Request:
    return {
        **_maybe(rng, 0.3, TableName=_any_table_name(rng)),
        **_maybe(rng, 0.3, MaxResults=rng.choice((-1, 0, 1, 100, 101))),
        **_maybe(rng, 0.2, NextToken=rng.choice(("MQ==", "x", "LTE="))),
    }


def list_tables(rng: Random) -> Request:
    return _maybe(rng, 0.5, Limit=rng.choice((1, 2, 100))) | _maybe(
        rng, 0.3, ExclusiveStartTableName=_any_table_name(rng)
    )


def tag_resource(rng: Random) -> Request:
    tags = [{"Key": key, "Value": rng.choice(STRINGS[:6])} for key in rng.sample(("a", "b", "c"), 2)]
    return {"ResourceArn": _ARN + _any_table_name(rng), "Tags": tags}


def untag_resource(rng: Random) -> Request:
    return {"ResourceArn": _ARN + _any_table_name(rng), "TagKeys": rng.sample(("a", "b", "c", "d"), 2)}


def list_tags_of_resource(rng: Random) -> Request:
    return {"ResourceArn": _ARN + _any_table_name(rng)}


def put_resource_policy(rng: Random) -> Request:
    statement = {
        "Effect": rng.choice(("Allow", "Deny")),
        "Principal": {"AWS": rng.choice(("111122223333", "arn:aws:iam::111122223333:user/a"))},
        "Action": rng.choice(("dynamodb:GetItem", ["dynamodb:Query", "dynamodb:Scan"], "dynamodb:*")),
        "Resource": "*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    return {"ResourceArn": _ARN + _any_table_name(rng), "Policy": policy}


def update_time_to_live(rng: Random) -> Request:
    specification = {"Enabled": rng.random() < 0.7, "AttributeName": rng.choice(("n", "rank", "doc.a"))}
    return {"TableName": _any_table_name(rng), "TimeToLiveSpecification": specification}


# --- Streams -------------------------------------------------------------------------------------


def list_streams(rng: Random) -> Request:
    return _maybe(rng, 0.5, TableName=_any_table_name(rng)) | _maybe(rng, 0.3, Limit=rng.choice((1, 100)))


def describe_stream(rng: Random) -> Request:
    return {"StreamArn": stream().arn, **_maybe(rng, 0.3, Limit=rng.choice((1, 2, 100)))}


def get_shard_iterator(rng: Random) -> Request:
    found = stream()
    kind = rng.choice(("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"))
    sequence = {"SequenceNumber": rng.choice(found.sequence_numbers)} if "SEQUENCE" in kind else {}
    return {
        "StreamArn": found.arn,
        "ShardId": rng.choice(found.shard_ids),
        "ShardIteratorType": kind,
        **sequence,
    }


def get_records(rng: Random) -> Request:
    return {"ShardIterator": rng.choice(stream().iterators), **_maybe(rng, 0.4, Limit=rng.choice((1, 1000)))}


def _empty(rng: Random) -> Request:
    return {}


_MAKERS: dict[str, Maker] = {
    "PutItem": put_item,
    "DeleteItem": delete_item,
    "UpdateItem": update_item,
    "GetItem": get_item,
    "Query": query,
    "Scan": scan,
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
    "TransactGetItems": transact_get_items,
    "TransactWriteItems": transact_write_items,
    "CreateTable": create_table,
    "UpdateTable": update_table,
    "DeleteTable": delete_table,
    "DescribeTable": describe_table,
    "ListTables": list_tables,
    "UpdateContributorInsights": update_contributor_insights,
    "DescribeContributorInsights": describe_contributor_insights,
    "ListContributorInsights": list_contributor_insights,
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsOfResource": list_tags_of_resource,
    "PutResourcePolicy": put_resource_policy,
    "GetResourcePolicy": list_tags_of_resource,
    "DeleteResourcePolicy": list_tags_of_resource,
    "ExecuteStatement": execute_statement,
    "BatchExecuteStatement": batch_execute_statement,
    "ExecuteTransaction": execute_transaction,
    "UpdateTimeToLive": update_time_to_live,
    "DescribeTimeToLive": describe_table,
    "ExportTableToPointInTime": export_table,
    "DescribeExport": describe_export,
    "ListExports": list_exports,
    "ImportTable": import_table,
    "DescribeImport": describe_import,
    "ListImports": list_imports,
    "StartBulkPutItems": start_bulk_put_items,
    "DescribeBulkOperation": describe_bulk_operation,
    "ListBulkOperations": list_bulk_operations,
    "ListStreams": list_streams,
    "DescribeStream": describe_stream,
    "GetShardIterator": get_shard_iterator,
    "GetRecords": get_records,
    **backups.MAKERS,
    "DescribeLimits": _empty,
    "DescribeEndpoints": _empty,
}

MAKERS = {name: maker for name, maker in _MAKERS.items() if name in OPERATIONS}

_WEIGHTS = {
    name: 8 if name in ("PutItem", "UpdateItem", "Query", "Scan", "ExecuteStatement") else 3
    for name in MAKERS
}
_WEIGHTS |= {"DescribeLimits": 1, "DescribeEndpoints": 1, "ListTables": 1}


def target_of(name: str) -> bytes:
    """The X-Amz-Target of an operation; the streams' ones have a prefix of their own."""
    operation = operation_named(name)
    assert operation is not None
    return operation.target


def any_request(rng: Random) -> tuple[str, Request]:
    """An operation, often one of the busy ones, and a valid request of it."""
    (name,) = rng.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))
    return name, MAKERS[name](rng)
