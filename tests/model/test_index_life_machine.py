"""Random writes while global indexes are added and removed, background steps run one by one, and the database
is closed and opened again.

What it proves: after every step each ACTIVE index is exactly the index computed from the items, its ItemCount
and IndexSizeBytes are those of its entries, and an index in backfill never has a wrong entry. A write can be
missed only between two steps of a backfill, so the machine runs single steps.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from faradisc.clock import ManualClock
from faradisc.engine.jobs import walk
from faradisc.engine.tables.layout import Index
from faradisc.model.values.size import item_size
from fixtures.in_process import Refused
from fixtures.integrity import items_of, tables
from fixtures.schemas import schema
from fixtures.stepped import Stepped

ITEM_OVERHEAD_BYTES = 100
TRANSITION_S = 1.0

Item = dict[str, Any]

KEYS = st.builds(lambda p, r: {"p": {"S": p}, "r": {"N": str(r)}}, st.sampled_from("abc"), st.integers(0, 6))
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        # Some values suit an index on these names, some do not.
        "g": st.sampled_from([{"S": "x"}, {"S": "y"}, {"N": "1"}, {"S": ""}, {"L": []}]),
        "h": st.sampled_from([{"N": "1"}, {"N": "2"}, {"S": "x"}]),
        "v": st.sampled_from([{"S": "v"}, {"S": "longer"}]),
    },
)
INDEXES: dict[str, tuple[str, str, Any]] = {
    "by.g": ("g:S", "", "ALL"),
    "by.g.h": ("g:S", "h:N", "KEYS_ONLY"),
    "by.h": ("h:N", "", ["v"]),
    "by.h.r": ("h:N", "r:N", "ALL"),
    "by.r": ("r:N", "", "KEYS_ONLY"),
}


class IndexLife(RuleBasedStateMachine):
    """`self.items`: the expected items by key."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="faradisc-index-life-"))
        self.clock = ManualClock()
        self.items: dict[tuple[str, str], Item] = {}
        self.lives = 0
        self._open()

    def _open(self) -> None:
        self.process = Stepped(self.directory, clock=self.clock, transition_ms=int(TRANSITION_S * 1000))
        self.lives += 1

    @initialize(local=st.booleans(), items=st.lists(st.tuples(KEYS, ATTRIBUTES), max_size=20))
    def create(self, local: bool, items: list[tuple[Item, Item]]) -> None:
        lsi = {"local": ("v:S", "ALL")} if local else None
        self.process.call("CreateTable", TableName="table", **schema("p:S", "r:N", lsi=lsi))
        self.clock.advance(TRANSITION_S)
        for key, attributes in items:
            self.put(key, attributes)

    # --- Writes ----------------------------------------------------------------------------------

    def _write(self, operation: str, new: dict[tuple[str, str], Item | None], **request: Any) -> None:
        """A write is rejected when an attribute does not suit an existing index; then nothing changes."""
        try:
            self.process.call(operation, **request)
        except Refused as rejection:
            assert rejection.code in ("ValidationException", "TransactionCanceledException")
            return
        for key, item in new.items():
            if item is None:
                self.items.pop(key, None)
            else:
                self.items[key] = item

    @rule(key=KEYS, attributes=ATTRIBUTES)
    def put(self, key: Item, attributes: Item) -> None:
        item = {**key, **attributes}
        self._write("PutItem", {_id(key): item}, TableName="table", Item=item)

    @rule(key=KEYS)
    def delete(self, key: Item) -> None:
        self._write("DeleteItem", {_id(key): None}, TableName="table", Key=key)

    @rule(key=KEYS, name=st.sampled_from("gh"), value=st.sampled_from(["x", "1", None]))
    def update(self, key: Item, name: str, value: str | None) -> None:
        old = self.items.get(_id(key), key)
        kind = {"g": "S", "h": "N"}[name] if value in ("x", "1") else "S"
        if value is None:
            expression: dict[str, Any] = {"UpdateExpression": f"REMOVE {name}"}
            new = {other: content for other, content in old.items() if other != name}
        else:
            attribute = {kind: "1" if kind == "N" else value}
            expression = {
                "UpdateExpression": f"SET {name} = :value",
                "ExpressionAttributeValues": {":value": attribute},
            }
            new = {**old, name: attribute}
        created_or_kept = _id(key) in self.items or value is not None
        after = {_id(key): new} if created_or_kept else {}  # an update that only removes creates no item
        self._write("UpdateItem", after, TableName="table", Key=key, **expression)

    @rule(puts=st.lists(st.tuples(KEYS, ATTRIBUTES), max_size=3), deletes=st.lists(KEYS, max_size=2))
    def batch(self, puts: list[tuple[Item, Item]], deletes: list[Item]) -> None:
        new: dict[tuple[str, str], Item | None] = {_id(key): {**key, **more} for key, more in puts}
        requests = [{"PutRequest": {"Item": item}} for item in new.values()]
        for key in deletes:
            if _id(key) not in new:
                new[_id(key)] = None
                requests.append({"DeleteRequest": {"Key": key}})
        if requests:
            self._write("BatchWriteItem", new, RequestItems={"table": requests})

    @rule(puts=st.lists(st.tuples(KEYS, ATTRIBUTES), min_size=1, max_size=3), gone=KEYS, token=st.booleans())
    def transact(self, puts: list[tuple[Item, Item]], gone: Item, token: bool) -> None:
        new: dict[tuple[str, str], Item | None] = {_id(key): {**key, **more} for key, more in puts}
        actions: list[dict[str, Any]] = [
            {"Put": {"TableName": "table", "Item": item}} for item in new.values()
        ]
        if _id(gone) not in new:
            new[_id(gone)] = None
            actions.append({"Delete": {"TableName": "table", "Key": gone}})
        more: dict[str, Any] = {"ClientRequestToken": str(self.clock.now_ns())} if token else {}
        self.clock.advance(0.0001)
        self._write("TransactWriteItems", new, TransactItems=actions, **more)

    # --- Indexes, time, work ---------------------------------------------------------------------

    def _change_indexes(self, update: dict[str, Any], **more: Any) -> None:
        try:
            self.process.call("UpdateTable", TableName="table", GlobalSecondaryIndexUpdates=[update], **more)
        except Refused as rejection:
            assert rejection.code in ("ResourceInUseException", "LimitExceededException")

    @rule(name=st.sampled_from(sorted(INDEXES)), at_once=st.booleans())
    def add_index(self, name: str, at_once: bool) -> None:
        """at_once: advance to the time at which the backfill may start."""
        if name in self._described():
            return
        members = schema("p:S", gsi={name: INDEXES[name]})
        (index,) = members["GlobalSecondaryIndexes"]
        self._change_indexes({"Create": index}, AttributeDefinitions=members["AttributeDefinitions"])
        if at_once:
            self.clock.advance(TRANSITION_S)

    @precondition(lambda self: self._described())
    @rule(choice=st.integers(0, 4))
    def remove_index(self, choice: int) -> None:
        names = sorted(self._described())
        self._change_indexes({"Delete": {"IndexName": names[choice % len(names)]}})

    @rule(seconds=st.sampled_from([TRANSITION_S / 2, TRANSITION_S]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(count=st.integers(1, 3))
    def work(self, count: int) -> None:
        for _ in range(count):
            self.process.step()

    @rule()
    def finish(self) -> None:
        self.clock.advance(TRANSITION_S)
        self.process.finish()
        assert all(shown["IndexStatus"] == "ACTIVE" for shown in self._described().values())

    @precondition(lambda self: self.lives < 5)
    @rule()
    def reopen(self) -> None:
        self.process.close()
        self._open()

    # --- What holds after every step -------------------------------------------------------------

    def _described(self) -> dict[str, dict[str, Any]]:
        table = self.process.call("DescribeTable", TableName="table")["Table"]
        return {shown["IndexName"]: shown for shown in table.get("GlobalSecondaryIndexes", ())}

    @invariant()
    def indexes_are_what_the_items_say(self) -> None:
        store = self.process.store
        (table,) = tables(store)
        assert sorted(map(_id, items_of(store, table.placement))) == sorted(self.items)
        described = self._described()
        for index in table.global_indexes:
            shown = described.get(index.name)
            if shown is None or shown["IndexStatus"] == "DELETING":
                assert items_of(store, index.placement) == []
                continue
            wanted = self._entries(index)
            found = items_of(store, index.placement)
            by_key = {_id(entry): entry for entry in found}
            assert len(by_key) == len(found)
            if shown["IndexStatus"] == "ACTIVE":
                assert by_key == wanted
                self._check_scan(index.name, wanted)
            else:
                assert by_key.items() <= wanted.items()
            assert shown["ItemCount"] == len(found)
            assert shown["IndexSizeBytes"] == sum(item_size(e) + ITEM_OVERHEAD_BYTES for e in found)

    def _entries(self, index: Index) -> dict[tuple[str, str], Item]:
        """Computed by brute force, from the definition of the index in this file."""
        hash_, range_, projection = INDEXES[index.name]
        keys = dict(part.rpartition(":")[::2] for part in f"{hash_} {range_}".split())
        wanted: dict[tuple[str, str], Item] = {}
        for key, item in self.items.items():
            if any(kind not in item.get(name, {}) or item[name][kind] == "" for name, kind in keys.items()):
                continue
            names = {"p", "r", *keys, *(projection if isinstance(projection, list) else ())}
            everything = projection == "ALL"
            wanted[key] = {name: value for name, value in item.items() if everything or name in names}
        return wanted

    def _check_scan(self, name: str, wanted: dict[tuple[str, str], Item]) -> None:
        answer = self.process.call("Scan", TableName="table", IndexName=name)
        assert {_id(entry): entry for entry in answer["Items"]} == wanted

    def teardown(self) -> None:
        self.clock.advance(TRANSITION_S)
        self.process.finish()
        self.process.check()
        self.process.close()
        shutil.rmtree(self.directory)


def _id(item: Item) -> tuple[str, str]:
    return item["p"]["S"], item["r"]["N"]


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a handful of items takes several steps."""
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 2)


def _run(examples: int, steps: int, *, derandomize: bool) -> settings:
    return settings(
        deadline=None,
        derandomize=derandomize,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
        max_examples=examples,
        stateful_step_count=steps,
    )


TestIndexLife = IndexLife.TestCase
TestIndexLife.settings = _run(10, 40, derandomize=True)


@pytest.mark.slow
class TestIndexLifeLong(IndexLife.TestCase):
    settings = _run(500, 80, derandomize=False)
