"""The eight invariants of capacity.md section 2.16 over whole databases: random steps on a table with a
global and a local index and a stream, through boto3, with a manual clock.

tests/property/test_capacity_invariants.py tests them for the capacity core alone, over longer loads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import botocore.config
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from faradisc.capacity.admission import Charge
from faradisc.capacity.config import DAY_NS, SECOND_NS, UNIT
from faradisc.clock import ManualClock
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.local import LocalDatabase
from faradisc.storage.immediate import run

ONE_ATTEMPT = botocore.config.Config(retries={"total_max_attempts": 1})
START_S = 1_790_000_000
KINDS = ("put", "put", "update", "delete", "failing", "get", "query", "scan", "batch", "transaction")
KINDS += ("cancelled", "statement", "index query")

Step = tuple[int, str, int, int]
gaps = st.one_of(st.just(0), st.integers(0, 300), st.integers(0, 20_000))
"""Milliseconds."""
steps = st.tuples(gaps, st.sampled_from(KINDS), st.integers(0, 7), st.sampled_from((10, 900, 2_500)))
lives = st.lists(steps, min_size=5, max_size=40)
few = settings(max_examples=12, deadline=None)


@dataclass
class ChargeLog:
    """Records the charges of every request of a database."""

    requests: int = 0
    """Calls so far: what one call is charged belongs together."""
    lines: list[tuple[int, int, list[Charge], bool]] = field(default_factory=list)
    """(call, moment, charges, refused)"""

    def describe(self, table: str, **_: Any) -> None:
        pass

    def request(
        self, now_ns: int, operation: str, table: str, charges: Sequence[Charge], **more: Any
    ) -> None:
        self.lines.append((self.requests, now_ns, list(charges), more["refused"] is not None))

    def admitted(self, arn: str, direction: str) -> list[tuple[int, int, bytes, int]]:
        """Returns (call, time, position, half units) of the charges of a limiter."""
        return [
            (call, now, charge.key, charge.half_units)
            for call, now, charges, refused in self.lines
            if not refused
            for charge in charges
            if (charge.limiter.arn, charge.limiter.direction) == (arn, direction) and charge.half_units
        ]


class Life:
    """A database and the outcomes of some steps."""

    def __init__(self, profile: str, units: tuple[int, int], index: tuple[int, int], *, days: int = 0):
        self.clock = ManualClock(START_S + days * (DAY_NS // SECOND_NS))
        self.database = LocalDatabase(clock=self.clock, throughput=profile)
        self.client: Any = self.database.client(config=ONE_ATTEMPT)
        self.charge_log = ChargeLog()
        self.database.record(self.charge_log)
        self.answers: list[str] = []
        """"ok" or the code, per step."""
        self.before_rejection: Callable[[], Any] = lambda: None
        """Looked at before each call; what it gives must be the same after one that was refused."""
        self._create(units, index)
        self.reported: Counter[str] = Counter()
        """Half units by arm of ConsumedCapacity, of what has answered."""

    def _create(self, units: tuple[int, int], index: tuple[int, int]) -> None:
        def pair(pair: tuple[int, int]) -> dict[str, int]:
            return {"ReadCapacityUnits": pair[0], "WriteCapacityUnits": pair[1]}

        def keys(first: str, second: str | None = None) -> list[dict[str, str]]:
            elements = [{"AttributeName": first, "KeyType": "HASH"}]
            return elements + ([{"AttributeName": second, "KeyType": "RANGE"}] if second else [])

        self.client.create_table(
            TableName="Table",
            KeySchema=keys("p", "r"),
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "prgl"],
            ProvisionedThroughput=pair(units),
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-g",
                    "KeySchema": keys("g"),
                    "Projection": {"ProjectionType": "ALL"},
                    "ProvisionedThroughput": pair(index),
                }
            ],
            LocalSecondaryIndexes=[
                {
                    "IndexName": "by-l",
                    "KeySchema": keys("p", "l"),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        )
        self.clock.advance(1)
        self.client.describe_table(TableName="Table")

    @property
    def catalog(self) -> Any:
        return self.database.database.backend.catalog

    @property
    def table(self) -> Any:
        return self.catalog.tables.for_data("Table", "us-east-1", "000000000000")

    @property
    def store(self) -> Any:
        return self.database.database.store

    def live(self, steps: Sequence[Step]) -> Life:
        for gap_ms, kind, key, size in steps:
            self.clock.advance(gap_ms / 1000)
            call, request = self._request(kind, key, size)
            self.database.accounts()  # time passes, and what it brings is not the request's doing
            before = self.before_rejection()
            self.charge_log.requests += 1
            try:
                answer = call(**request)
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if "ThrottlingReasons" in error.response:
                    assert self.before_rejection() == before
                self.answers.append(code)
            else:
                self.answers.append("ok")
                self._note(answer["ConsumedCapacity"])
        return self

    def _note(self, consumed: Any) -> None:
        for each in consumed if isinstance(consumed, list) else [consumed]:
            for arm in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
                for part in each.get(arm, {}).values():
                    self.reported[arm] += int(2 * part["CapacityUnits"])
            self.reported["Table"] += int(2 * each["Table"]["CapacityUnits"]) if "Table" in each else 0

    def _request(self, kind: str, number: int, size: int) -> tuple[Any, dict[str, Any]]:
        client = self.client
        key = {"p": {"S": f"p{number % 4}"}, "r": {"S": f"r{number}"}}
        item = {**key, "v": {"S": "x" * size}}
        if number % 3:
            item |= {"g": {"S": f"g{size}"}, "l": {"S": f"l{size}"}}
        shown = {"ReturnConsumedCapacity": "INDEXES"}
        one = {"TableName": "Table", **shown}
        failing = {"ConditionExpression": "attribute_exists(missing)"}
        match kind:
            case "put":
                return client.put_item, {**one, "Item": item}
            case "update":
                values = {":g": {"S": f"g{size}"}}
                update = {"UpdateExpression": "SET g = :g", "ExpressionAttributeValues": values}
                return client.update_item, {**one, "Key": key, **update}
            case "delete":
                return client.delete_item, {**one, "Key": key}
            case "failing":
                return client.put_item, {**one, "Item": item, **failing}
            case "get":
                return client.get_item, {**one, "Key": key, "ConsistentRead": size > 900}
            case "query":
                values = {":p": key["p"]}
                query = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": values}
                return client.query, {**one, **query, "ConsistentRead": size > 900}
            case "index query":
                values = {":g": {"S": f"g{size}"}}
                query = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": values}
                return client.query, {**one, **query, "IndexName": "by-g"}
            case "scan":
                return client.scan, {**one, "Limit": number + 1}
            case "batch":
                requests = [{"PutRequest": {"Item": {**item, "r": {"S": f"r{n}"}}}} for n in range(3)]
                return client.batch_write_item, {"RequestItems": {"Table": requests}, **shown}
            case "statement":
                return client.execute_statement, {
                    "Statement": f"SELECT * FROM \"Table\" WHERE p='p{number}'",
                    **shown,
                }
        more = failing if kind == "cancelled" else {}
        puts = [
            {"Put": {"TableName": "Table", "Item": {**item, "r": {"S": f"r{n}"}}, **more}} for n in range(2)
        ]
        return client.transact_write_items, {"TransactItems": puts, **shown}

    def metric(self, name: str, **which: str) -> float:
        """Returns the sum of a metric after all minutes have ended."""
        self.clock.advance(120)
        self.client.list_tables()
        ((_, account),) = self.database.accounts()
        wanted = tuple(sorted({"TableName": "Table", **which}.items()))
        found = account.metrics.series.get((name, wanted))
        return found.total if found is not None else 0

    def close(self) -> None:
        self.database.close()


def lived(steps: Sequence[Step], units: tuple[int, int] = (4, 4), caps: str = "6/3", **more: Any) -> Life:
    return Life(f"pessimistic:{caps}", units, (3, 3), **more).live(steps)


def check_windows(taken: list[tuple[int, int, int]], rate: int) -> None:
    """Checks every window that ends with an admitted request: before it, less than a second's burst and the
    inflow of the window were taken. taken: (call, moment, half units)."""
    for first, (_, began, _) in enumerate(taken):
        calls: dict[int, int] = {}
        for call, now, half_units in taken[first:]:
            if call not in calls:
                assert sum(calls.values()) * UNIT < 2 * rate * (now - began + SECOND_NS)
            calls[call] = calls.get(call, 0) + half_units


ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Table"


@few
@given(life=lives)
def test_i1_a_resource_never_exceeds_its_rate_and_its_burst(life: list[Step]) -> None:
    """I1, for all requests: failures, batches and transactions too."""
    it = lived(life, caps="3000/1000")
    for arn, rate in ((ARN, 4), (f"{ARN}/index/by-g", 3)):
        for direction in "RW":
            lines = it.charge_log.admitted(arn, direction)
            check_windows([(call, now, half) for call, now, _, half in lines], rate)
    it.close()


@few
@given(life=lives)
def test_i2_a_partition_never_exceeds_its_limit(life: list[Step]) -> None:
    """I2: at most cap x T + one second + one request, in every partition."""
    it = Life("pessimistic:6/3", (400, 400), (400, 400)).live(life)
    find = it.table.meter.resource.partitions.find
    for direction, cap in (("R", 6), ("W", 3)):
        by_partition: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for call, now, place, half_units in it.charge_log.admitted(ARN, direction):
            by_partition[find(place).id].append((call, now, half_units))
        for taken in by_partition.values():
            check_windows(taken, cap)
    it.close()


@few
@given(life=lives, counts=st.lists(st.integers(1, 6), max_size=3))
def test_i3_partitions_tile_the_space_and_hold_what_there_is(life: list[Step], counts: list[int]) -> None:
    """I3, for the table and the index, with splits between the steps."""
    it = Life("aws", (400, 400), (400, 400))
    seen: dict[str, set[str]] = {"": set(), "by-g": set()}
    for number, count in enumerate([1, *counts]):
        before = {name: len(found["partitions"]) for name, found in resources(it).items()}
        for name, present in before.items():
            index = {"index": name} if name else {}
            it.database.change_capacity("Table", {"partitions": max(count, present), **index})
        it.live(life[number::3])
        for name, found in resources(it).items():
            parts = found["partitions"]
            assert len(parts) >= before[name]
            assert parts[0]["low"] == "" and parts[-1]["high"] is None
            assert [part["high"] for part in parts[:-1]] == [part["low"] for part in parts[1:]]
            born = {part["id"] for part in parts}
            assert len(born) == len(parts)
            assert not born & (seen[name] - {part["id"] for part in parts})
            seen[name] |= born
            assert held(parts) == stored(it, name)
    it.close()


def resources(it: Life) -> dict[str, Any]:
    found: dict[str, Any] = it.database.capacity("Table")["resources"]
    return found


def held(parts: list[dict[str, Any]]) -> tuple[int, int]:
    return sum(part["items"] for part in parts), sum(part["bytes"] for part in parts)


def stored(it: Life, name: str) -> tuple[int, int]:
    """Returns items and their bytes without overhead; of a table with the entries of its local index."""
    table = it.table
    placement = table.index(name).placement if name else table.placement
    local = () if name else table.index("by-l").placement.parts
    items = size_bytes = 0
    for part in (*placement.parts, *local):
        part_items, part_bytes = run(it.store.usage(part))
        size_bytes += part_bytes - STORAGE_OVERHEAD_BYTES * part_items
        items += 0 if part in local else part_items
    return items, size_bytes


@few
@given(life=lives)
def test_i4_a_refused_request_changes_nothing(life: list[Step]) -> None:
    """I4: no item, no entry, no record of the stream, no unit."""
    it = Life("pessimistic:3/2", (2, 2), (1, 1))

    def everything() -> Any:
        parts = it.table.parts()
        rows = [run(it.store.range(part, b"", None, limit=10_000)) for part in parts]
        stream = it.catalog.streams.stream(it.table.state.stream.resource)
        logs = [run(it.store.log(part, 0, 10_000)) for part in stream.parts]
        return rows, logs, consumed(it)

    it.before_rejection = everything
    it.live(life)
    it.close()


def consumed(it: Life) -> list[tuple[int, float]]:
    """Returns the unpublished half units and the published units, by limiter."""
    account = it.table.meter.registry
    waiting = [
        usage.half_units for resource in account.resources.values() for usage in resource.unpublished(0)
    ]
    published = sum(
        series.total for (name, _), series in account.metrics.series.items() if "Consumed" in name
    )
    return [(half_units, published) for half_units in waiting]


@few
@given(life=lives, days=st.integers(1, 400))
def test_i5_equal_lives_are_equal(life: list[Step], days: int) -> None:
    """I5: the same steps give the same answers and the same balances, today and some days later."""
    one, again, later = lived(life), lived(life), lived(life, days=days)
    assert one.answers == again.answers == later.answers
    assert resources(one) == resources(again)
    for first, second in zip(resources(one).values(), resources(later).values(), strict=True):
        assert (first["read"], first["write"]) == (second["read"], second["write"])
    for it in (one, again, later):
        it.close()


@few
@given(life=lives)
def test_i6_global_indexes_pay_for_themselves_and_local_ones_do_not(life: list[Step]) -> None:
    """I6: the units that answers report equal the metrics of table and index; failures have no answer."""
    it = lived([step for step in life if step[1] not in ("failing", "cancelled")], (400, 400), "3000/1000")
    of_index = sum(
        it.metric(f"Consumed{way}CapacityUnits", GlobalSecondaryIndexName="by-g") for way in ("Read", "Write")
    )
    of_table = sum(it.metric(f"Consumed{way}CapacityUnits") for way in ("Read", "Write"))
    assert of_index == it.reported["GlobalSecondaryIndexes"] / 2
    assert of_table == (it.reported["Table"] + it.reported["LocalSecondaryIndexes"]) / 2
    it.close()


@few
@given(
    life=st.lists(st.tuples(gaps, st.just("get"), st.integers(0, 7), st.just(2_500)), max_size=40),
    rate=st.integers(1, 4),
    more=st.integers(1, 4),
    cap=st.integers(1, 4),
)
def test_i7_more_units_refuse_no_more(life: list[Step], rate: int, more: int, cap: int) -> None:
    """I7, for requests of equal cost: a higher rate, a higher cap, a longer burst."""

    def refused(profile: str, units: int) -> int:
        it = Life(profile, (units, 1), (1, 1)).live(life)
        it.close()
        return len(it.answers) - it.answers.count("ok")

    least = refused(f"pessimistic:{cap}/1", rate)
    assert refused(f"pessimistic:{cap}/1", rate + more) <= least
    assert refused(f"pessimistic:{cap + more}/1", rate) <= least
    assert refused(f"documented:{cap}/1", rate) <= least


@few
@given(life=lives)
def test_i8_reasons_add_up(life: list[Step]) -> None:
    """I8: the events by cause add up to the throttle events of the table and of the index."""
    it = lived(life, (2, 2), "3/2")
    causes = ("ProvisionedThroughput", "KeyRangeThroughput", "AccountLimit", "MaxOnDemandThroughput")
    for which in ({}, {"GlobalSecondaryIndexName": "by-g"}):
        for way in ("Read", "Write"):
            by_cause = [it.metric(f"{way}{cause}ThrottleEvents", **which) for cause in causes]
            assert sum(by_cause) == it.metric(f"{way}ThrottleEvents", **which)
    throttled = sum(it.answers.count(f"{name}Exception") for name in ("ProvisionedThroughputExceeded",))
    assert not throttled or it.metric("WriteThrottleEvents") + it.metric("ReadThrottleEvents") + it.metric(
        "WriteThrottleEvents", GlobalSecondaryIndexName="by-g"
    ) + it.metric("ReadThrottleEvents", GlobalSecondaryIndexName="by-g")
    it.close()
