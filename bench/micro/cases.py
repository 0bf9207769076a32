"""Functions of the hot path with their arguments: the item of the server benchmarks.

A case is a name and a function without arguments. Add one only when a profile of a whole server shows that
the function matters.
"""

from collections.abc import Callable, Iterator

import orjson

from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition
from faradisc.language.expressions.binder import Placeholders
from faradisc.language.expressions.condition import bind_condition
from faradisc.language.expressions.key_condition import bind_key_condition
from faradisc.language.expressions.update import bind_update
from faradisc.model.codec import item_record, sortkey
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values import number
from faradisc.model.values.checks import canonicalise
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size
from faradisc.storage.api import EMBEDDED_SLOTS

Case = tuple[str, Callable[[], object]]


def cases() -> Iterator[Case]:
    """Returns all cases, from the lowest layer upwards."""
    item = Population(100).item(42)
    wire = orjson.dumps(item)
    yield "values: canonicalise an item", lambda: all(map(canonicalise, item.values()))
    yield "values: item_size", lambda: item_size(item)
    yield "values: number.parse, integer", lambda: number.parse("12345")
    yield "values: number.parse, 38 digits", lambda: number.parse("-1234567890123456789.0123456789012345678")
    yield "values: number.encode_ordered", lambda: number.encode_ordered("-12345.678")
    yield "values: number.add", lambda: number.add("12345", "0.1")

    stored = item_record.encode(item, item_size(item))
    yield "json: loads an item (floor)", lambda: orjson.loads(wire)
    yield "codec: item_record.encode", lambda: item_record.encode(item, 400)
    yield "codec: item_record.decode", lambda: item_record.decode(stored)
    yield "codec: splice a record into an answer", lambda: orjson.dumps({"Item": item_record.json_of(stored)})
    yield "codec: sortkey.encode_component, S", lambda: sortkey.encode_component(item["sk"])
    yield "codec: sortkey.encode_component, N", lambda: sortkey.encode_component(item["score"])
    placement = _placement()
    yield "codec: row_key of an item", lambda: placement.row_key(item)

    _, update = WORKLOADS["updateitem"].operations(Population(100))[0]
    names, values = update["ExpressionAttributeNames"], update["ExpressionAttributeValues"]
    holders = Placeholders(names, values)
    condition = bind_condition(update["ConditionExpression"], "ConditionExpression", holders)
    changes = bind_update(update["UpdateExpression"], holders)
    yield "expressions: Placeholders", lambda: Placeholders(names, values)
    yield (
        "expressions: bind_condition, known text",
        lambda: bind_condition(update["ConditionExpression"], "ConditionExpression", holders),
    )
    yield "expressions: bind_update, known text", lambda: bind_update(update["UpdateExpression"], holders)
    yield "expressions: Condition.matches", lambda: condition.matches(item)
    yield "expressions: Update.apply", lambda: changes.apply(item)

    _, query = WORKLOADS["query100"].operations(Population(100))[0]
    bound = Placeholders(None, query["ExpressionAttributeValues"])
    yield (
        "expressions: bind_key_condition, known text",
        lambda: bind_key_condition(query["KeyConditionExpression"], bound, placement.key),
    )


def _placement() -> Placement:
    definition = table_definition(PLAIN_TABLE)
    types = {each["AttributeName"]: each["AttributeType"] for each in definition["AttributeDefinitions"]}
    return Placement(resource=1, slots=EMBEDDED_SLOTS, key=KeySchema(("pk",), ("sk",), types))
