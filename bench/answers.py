"""Checks before the timing that the answers mean what the workload expects.

A server that answers every request with an error or an empty page is very fast. Before the rounds, the first
requests of each file are sent to every server, every answer is read, and every write is read back.
"""

import socket
from collections.abc import Callable
from typing import Any

import orjson

from bench import client
from bench.client import BadAnswer
from bench.requests import Operation, sign
from bench.workloads import PARTITION_ITEMS, Population, Workload

Body = dict[str, Any]
SCAN_PAGE_ITEMS_MIN = 1_500
"""A 1 MB page holds about 2,600 items of 400 bytes; the last page of a table may be shorter."""


class Asker:
    """A blocking connection that signs requests and accepts only status 200."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=client.ANSWER_S_MAX)

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def __call__(self, operation: str, body: Body) -> Body:
        """Raises BadAnswer."""
        status, answer = client.ask(self._connection, sign(operation, body))
        if status != 200:
            raise BadAnswer(f"{operation}: {status} {answer[:300].decode(errors='replace')}")
        try:
            decoded = orjson.loads(answer)
        except orjson.JSONDecodeError as error:
            raise BadAnswer(f"{operation}: the answer is not JSON: {error}") from error
        if not isinstance(decoded, dict):
            raise BadAnswer(f"{operation}: the answer is not an object")
        return decoded


def verify(workload: Workload, operations: list[Operation], population: Population, port: int) -> float:
    """Sends the first requests of a workload and checks each answer. Returns the mean number of items in one.

    Raises BadAnswer.
    """
    probes = operations[: workload.probes]
    with Asker(port) as ask:
        return sum(_CHECKS[operation](body, population, ask) for operation, body in probes) / len(probes)


def walk(table: str, population: Population, ask: Asker) -> None:
    """Scans the whole table and checks that it has each item of the population once.

    Raises BadAnswer.
    """
    seen = bytearray(population.count)
    items = 0
    start: Body = {}
    while True:
        page = ask("Scan", {"TableName": table, **start})
        for item in page.get("Items", []):
            items += 1
            number = population.number(item)
            _expect(0 <= number < population.count, "an item that was not written", item)
            seen[number] = 1
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    if items != population.count or sum(seen) != population.count:
        raise BadAnswer(f"{table} holds {items} items ({sum(seen)} distinct), not {population.count}")


def _expect(condition: bool, what: str, answer: object) -> None:
    if not condition:
        raise BadAnswer(f"{what}: {str(answer)[:300]}")


def _read(ask: Asker, table: str, key: Body) -> Body:
    found = ask("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")
    if not isinstance(found, dict):
        raise BadAnswer(f"{key} is not there")
    return found


def _key(item: Body) -> Body:
    return {"pk": item["pk"], "sk": item["sk"]}


def _check_get(body: Body, population: Population, ask: Asker) -> int:
    answer = ask("GetItem", body)
    item = answer.get("Item", {})
    _expect(_is_whole(item, population) and _key(item) == body["Key"], "not the item asked for", answer)
    return 1


def _check_put(body: Body, _: Population, ask: Asker) -> int:
    answer = ask("PutItem", body)
    _expect("Attributes" not in answer, "PutItem returned attributes", answer)
    stored = _read(ask, body["TableName"], _key(body["Item"]))
    _expect(stored == body["Item"], "PutItem did not store the item", stored)
    return 1


def _check_update(body: Body, _: Population, ask: Asker) -> int:
    before = _read(ask, body["TableName"], body["Key"])
    answer = ask("UpdateItem", body)
    _expect("Attributes" not in answer, "UpdateItem returned attributes", answer)
    stored = _read(ask, body["TableName"], body["Key"])
    views = {"N": str(int(before["views"]["N"]) + 1)}
    wanted = {**before, "views": views, "note": body["ExpressionAttributeValues"][":note"]}
    _expect(stored == wanted, "UpdateItem did not update", stored)
    rejected = {**body["ExpressionAttributeValues"], ":active": {"S": "never"}}
    _expect_condition_holds({**body, "ExpressionAttributeValues": rejected}, ask)
    return 1


def _expect_condition_holds(body: Body, ask: Asker) -> None:
    """Checks that the same update with a false condition is rejected, so that conditions are evaluated."""
    try:
        answer = ask("UpdateItem", body)
    except BadAnswer as error:
        if "ConditionalCheckFailedException" not in str(error):
            raise
    else:
        raise BadAnswer(f"UpdateItem ignored its condition: {answer}")


def _check_query(body: Body, population: Population, ask: Asker) -> int:
    answer = ask("Query", body)
    items = answer.get("Items", [])
    _expect(len(items) == PARTITION_ITEMS == answer.get("Count"), "not 100 items", answer)
    _expect(all(_is_whole(item, population) for item in items), "not whole items", answer)
    _expect(
        {item["pk"]["S"] for item in items} == {body["ExpressionAttributeValues"][":pk"]["S"]}, "pk", answer
    )
    sort_keys = [item["sk"]["S"] for item in items]
    _expect(sort_keys == sorted(set(sort_keys)), "not in order of sk", sort_keys)
    return len(items)


def _check_batch_write(body: Body, _: Population, ask: Asker) -> int:
    answer = ask("BatchWriteItem", body)
    _expect(not answer.get("UnprocessedItems"), "items left unprocessed", answer)
    ((table, writes),) = body["RequestItems"].items()
    for write in writes:
        item = write["PutRequest"]["Item"]
        stored = _read(ask, table, _key(item))
        _expect(stored == item, "BatchWriteItem did not store an item", stored)
    return len(writes)


def _check_transact(body: Body, _: Population, ask: Asker) -> int:
    ask("TransactWriteItems", body)
    update, *puts = body["TransactItems"]
    for put in puts:
        item = put["Put"]["Item"]
        stored = _read(ask, put["Put"]["TableName"], _key(item))
        _expect(stored == item, "TransactWriteItems did not store an item", stored)
    stored = _read(ask, update["Update"]["TableName"], update["Update"]["Key"])
    wanted = update["Update"]["ExpressionAttributeValues"][":note"]
    _expect(stored["note"] == wanted, "TransactWriteItems did not update", stored)
    return 1


def _check_select(body: Body, population: Population, ask: Asker) -> int:
    answer = ask("ExecuteStatement", body)
    items = answer.get("Items", [])
    _expect(len(items) == 1 and _is_whole(items[0], population), "not one whole item", answer)
    _expect([items[0]["pk"], items[0]["sk"]] == body["Parameters"], "not the item asked for", answer)
    return 1


def _check_scan(body: Body, population: Population, ask: Asker) -> int:
    answer = ask("Scan", body)
    items = answer.get("Items", [])
    _expect(len(items) == answer.get("Count"), "Count is not the number of items", answer)
    _expect(all(_is_whole(item, population) for item in items), "not whole items", answer)
    whole_page = len(items) >= SCAN_PAGE_ITEMS_MIN
    _expect(whole_page or "LastEvaluatedKey" not in answer, "a short page inside the table", len(items))
    return len(items)


def _is_whole(item: Body, population: Population) -> bool:
    return item.keys() == population.item(0).keys()


Check = Callable[[Body, Population, Asker], int]
_CHECKS: dict[str, Check] = {
    "GetItem": _check_get,
    "PutItem": _check_put,
    "UpdateItem": _check_update,
    "Query": _check_query,
    "BatchWriteItem": _check_batch_write,
    "Scan": _check_scan,
    "TransactWriteItems": _check_transact,
    "ExecuteStatement": _check_select,
}
