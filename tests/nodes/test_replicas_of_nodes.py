"""Global tables of two nodes over one store: both write in both regions, while one of them replicates.

What it proves: replicas are equal in the end, whatever the order in which the calls of the nodes overlap, and
although the clock of one node is ahead. Strongly consistent ones are linearizable at every moment.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import Any

import orjson
import pytest

from faradisc.database import Settings
from faradisc.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    ReplicatedWriteConflictException,
)
from faradisc.operations.call import Call
from fixtures import many_nodes
from fixtures.many_nodes import Node, Nodes, Place, Play
from fixtures.regions import EU, US
from fixtures.schemas import schema
from fixtures.searching import seeds
from fixtures.strong_regions import EAST, OTHER, REGIONS, WEST
from linearizability.clients import request_of, value_of
from linearizability.register import ABSENT, Operation, by_key, is_linearizable

WRITES, CLIENTS = 40, 4


async def ask(node: Node, region: str, operation: str, **members: Any) -> dict[str, Any]:
    call = Call(operation, {**members, "TableName": "music"}, True, region, "000000000000")
    answer: dict[str, Any] = orjson.loads(orjson.dumps(await node.database.execute(call)))
    return answer


PLACES = pytest.mark.parametrize("place", [*seeds(4, 2), "postgres"])
"""Seeds of a memory whose calls overlap, and PostgreSQL."""


@PLACES
@pytest.mark.parametrize("ahead_s", [0, 0.5])
def test_replicas_of_two_nodes_are_equal(
    play: Play, monkeypatch: pytest.MonkeyPatch, place: Place, ahead_s: float
) -> None:
    monkeypatch.setattr(many_nodes, "SETTINGS", Settings(transition_ms=0, per_region=True))

    async def write(nodes: Nodes, seed: int) -> None:
        chance = random.Random(seed)
        for number in range(WRITES):
            node, region, key = nodes.any(), chance.choice([US, EU]), chance.choice("abc")
            if chance.random() < 0.3:
                await ask(node, region, "DeleteItem", Key={"p": {"S": key}})
            else:
                value = {"N": str(chance.choice([0, number]))}
                await ask(node, region, "PutItem", Item={"p": {"S": key}, "v": value})

    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await ask(one, US, "CreateTable", **schema("p:S"))
        await ask(other, US, "PutItem", Item={"p": {"S": "old"}})
        await ask(other, US, "UpdateTable", ReplicaUpdates=[{"Create": {"RegionName": EU}}])
        while True:
            shown = (await ask(nodes.any(), US, "DescribeTable"))["Table"]["Replicas"]
            if [each["ReplicaStatus"] for each in shown] == ["ACTIVE"]:
                break
            await asyncio.sleep(0)
        await asyncio.gather(write(nodes, 1), write(nodes, 2))
        while True:
            links = await one.database.administration.replication()
            if not any(link["waiting"] for link in links):
                break
            await asyncio.sleep(0)
        items = [(await ask(one, region, "Scan"))["Items"] for region in (US, EU)]
        assert items[0] == items[1]
        assert {"p": {"S": "old"}} in items[0]

    play(scenario, place, ahead_s=ahead_s)


@PLACES
@pytest.mark.parametrize("witness", [False, True])
def test_strongly_consistent_replicas_of_two_nodes_are_linearizable(
    play: Play, monkeypatch: pytest.MonkeyPatch, place: Place, witness: bool
) -> None:
    """Clients at both nodes, in all regions, while regions are cut off and join again. A request that is
    answered with 500, or that met a write of another region, has no effect or an unknown one."""
    monkeypatch.setattr(many_nodes, "SETTINGS", Settings(transition_ms=0, regions=",".join(REGIONS)))
    replicas = (EAST, WEST) if witness else REGIONS
    history: list[Operation] = []
    values = itertools.count(1)

    async def request(node: Node, region: str, key: str, kind: str, expected: int) -> int:
        """Returns what is there afterwards, as far as the client knows."""
        value = next(values) if kind.startswith("put") else ABSENT
        operation, members = request_of(key, kind, value, expected)
        start_ns, refused = time.monotonic_ns(), False
        try:
            answer = await ask(node, region, operation, **members)
        except ConditionalCheckFailedException as error:
            answer, refused = error.extra, True
        except (InternalServerError, ReplicatedWriteConflictException):
            history.append(Operation(key, kind, start_ns, None, value, expected))
            return expected
        of = "Attributes" if operation != "GetItem" and not refused else "Item"
        seen = value_of(answer.get(of))
        history.append(Operation(key, kind, start_ns, time.monotonic_ns(), value, expected, seen, refused))
        return seen if kind == "get" or refused else value

    async def client(nodes: Nodes, number: int) -> None:
        chance = random.Random(f"{place} {number}")
        seen = dict.fromkeys("abc", ABSENT)
        for _ in range(WRITES):
            region, key = chance.choice(replicas), chance.choice("abc")
            kind = chance.choice(("get", "get", "put", "put if", "put if", "delete"))
            expected = seen[key] if kind == "put if" else ABSENT
            seen[key] = await request(nodes.any(), region, key, kind, expected)

    async def cut(nodes: Nodes) -> None:
        chance = random.Random(f"{place} links")
        while len(history) < CLIENTS * WRITES:
            links = nodes.any().database.backend.replicas.links
            one, other = chance.sample(REGIONS, 2)
            await (links.cut if chance.random() < 0.3 else links.heal)(one, other)
            for _ in range(chance.randrange(200)):
                await asyncio.sleep(0)

    async def scenario(nodes: Nodes) -> None:
        one = nodes.nodes[0]
        await ask(one, EAST, "CreateTable", **schema("p:S"))
        creations = [{"Create": {"RegionName": region}} for region in replicas if region != EAST]
        more = {"GlobalTableWitnessUpdates": [{"Create": {"RegionName": OTHER}}]} if witness else {}
        await ask(one, EAST, "UpdateTable", ReplicaUpdates=creations, MultiRegionConsistency="STRONG", **more)
        while True:
            shown = (await ask(nodes.any(), EAST, "DescribeTable"))["Table"]
            if {each["ReplicaStatus"] for each in shown.get("Replicas", [{"ReplicaStatus": ""}])} == {
                "ACTIVE"
            }:
                break
            await asyncio.sleep(0)
        await asyncio.gather(cut(nodes), *(client(nodes, number) for number in range(CLIENTS)))
        for pair in itertools.combinations(REGIONS, 2):
            await one.database.backend.replicas.links.heal(*pair)
        for key in "abc":  # in every region what the last write has left
            for region in replicas:
                await request(nodes.any(), region, key, "get", ABSENT)

    play(scenario, place)
    assert all(is_linearizable(each) for each in by_key(history).values())
    lost = sum(each.end_ns is None for each in history)
    assert 0 < lost < len(history) - 3 * len(replicas)  # not only the reads at the end have answers
