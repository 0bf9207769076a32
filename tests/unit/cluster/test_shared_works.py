"""Jobs whose works several nodes share: each work has steps on one node, whatever becomes of the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TypeVar

import orjson
import pytest

from faradisc.engine.cluster.leases import IDLE_NS, row_of_job, row_of_work
from faradisc.engine.cluster.nodes import FEATURES, Nodes
from faradisc.engine.exchange.locations import directories
from faradisc.engine.jobs.runner import Attempts, Job, Work
from faradisc.engine.kinesis.sender import Outgoing
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from fixtures.nodes import DEAD_S, SharedNodes, TestNode
from fixtures.schemas import item, schema

PART = b"\x00\x00\x00\x63\x00"
SECOND_NS = 1_000_000_000


class Counted:
    """Works of one node; each step of one notes its node and its work in the store."""

    def __init__(self, nodes: SharedNodes, node: TestNode, works: list[str], *, stay: bool = False) -> None:
        self.node = node
        self._stay = stay
        self.works = works
        self.called: list[str] = []
        attempts = Attempts(nodes.clock)
        assert node.database.cluster is not None

        async def step() -> bool:
            return await attempts.step([self._work(name) for name in self.works])

        self.job = node.database.cluster.leased(Job("test", step, shared=(attempts,)))

    def _work(self, name: str) -> Work:
        async def step() -> bool:
            entry = orjson.dumps([self.node.id, name])
            await self.node.database.store.commit([Batch(PART, log=[entry])])
            return False  # so that the next one has its turn

        async def taken() -> None:
            self.called.append(f"taken {name}")

        async def lost() -> None:
            self.called.append(f"lost {name}")

        return Work(name, step, taken=taken, lost=lost, stays=self._stay)


def steps(nodes: SharedNodes) -> dict[str, Counter[str]]:
    """Returns how often each work had a step, by node."""
    found: dict[str, Counter[str]] = {}
    for _, entry in run(nodes.nodes[0].store.log(PART, 0, 10_000)):
        node, work = orjson.loads(entry)
        found.setdefault(work, Counter())[node] += 1
    return found


def started(count: int, works: list[str]) -> tuple[SharedNodes, list[Counted]]:
    nodes = SharedNodes(count)
    nodes.pass_time(6, *nodes.nodes)
    return nodes, [Counted(nodes, node, works) for node in nodes.nodes]


WORKS = [f"work {number}" for number in range(12)]


def test_each_work_has_its_steps_on_one_node_and_works_are_spread() -> None:
    nodes, jobs = started(3, WORKS)
    for _ in range(3):
        for each in jobs:
            run(each.job.step())
        nodes.pass_time(1, *nodes.nodes)
    found = steps(nodes)
    assert found.keys() == set(WORKS)
    assert all(sum(by_node.values()) == 3 and len(by_node) == 1 for by_node in found.values())
    assert {node for by_node in found.values() for node in by_node} == {node.id for node in nodes.nodes}


def test_the_works_of_a_dead_node_go_on_elsewhere_and_what_it_writes_later_is_rejected() -> None:
    nodes, (first, second) = started(2, WORKS)
    run(first.job.step())
    run(second.job.step())
    of_first = {work for work, by_node in steps(nodes).items() if first.node.id in by_node}
    assert 0 < len(of_first) < len(WORKS)
    nodes.pass_time(DEAD_S, second.node)
    run(second.job.step())
    before = steps(nodes)
    assert all(before[work][second.node.id] == 1 for work in of_first)
    # The first one wakes up: for itself it still has the leases, and its clock has not moved on.
    first.node.database.cluster.nodes.last_beat_ns = nodes.clock.now_ns()  # type: ignore[union-attr]
    run(first.job.step())
    assert steps(nodes) == before
    assert {f"lost {work}" for work in of_first} <= set(first.called)


def test_a_work_is_taken_before_its_first_step_and_lost_when_it_goes_to_another_node() -> None:
    nodes, (first,) = started(1, WORKS)
    run(first.job.step())
    assert first.called == [f"taken {work}" for work in WORKS]
    node = nodes.start()
    second = Counted(nodes, node, WORKS)
    nodes.pass_time(2, *nodes.nodes)
    first.called.clear()
    run(first.job.step())
    run(second.job.step())
    moved = [call.removeprefix("lost ") for call in first.called]
    assert 0 < len(moved) < len(WORKS)
    assert second.called == [f"taken {work}" for work in moved]


def test_a_work_that_stays_does_not_go_to_a_node_that_starts() -> None:
    nodes = SharedNodes(1)
    first = Counted(nodes, nodes.nodes[0], WORKS, stay=True)
    run(first.job.step())
    second = Counted(nodes, nodes.start(), [*WORKS, *(f"later {work}" for work in WORKS)], stay=True)
    nodes.pass_time(2, *nodes.nodes)
    run(first.job.step())
    run(second.job.step())
    assert first.called == [f"taken {work}" for work in WORKS]
    assert second.called and all(call.startswith("taken later") for call in second.called)


def test_a_lease_ends_with_its_work() -> None:
    nodes, (only,) = started(1, ["a", "b"])
    run(only.job.step())
    only.works.remove("a")
    for _ in range(IDLE_NS // SECOND_NS + 2):
        nodes.pass_time(1, only.node)
        run(only.job.step())
    held = {name for name in only.node.jobs if name.startswith("test: ")}
    assert held == {"test: b"} and only.called == ["taken a", "taken b", "lost a"]
    for name, exists in (("test: a", False), ("test: b", True)):
        row = row_of_work(name)
        (found,) = run(nodes.nodes[0].store.get(row.part, [row.key]))
        assert (found is not None) == exists


def test_works_wait_while_a_node_of_an_older_release_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, (only,) = started(1, ["a"])
    features = FEATURES - 1
    monkeypatch.setattr(Nodes, "features", property(lambda _: features))
    whole = row_of_job("test")
    # The older node, which runs the whole job.
    run(nodes.nodes[0].store.commit([Batch(whole.part, puts=[(whole.key, b'["older", 1]')])]))
    assert run(only.job.step()) is False and steps(nodes) == {}
    features = FEATURES
    run(only.job.step())
    assert steps(nodes).keys() == {"a"}
    # If it wakes up now, its lease is not there any more.
    assert run(nodes.nodes[0].store.get(whole.part, [whole.key])) == [None]


class Kinesis:
    """The sender of one node, which notes what it has sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        self.sent += [orjson.loads(each.data)["dynamodb"]["Keys"]["p"]["S"] for each in records]
        return _done([])

    def exists(self, region: str, stream: str) -> Future[bool]:
        return _done(True)

    def close(self) -> None:
        pass


