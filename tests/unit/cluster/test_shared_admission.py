"""Several nodes admit together what one would."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.capacity.throttle import Throttled
from faradisc.engine.throughput.shared_admission import SharedAdmission
from faradisc.errors import ApiError
from faradisc.model.codec.keyspace import ADMISSION_PART
from faradisc.storage.api import Batch, IOFailed
from faradisc.storage.immediate import run
from fixtures.nodes import SharedNodes, TestNode

UNITS = 20
INTERVAL_S = 0.5


def table(nodes: SharedNodes, **settings: Any) -> None:
    """Creates the table on one node; the others find it."""
    schema = {
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": UNITS, "WriteCapacityUnits": UNITS},
    }
    nodes.nodes[0].call("CreateTable", TableName="t", **{**schema, **settings})


def put(node: TestNode, key: str = "a") -> bool:
    """Returns whether a put of one unit was admitted."""
    try:
        node.call("PutItem", TableName="t", Item={"p": {"S": key}})
    except (ApiError, Throttled) as error:
        assert "throughput" in str(error).lower()
        return False
    return True


def admitted_in(nodes: SharedNodes, seconds: float, rates: list[int]) -> list[int]:
    """Every node tries so many puts a second for some seconds. Returns how many each admitted."""
    admitted = [0] * len(rates)
    for _ in range(int(seconds / 0.1)):
        nodes.clock.advance(0.1)
        for number, (node, rate) in enumerate(zip(nodes.nodes, rates, strict=True)):
            admitted[number] += sum(put(node, f"{number}-{each}") for each in range(rate // 10))
            node.work()
    return admitted


def enforcing(count: int) -> SharedNodes:
    nodes = SharedNodes(1, throughput="documented")
    table(nodes)
    for _ in range(count - 1):
        nodes.start()
    nodes.pass_time(3, *nodes.nodes)
    return nodes


def emptied(count: int = 3) -> SharedNodes:
    """Returns nodes whose table has no burst balance left."""
    nodes = enforcing(count)
    while sum(admitted_in(nodes, 1, [400] * count)) > 1.5 * UNITS:
        pass
    admitted_in(nodes, 10, [100] * count)  # pays back what was admitted beyond the balance
    return nodes


@pytest.mark.parametrize("rates", [[100, 100, 100], [200, 10, 0], [100, 0, 0]])
def test_three_nodes_admit_together_the_units_of_the_table(rates: list[int]) -> None:
    nodes = emptied()
    seconds = 20
    admitted = sum(admitted_in(nodes, seconds, rates))
    error = UNITS * INTERVAL_S * len(rates)
    assert UNITS * seconds - error <= admitted <= UNITS * seconds + error


def test_each_node_gets_the_part_it_asks_for() -> None:
    nodes = emptied()
    admitted = admitted_in(nodes, 20, [100, 100, 100])
    assert min(admitted) > sum(admitted) / 6
    busy, quiet, idle = admitted_in(nodes, 20, [200, 10, 0])
    assert busy > 4 * quiet > idle == 0


def test_what_all_nodes_ask_for_is_admitted_while_it_is_less_than_the_units() -> None:
    nodes = enforcing(3)
    nodes.pass_time(60, *nodes.nodes)
    assert admitted_in(nodes, 20, [10, 0, 0]) == [200, 0, 0]
    nodes.pass_time(20, *nodes.nodes)
    assert admitted_in(nodes, 10, [0, 10, 0]) == [0, 100, 0]


def test_a_burst_through_one_node_uses_the_balance_of_all() -> None:
    nodes = enforcing(2)
    nodes.pass_time(300, *nodes.nodes)
    first, _ = admitted_in(nodes, 5, [1000, 0])
    assert first >= 4000
    _, second = admitted_in(nodes, 5, [0, 1000])
    assert first + second <= UNITS * 320


def test_a_node_that_is_gone_leaves_its_part_to_the_others() -> None:
    nodes = emptied(2)
    admitted_in(nodes, 5, [100, 100])
    dead = nodes.nodes.pop()
    admitted_in(nodes, 12, [100])
    assert dead.database.cluster is not None
    (alone,) = admitted_in(nodes, 10, [100])
    assert alone >= UNITS * 9


def test_a_node_without_an_answer_admits_nothing_after_ten_seconds() -> None:
    nodes = emptied(2)
    admitted_in(nodes, 3, [100, 100])
    node = nodes.nodes[0]
    assert node.database.cluster is not None
    throughput = node.database.backend.catalog.throughput

    class Broken(type(node.store)):  # type: ignore[misc]
        async def range(self, part: Any, *bounds: Any, **options: Any) -> Any:
            raise IOFailed("no connection")

    broken = SharedAdmission(Broken(nodes.place), node.database.cluster.nodes, throughput.tables)
    (meter,) = throughput.tables()
    rate = meter.writes.table_bucket.exact_rate()  # type: ignore[union-attr]
    for seconds in (1.0, 8.0):
        nodes.clock.advance(seconds)
        with pytest.raises(IOFailed):
            run(broken.step())
        assert meter.writes.table_bucket.exact_rate() == rate  # type: ignore[union-attr]
    nodes.clock.advance(2)
    with pytest.raises(IOFailed):
        run(broken.step())
    assert meter.writes.table_bucket.exact_rate() < rate / 1000  # type: ignore[union-attr]


def test_an_idle_table_has_no_row() -> None:
    nodes = enforcing(2)
    put(nodes.nodes[0])
    nodes.pass_time(1, *nodes.nodes)
    store = nodes.nodes[0].store
    assert run(store.range(ADMISSION_PART, None, None, limit=10))
    nodes.pass_time(330, *nodes.nodes)
    assert not run(store.range(ADMISSION_PART, None, None, limit=10))
    commits: list[Batch] = []
    store.commit = lambda batches, **_: commits.extend(batches)  # type: ignore[assignment,func-returns-value]
    nodes.clock.advance(0.5)
    nodes.nodes[1].work()
    assert commits == []
