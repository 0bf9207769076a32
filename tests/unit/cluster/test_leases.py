"""Leases: a job runs on one node at a time, and a node that was stopped cannot write when it wakes up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from faradisc.engine.jobs.runner import Job
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from fixtures.nodes import DEAD_S, SharedNodes, TestNode

PART = b"\x00\x00\x00\x63\x00"


def all_jobs() -> set[str]:
    """Returns the jobs that one of several nodes runs: a lone node runs all of them."""
    nodes = SharedNodes(1)
    nodes.nodes[0].work()
    return nodes.nodes[0].jobs


def leased(node: TestNode, step: Callable[[], Awaitable[bool]], name: str = "test") -> Job:
    assert node.database.cluster is not None
    return node.database.cluster.leased(Job(name, step))


def writer(node: TestNode, name: str = "test") -> Job:
    """Returns a job that writes its node's name each time."""

    async def step() -> bool:
        store = node.database.store
        await store.commit([Batch(PART, puts=[(b"by", node.id.encode())], log=[node.id.encode()])])
        return True

    return leased(node, step, name)


def written_by(nodes: SharedNodes) -> list[str]:
    return [entry.decode() for _, entry in run(nodes.nodes[0].store.log(PART, 0, 1000))]


def test_each_job_runs_on_one_node_and_jobs_are_spread() -> None:
    nodes = SharedNodes(3)
    nodes.pass_time(6, *nodes.nodes)
    held = [node.jobs for node in nodes.nodes]
    assert set().union(*held) == all_jobs() > {"replication", "backups"}
    assert sum(map(len, held)) == len(all_jobs())
    assert all(held)


def test_a_node_that_starts_gets_its_share() -> None:
    nodes = SharedNodes(1)
    first = nodes.nodes[0]
    first.work()
    second = nodes.start()
    nodes.pass_time(6, first, second)
    assert second.jobs and not first.jobs & second.jobs
    assert first.jobs | second.jobs == all_jobs()


def test_a_node_that_has_not_met_another_one_takes_none_of_its_jobs() -> None:
    nodes = SharedNodes(2)
    first, second = nodes.nodes
    second.work()
    share = second.jobs
    first.work()
    second.work()
    assert second.jobs == share
    assert first.jobs == all_jobs() - share


def test_jobs_of_a_node_that_stops_go_on_elsewhere_at_once() -> None:
    nodes = SharedNodes(2)
    first, second = nodes.nodes
    nodes.pass_time(6, first, second)
    run(second.database.close())
    nodes.pass_time(2, first)
    assert first.jobs == all_jobs()


def test_jobs_of_a_dead_node_go_on_elsewhere() -> None:
    nodes = SharedNodes(2)
    first, second = nodes.nodes
    nodes.pass_time(6, first, second)
    assert second.jobs
    nodes.pass_time(DEAD_S, first)
    assert first.jobs == all_jobs()


def test_only_one_of_two_nodes_runs_a_step() -> None:
    nodes = SharedNodes(2)
    jobs = [writer(node) for node in nodes.nodes]
    nodes.pass_time(2, *nodes.nodes)
    for _ in range(10):
        ran = [run(job.step()) for job in jobs]
        assert ran.count(True) == 1
        nodes.pass_time(1, *nodes.nodes)
    assert len(set(written_by(nodes))) == 1


def test_a_holder_that_wakes_up_too_late_cannot_write() -> None:
    nodes = SharedNodes(2)
    woken: list[bool] = []

    async def others_take_over() -> None:
        for node, job in zip(nodes.nodes, jobs, strict=True):
            if job is not stopped:
                nodes.pass_time(DEAD_S, node)
                woken.append(await job.step())

    def stoppable(node: TestNode) -> Job:
        async def step() -> bool:
            if not written_by(nodes):
                await node.database.store.commit([Batch(PART, log=[node.id.encode()])])
                return True
            if jobs[nodes.nodes.index(node)] is stopped and not woken:
                await others_take_over()
            await node.database.store.commit([Batch(PART, log=[node.id.encode()])])
            return True

        return leased(node, step)

    jobs = [stoppable(node) for node in nodes.nodes]
    stopped = next(job for job in jobs if run(job.step()))
    # The holder stops in the middle of its next step; the other one takes over and writes.
    assert run(stopped.step()) is False
    assert woken == [True]
    holder, other = written_by(nodes)
    assert holder != other


def test_commits_outside_of_a_job_need_no_lease() -> None:
    nodes = SharedNodes(2)
    first, second = nodes.nodes
    for node in (first, second):
        assert run(node.database.store.commit([Batch(PART, log=[b"x"])])) in ([1], [2])


def test_a_conflict_of_the_job_itself_is_returned_to_it() -> None:
    nodes = SharedNodes(1)
    node = nodes.nodes[0]
    answers: list[object] = []

    async def step() -> bool:
        answers.append(await node.database.store.commit([Batch(PART, checks=[(b"absent", 7)])]))
        answers.append(await node.database.store.commit([Batch(PART, log=[b"x"]), Batch(PART, log=[b"y"])]))
        return True

    assert run(leased(node, step).step())
    conflict, numbers = answers
    assert getattr(conflict, "key", None) == b"absent"
    assert numbers == [1, 2]


def test_a_job_is_called_when_it_is_taken_and_lost() -> None:
    nodes = SharedNodes(1)
    first = nodes.nodes[0]
    said: dict[str, list[str]] = {f"job {number}": [] for number in range(20)}
    assert first.database.cluster is not None

    def recording(name: str) -> Job:
        async def step() -> bool:
            said[name].append("step")
            return True

        async def taken() -> None:
            said[name].append("taken")

        async def lost() -> None:
            said[name].append("lost")

        return first.database.cluster.leased(Job(name, step, taken, lost))  # type: ignore[union-attr]

    jobs = list(map(recording, said))
    assert all(run(job.step()) for job in jobs)
    second = nodes.start()
    nodes.pass_time(2, first, second)
    remain = [run(job.step()) for job in jobs]
    assert {True, False} == set(remain)
    for has, calls in zip(remain, said.values(), strict=True):
        assert calls == (["taken", "step", "step"] if has else ["taken", "step", "lost"])