T = TypeVar("T")


def _done(answer: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(answer)
    return future


def test_kinesis_destinations_are_shared_and_those_of_a_dead_node_go_on() -> None:
    nodes = SharedNodes()
    senders = [Kinesis(), Kinesis()]
    for sender in senders:
        nodes.start(options={"kinesis": sender})
    nodes.pass_time(6, *nodes.nodes)
    first, second = nodes.nodes
    names = [f"t{number}" for number in range(8)]
    for name in names:
        first.call("CreateTable", TableName=name, **schema("p:S"))
        first.call(
            "EnableKinesisStreamingDestination",
            TableName=name,
            StreamArn="arn:aws:kinesis:us-east-1:000000000000:stream/changes",
        )
    nodes.pass_time(3, *nodes.nodes)
    for name in names:
        second.call("PutItem", TableName=name, Item=item(p=name))
    nodes.pass_time(2, *nodes.nodes)
    assert all(sender.sent for sender in senders), "both nodes deliver"
    assert sorted([*senders[0].sent, *senders[1].sent]) == names
    for name in names:
        first.call("PutItem", TableName=name, Item=item(p=f"{name} later"))
    nodes.pass_time(DEAD_S + 2, first)
    assert set(senders[0].sent) >= {f"{name} later" for name in names}


@pytest.mark.parametrize("dies", [False, True])
def test_imports_are_shared_and_those_of_a_dead_node_go_on(
    tmp_path_factory: pytest.TempPathFactory, dies: bool
) -> None:
    place = tmp_path_factory.mktemp("buckets")
    (place / "bucket").mkdir()
    records = 6_000
    lines = [orjson.dumps({"Item": item(p=str(number))}) for number in range(records)]
    (place / "bucket" / "data.json").write_bytes(b"\n".join(lines) + b"\n")
    nodes = SharedNodes()
    for _ in range(2):
        nodes.start(options={"locations": directories(place, None)})
    nodes.pass_time(6, *nodes.nodes)
    first, second = nodes.nodes
    arns = []
    for number in range(6):
        request = {
            "S3BucketSource": {"S3Bucket": "bucket"},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": {"TableName": f"t{number}", **schema("p:S")},
        }
        arns.append(first.call("ImportTable", **request)["ImportTableDescription"]["ImportArn"])
    nodes.clock.advance(1)
    for _ in range(3):
        for node in nodes.nodes:
            run(node.database.work())
    holders = {
        arn: [node for node in nodes.nodes if f"exports and imports: {arn}" in node.jobs] for arn in arns
    }
    assert {node.id for found in holders.values() for node in found} == {first.id, second.id}
    if dies:
        second.database.backend.exchange.close()  # its files, not what it has stored
    working = [first] if dies else [first, second]
    nodes.pass_time(DEAD_S + 6, *working)
    for node in working:
        for number, arn in enumerate(arns):
            shown = node.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
            assert shown["ImportStatus"] == "COMPLETED" and shown["ImportedItemCount"] == records
            counted = node.call("DescribeTable", TableName=f"t{number}")["Table"]
            assert counted["ItemCount"] == records
