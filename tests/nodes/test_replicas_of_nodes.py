"""Global tables of two nodes over one store: both write in both regions, while one of them replicates.

What it proves: replicas are equal in the end, whatever the order in which the calls of the nodes overlap, and
although the clock of one node is ahead.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import orjson
import pytest

from faradisc.database import Settings
from faradisc.errors import UnsupportedOperation
from faradisc.operations.call import Call
from fixtures import many_nodes
from fixtures.many_nodes import Node, Nodes, Place, Play
from fixtures.regions import EU, US
from fixtures.schemas import schema
from fixtures.strong_regions import EAST, REGIONS

WRITES = 40


async def ask(node: Node, region: str, operation: str, **members: Any) -> dict[str, Any]:
    call = Call(operation, {"TableName": "music", **members}, True, region, "000000000000")
    answer: dict[str, Any] = orjson.loads(orjson.dumps(await node.database.execute(call)))
    return answer


PLACES = pytest.mark.parametrize("place", [*range(4), "postgres"])
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


@pytest.mark.parametrize("place", [0])
def test_a_shared_store_has_no_strongly_consistent_tables(
    play: Play, monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    monkeypatch.setattr(many_nodes, "SETTINGS", Settings(transition_ms=0, per_region=True))

    async def scenario(nodes: Nodes) -> None:
        one = nodes.nodes[0]
        await ask(one, EAST, "CreateTable", **schema("p:S"))
        creations = [{"Create": {"RegionName": region}} for region in REGIONS if region != EAST]
        with pytest.raises(UnsupportedOperation, match="STRONG needs a store of one server"):
            await ask(one, EAST, "UpdateTable", ReplicaUpdates=creations, MultiRegionConsistency="STRONG")

    play(scenario, place)
