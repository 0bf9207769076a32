"""Nodes of a shared store: they see each other, agree, and count as dead when they stand still."""

from __future__ import annotations

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.engine.backups.storage import memory_backups
from faradisc.engine.cluster.nodes import FEATURES, Disagreement, Node, Nodes, all_nodes
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryPlace, MemoryStore
from fixtures.nodes import DEAD_S, SharedNodes, TestNode


def seen_by(node: TestNode) -> set[str]:
    assert node.database.cluster is not None
    return {each.address for each in node.database.cluster.nodes.alive.values()}


def test_nodes_see_each_other_and_miss_one_that_stands_still() -> None:
    nodes = SharedNodes(3)
    first, second, _ = nodes.nodes
    nodes.pass_time(4, *nodes.nodes)
    assert seen_by(first) == {"node-1", "node-2", "node-3"}
    nodes.pass_time(DEAD_S, first, second)
    assert seen_by(first) == seen_by(second) == {"node-1", "node-2"}


def test_a_node_that_stops_is_missed_at_once() -> None:
    nodes = SharedNodes(2)
    first, second = nodes.nodes
    run(second.database.close())
    nodes.pass_time(2, first)
    assert seen_by(first) == {"node-1"}
    assert [node.address for node in run(all_nodes(first.store))] == ["node-1"]


def test_a_row_of_a_node_that_died_a_day_ago_is_deleted() -> None:
    nodes = SharedNodes(2)
    first, _ = nodes.nodes
    nodes.clock.advance(86_401)
    first.work()
    assert [node.address for node in run(all_nodes(first.store))] == ["node-1"]


def test_a_node_with_other_settings_does_not_start_and_names_both() -> None:
    nodes = SharedNodes(1)
    with pytest.raises(Disagreement) as raised:
        nodes.start(transition_ms=70)
    said = str(raised.value)
    assert "node-1" in said and "node-2" in said and "transition_ms=0" in said and "transition_ms=70" in said
    nodes.pass_time(2, nodes.nodes[0])
    assert seen_by(nodes.nodes[0]) == {"node-1"}


def test_a_node_with_another_bucket_of_backups_does_not_start() -> None:
    nodes = SharedNodes()
    storage = memory_backups()
    storage.kind = "s3://one"
    nodes.start(options={"backup_storage": storage})
    with pytest.raises(Disagreement, match=r"backups='s3://one', and .* with backups='memory'"):
        nodes.start()


def test_a_dead_node_is_nothing_to_agree_with() -> None:
    nodes = SharedNodes(1)
    nodes.clock.advance(DEAD_S)
    nodes.start(transition_ms=70)


class Clocked(MemoryStore):
    """A shared store with a clock of its own."""

    clock = ManualClock()

    async def now_ns(self) -> int | None:  # type: ignore[override]
        return self.clock.now_ns()


@pytest.mark.parametrize(("seconds", "word"), [(1.2, "behind"), (0.9, None)])
def test_a_node_whose_clock_differs_by_more_than_a_second_does_not_start(
    seconds: float, word: str | None
) -> None:
    store = Clocked(MemoryPlace())
    Clocked.clock = ManualClock()
    mine = ManualClock()
    Clocked.clock.advance(seconds)
    opening = Database.open(store, settings=Settings(), clock=mine, entropy=SeededEntropy(1), address="here")
    if word is None:
        run(opening)
    else:
        with pytest.raises(Disagreement, match=f"at here is 1.2 s {word} the store's"):
            run(opening)


def test_features_are_those_of_the_oldest_release() -> None:
    nodes = SharedNodes(2)
    first, second = nodes.nodes
    assert first.database.cluster is not None and second.database.cluster is not None
    cluster = second.database.cluster.nodes
    cluster._me = Node(cluster.id, "old", "0.1", {}, features=FEATURES - 1)
    run(cluster.beat())
    run(first.database.cluster.nodes.beat())
    assert first.database.cluster.nodes.features == FEATURES - 1
    run(second.database.close())
    run(first.database.cluster.nodes.beat())
    assert first.database.cluster.nodes.features == FEATURES


def test_a_row_of_a_newer_release_can_be_read() -> None:
    stored = {"id": "a", "address": "b", "version": "9", "settings": {}, "beat_ns": 5, "unknown": [1]}
    assert Node.from_json(stored).version == "9"


def test_a_repair_and_a_node_exclude_each_other() -> None:
    nodes = SharedNodes(1)
    store = MemoryStore(nodes.place)
    repair = Nodes(store, nodes.clock, Node("00", "a repair", "0.1", {}, alone=True))
    with pytest.raises(Disagreement, match="at node-1 serves this store; stop all servers before a repair"):
        run(repair.join())
    run(nodes.nodes[0].database.close())
    run(repair.join())
    with pytest.raises(Disagreement, match="node 00 at a repair repairs this store"):
        nodes.start()
    run(repair.leave())
    nodes.start()
