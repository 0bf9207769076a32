"""Random operations on the real database and on a dictionary, compared.

What it proves: after any sequence of writes every index equals the one computed by brute force, counters and
sizes agree, and Query and Scan return exactly the model's items, in order, through pages of any size. Source
of the rules: engine-requirements.md.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from faradisc.protocol import failures
from fixtures.in_process import InProcess, Refused
from model.reference import Item, Model, Source, Value, sort_key

# --- The schemas, and a small world of values in which everything collides ------------------------

TYPES = {"p": "S", "r": "N", "a": "S", "b": "N", "c": "S", "d": "B"}

VALUES: dict[str, list[Value]] = {
    "p": [{"S": "p"}, {"S": "p\x00"}, {"S": "q"}],
    "r": [{"N": "-10"}, {"N": "-9"}, {"N": "0"}, {"N": "7"}],
    "a": [{"S": "a"}, {"S": "a\x00b"}, {"S": "é"}],
    "b": [{"N": "-1"}, {"N": "0"}, {"N": "2"}, {"N": "10"}],
    "c": [{"S": "x"}, {"S": "xy"}, {"S": "\U00010000"}],
    "d": [{"B": "AA=="}, {"B": "AP8="}, {"B": "/w=="}],
    "x": [{"S": ""}, {"S": "text"}, {"N": "5"}],
    "n": [{"N": "0"}, {"N": "1"}, {"N": "-3"}],
}
BAD_KEYS: dict[str, Value] = {"a": {"N": "1"}, "b": {"S": "1"}, "c": {"S": ""}, "d": {"S": "AA=="}}

LOCAL = (
    Source("local-keys", ("p",), ("b",), "KEYS_ONLY"),
    Source("local-some", ("p",), ("c",), ("x",)),
    Source("local-all", ("p",), ("d",)),
)
GLOBAL = (
    Source("global-keys", ("a",), (), "KEYS_ONLY", is_global=True),
    Source("global-some", ("b",), ("a",), ("x", "n"), is_global=True),
    Source("global-many", ("a", "b"), ("c", "d"), "ALL", is_global=True),
    Source("global-inverted", ("c",), ("p",), "ALL", is_global=True),
)


def hash_only() -> Model:
    used = {name: TYPES[name] for name in "pabcd"}
    return Model(used, Source(None, ("p",)), GLOBAL)


def sorted_table() -> Model:
    return Model(TYPES, Source(None, ("p",), ("r",)), LOCAL + GLOBAL)


def create_request(model: Model) -> dict[str, Any]:
    def key(source: Source) -> list[dict[str, str]]:
        return [{"AttributeName": n, "KeyType": "HASH"} for n in source.hash] + [
            {"AttributeName": n, "KeyType": "RANGE"} for n in source.range
        ]

    def index(source: Source) -> dict[str, Any]:
        kind = source.projection if isinstance(source.projection, str) else "INCLUDE"
        projection: dict[str, Any] = {"ProjectionType": kind}
        if kind == "INCLUDE":
            projection["NonKeyAttributes"] = list(source.projection)
        return {"IndexName": source.name, "KeySchema": key(source), "Projection": projection}

    request: dict[str, Any] = {
        "TableName": "table",
        "KeySchema": key(model.table),
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in model.types.items()],
        "BillingMode": "PAY_PER_REQUEST",
    }
    local = [index(source) for source in model.indexes if not source.is_global]
    if local:
        request["LocalSecondaryIndexes"] = local
    request["GlobalSecondaryIndexes"] = [index(source) for source in model.indexes if source.is_global]
    return request


# --- Strategies ----------------------------------------------------------------------------------


def value_of(name: str) -> st.SearchStrategy[Value]:
    return st.sampled_from(VALUES[name])


attributes = st.fixed_dictionaries({}, optional={name: value_of(name) for name in "abcdxn"})
bad_attribute = st.sampled_from([None] * 15 + sorted(BAD_KEYS.items()))
keys = st.fixed_dictionaries({"p": value_of("p"), "r": value_of("r")})
limits = st.sampled_from([None, 1, 2, 3])

CONDITIONS: dict[str, Callable[[Item], bool]] = {
    "attribute_exists(p)": lambda item: "p" in item,
    "attribute_not_exists(p)": lambda item: "p" not in item,
    "attribute_exists(a) AND NOT attribute_exists(b)": lambda item: "a" in item and "b" not in item,
    "n >= :zero OR x = :text": lambda item: (
        ("n" in item and int(item["n"]["N"]) >= 0) or item.get("x") == {"S": "text"}
    ),
}
CONDITION_VALUES: dict[str, Value] = {":zero": {"N": "0"}, ":text": {"S": "text"}}
conditions = st.sampled_from([None, None, None, *CONDITIONS])


class TableMachine(RuleBasedStateMachine):
    """On a store chosen by the subclass."""

    on_disk = False

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp()) if self.on_disk else None
        self.process = InProcess(self.place)

    @initialize(make=st.sampled_from([hash_only, sorted_table]))
    def create(self, make: Callable[[], Model]) -> None:
        self.model = make()
        self.process.call("CreateTable", **create_request(self.model))

    def teardown(self) -> None:
        self.process.close()
        if self.place is not None:
            shutil.rmtree(self.place)

    # --- Writes ---

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.process.call(operation, TableName="table", **request)

    def key(self, drawn: Item) -> Item:
        return {name: drawn[name] for name in self.model.table.key}

    def item(self, key: Item, rest: Item, bad: tuple[str, Value] | None = None) -> Item:
        return {**self.key(key), **rest, **({bad[0]: bad[1]} if bad is not None else {})}

    def condition(self, text: str | None, values: Item | None = None) -> dict[str, Any]:
        used = {name: value for name, value in CONDITION_VALUES.items() if text and name in text}
        used.update(values or {})
        request: dict[str, Any] = {"ExpressionAttributeValues": used} if used else {}
        return {**request, "ConditionExpression": text} if text else request

    def write(self, allowed: bool, text: str | None, old: Item | None, send: Callable[[], Any]) -> bool:
        """Sends a write that must succeed, be rejected as invalid, or fail its condition; returns whether
        it succeeded."""
        holds = text is None or CONDITIONS[text](old or {})
        if allowed and holds:
            send()
            return True
        with pytest.raises(Refused) as rejection:
            send()
        # An invalid put is reported before its condition, an invalid update after it.
        assert rejection.value.code in (
            ("ConditionalCheckFailedException",) if allowed else ("ValidationException",)
        ) or (not holds and rejection.value.code == "ConditionalCheckFailedException")
        return False

    @rule(key=keys, rest=attributes, bad=bad_attribute, text=conditions)
    def put(self, key: Item, rest: Item, bad: tuple[str, Value] | None, text: str | None) -> None:
        item = self.item(key, rest, bad)
        old = self.model.get(item)

        def send() -> None:
            answer = self.call("PutItem", Item=item, ReturnValues="ALL_OLD", **self.condition(text))
            assert answer.get("Attributes") == old

        if self.write(self.model.fits(item), text, old, send):
            self.model.put(item)

    @rule(key=keys, text=conditions)
    def delete(self, key: Item, text: str | None) -> None:
        old = self.model.get(key)

        def send() -> None:
            answer = self.call(
                "DeleteItem", Key=self.key(key), ReturnValues="ALL_OLD", **self.condition(text)
            )
            assert answer.get("Attributes") == old

        if self.write(True, text, old, send):
            self.model.delete(key)

    @rule(
        key=keys,
        change=attributes,
        removed=st.sets(st.sampled_from("abcdx")),
        added=st.sampled_from([None, 1, -1]),
        bad=bad_attribute,
        text=conditions,
    )
    def update(self, **drawn: Any) -> None:
        key, change, text = self.key(drawn["key"]), dict(drawn["change"]), drawn["text"]
        change.pop("n", None)
        if drawn["bad"] is not None:
            change[drawn["bad"][0]] = drawn["bad"][1]
        removed = sorted(drawn["removed"] - change.keys())
        old = self.model.get(key)
        new = {**(old or key), **change}
        for name in removed:
            new.pop(name, None)
        sections, values = [], {f":{name}": value for name, value in change.items()}
        if change:
            sections.append("SET " + ", ".join(f"{name} = :{name}" for name in change))
        if removed:
            sections.append("REMOVE " + ", ".join(removed))
        if drawn["added"] is not None:
            sections.append("ADD n :n")
            values[":n"] = {"N": str(drawn["added"])}
            number = int(new["n"]["N"]) if "n" in new else 0
            new["n"] = {"N": str(max(-99, min(99, number + drawn["added"])))}

        def send() -> None:
            expression = {"UpdateExpression": " ".join(sections)} if sections else {}
            condition = self.condition(text, values)
            answer = self.call("UpdateItem", Key=key, ReturnValues="ALL_NEW", **expression, **condition)
            assert answer.get("Attributes") == (new if exists else None)

        # An update that only removes does not create an item.
        exists = old is not None or drawn["added"] is not None or bool(change) or not removed
        if self.write(self.model.fits(new), text, old, send) and exists:
            self.model.put(new)

    @rule(
        puts=st.lists(st.tuples(keys, attributes), max_size=4),
        deletes=st.lists(keys, max_size=3),
        bad=bad_attribute,
    )
    def batch_write(self, puts: list[Any], deletes: list[Item], bad: tuple[str, Value] | None) -> None:
        by_key: dict[tuple[Any, ...], tuple[Item, bool]] = {}
        for key in deletes:
            by_key[self.model.key_of(key)] = (self.key(key), False)
        for key, rest in puts:
            by_key[self.model.key_of(key)] = (self.item(key, rest, bad), True)
        if not by_key:
            return
        requests = [
            {"PutRequest": {"Item": subject}} if is_put else {"DeleteRequest": {"Key": subject}}
            for subject, is_put in by_key.values()
        ]
        items = [subject for subject, is_put in by_key.values() if is_put]
        if not all(map(self.model.fits, items)):
            with pytest.raises(Refused, match="ValidationException"):
                self.process.call("BatchWriteItem", RequestItems={"table": requests})
            return
        answer = self.process.call("BatchWriteItem", RequestItems={"table": requests})
        assert answer["UnprocessedItems"] == {}
        for subject, is_put in by_key.values():
            (self.model.put if is_put else self.model.delete)(subject)

    @rule(
        puts=st.lists(st.tuples(keys, attributes, conditions), min_size=1, max_size=3),
        deletes=st.lists(st.tuples(keys, conditions), max_size=2),
    )
    def transact_write(self, puts: list[Any], deletes: list[Any]) -> None:
        by_key: dict[tuple[Any, ...], tuple[Item, bool, str | None]] = {}
        for key, text in deletes:
            by_key[self.model.key_of(key)] = (self.key(key), False, text)
        for key, rest, text in puts:
            by_key[self.model.key_of(key)] = (self.item(key, rest), True, text)
        actions = [
            {"Put": {"TableName": "table", "Item": subject, **self.condition(text)}}
            if is_put
            else {"Delete": {"TableName": "table", "Key": subject, **self.condition(text)}}
            for subject, is_put, text in by_key.values()
        ]
        verdicts = [
            text is None or CONDITIONS[text](self.model.get(subject) or {})
            for subject, _, text in by_key.values()
        ]
        if all(verdicts):
            self.process.call("TransactWriteItems", TransactItems=actions)
            for subject, is_put, _ in by_key.values():
                (self.model.put if is_put else self.model.delete)(subject)
            return
        with pytest.raises(Refused) as rejection:
            self.process.call("TransactWriteItems", TransactItems=actions)
        codes = [reason["Code"] for reason in rejection.value.body["CancellationReasons"]]
        assert codes == ["None" if verdict else "ConditionalCheckFailed" for verdict in verdicts]

    # --- Reads ---

    @rule(wanted=st.lists(keys, min_size=1, max_size=5), consistent=st.booleans())
    def batch_get(self, wanted: list[Item], consistent: bool) -> None:
        by_key = {self.model.key_of(key): self.key(key) for key in wanted}
        request = {"Keys": list(by_key.values()), "ConsistentRead": consistent}
        answer = self.process.call("BatchGetItem", RequestItems={"table": request})
        found = [self.model.items[key] for key in by_key if key in self.model.items]
        assert answer["Responses"]["table"] == found
        assert answer["UnprocessedKeys"] == {}
        for key, subject in by_key.items():
            assert self.call("GetItem", Key=subject).get("Item") == self.model.items.get(key)

    def pages(self, operation: str, limit: int | None, source: Source, request: dict[str, Any]) -> list[Item]:
        """Returns the items of all pages; compares every page with the model."""
        found: list[Item] = []
        if limit is not None:
            request["Limit"] = limit
        if source.name is not None:
            request["IndexName"] = source.name
        for _ in range(len(self.model.items) + 1):
            page = self.call(operation, **request)
            assert page["Count"] == page["ScannedCount"] == len(page["Items"])
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                one_row = operation == "Query" and source == self.model.table and not source.range
                assert limit is None or page["Count"] < limit or one_row
                return found
            assert page["Count"] == limit
            assert page["LastEvaluatedKey"] == self.model.start_key(source, page["Items"][-1])
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        raise AssertionError("more pages than items")

    @rule(data=st.data(), limit=limits, forward=st.booleans())
    def query(self, data: st.DataObject, limit: int | None, forward: bool) -> None:
        source = data.draw(st.sampled_from((self.model.table, *self.model.indexes)), label="source")
        hashes = [data.draw(value_of(name), label=name) for name in source.hash]
        clauses = [f"{name} = :h{at}" for at, name in enumerate(source.hash)]
        values = {f":h{at}": value for at, value in enumerate(hashes)}
        tests: list[Callable[[Item], bool]] = []
        for at in range(data.draw(st.integers(0, len(source.range)), label="range conditions")):
            name = source.range[at]
            low, high = sorted((data.draw(value_of(name)), data.draw(value_of(name))), key=sort_key)
            last = at + 1 == len(source.range) or data.draw(st.booleans(), label="last")
            drawn = data.draw(st.sampled_from(sorted(OPERATORS)), label="operator")
            operator = drawn if last else "{n} = {a}"
            if "begins_with" in operator and TYPES[name] == "N":
                operator = "{n} >= {a}"
            clauses.append(operator.format(n=name, a=f":a{at}", b=f":b{at}"))
            values[f":a{at}"] = low
            if "{b}" in operator:
                values[f":b{at}"] = high
            tests.append(_test(OPERATORS[operator], name, low, high))
            if last:
                break
        found = self.pages(
            "Query",
            limit,
            source,
            {
                "KeyConditionExpression": " AND ".join(data.draw(st.permutations(clauses), label="clauses")),
                "ExpressionAttributeValues": values,
                "ScanIndexForward": forward,
            },
        )
        wanted = self.model.query(source, hashes, lambda item: all(test(item) for test in tests))
        assert found == (wanted if forward else wanted[::-1])

    @rule(data=st.data(), limit=limits, total=st.sampled_from([1, 2, 3, 5, 64]))
    def scan(self, data: st.DataObject, limit: int | None, total: int) -> None:
        source = data.draw(st.sampled_from((self.model.table, *self.model.indexes)), label="source")
        found: list[Item] = []
        for segment in range(total):
            found += self.pages("Scan", limit, source, {"Segment": segment, "TotalSegments": total})
        # The model does not have the hash order, only the order inside a collection.
        for hashes in {tuple(map(str, (item[name] for name in source.hash))) for item in found}:
            shown = [i for i in found if tuple(map(str, (i[name] for name in source.hash))) == hashes]
            assert shown == self.model.query(source, [shown[0][name] for name in source.hash])
        assert len(found) == len(self.model.entries(source))

    # --- What always holds ---

    @invariant()
    def the_store_agrees_with_itself(self) -> None:
        self.process.check()

    @invariant()
    def counts_sizes_and_items_are_the_model_s(self) -> None:
        if not hasattr(self, "model"):
            return
        described = self.call("DescribeTable")["Table"]
        assert described["ItemCount"] == len(self.model.items)
        assert described["TableSizeBytes"] == self.model.bytes_of(self.model.table)
        by_name = {
            index["IndexName"]: (index["ItemCount"], index["IndexSizeBytes"])
            for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
            for index in described.get(member, ())
        }
        assert by_name == {
            source.name: (len(self.model.entries(source)), self.model.bytes_of(source))
            for source in self.model.indexes
        }
        scanned = self.call("Scan")["Items"]
        assert {self.model.key_of(item): item for item in scanned} == self.model.items


OPERATORS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "{n} = {a}": lambda v, a, b: v == a,
    "{n} < {a}": lambda v, a, b: v < a,
    "{n} <= {a}": lambda v, a, b: v <= a,
    "{n} > {a}": lambda v, a, b: v > a,
    "{n} >= {a}": lambda v, a, b: v >= a,
    "{n} BETWEEN {a} AND {b}": lambda v, a, b: a <= v <= b,
    "begins_with({n}, {a})": lambda v, a, b: v[: len(a)] == a,
}


def _test(
    holds: Callable[[Any, Any, Any], bool], name: str, low: Value, high: Value
) -> Callable[[Item], bool]:
    return lambda item: holds(sort_key(item[name]), sort_key(low), sort_key(high))


class DiskMachine(TableMachine):
    """On RocksDB, closed and opened again now and then."""

    on_disk = True

    @precondition(lambda self: hasattr(self, "model"))
    @rule()
    def reopen(self) -> None:
        self.process.close()
        self.process = InProcess(self.place)


@pytest.fixture(autouse=True)
def _surface(bugs_surface: None) -> None:
    assert failures.RAISE_UNEXPECTED


def run(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        derandomize=True,
        # Shrinking takes minutes: so only the long runs below do it.
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow],
    )


TestInMemory = TableMachine.TestCase
TestInMemory.settings = run(25)
TestOnDisk = DiskMachine.TestCase
TestOnDisk.settings = run(5)


@pytest.mark.slow
class TestInMemoryForLong(TableMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(run(3_000), derandomize=False, phases=tuple(Phase))


@pytest.mark.slow
class TestOnDiskForLong(DiskMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(run(600), derandomize=False, phases=tuple(Phase))
