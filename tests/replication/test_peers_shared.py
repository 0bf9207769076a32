"""Replicas at other servers where several servers share the store of a region: one of them replicates, each
answers, and another one goes on when it is stopped."""

from __future__ import annotations

import random

import pytest

from faradisc.engine.cluster.nodes import DEAD_NS
from faradisc.storage.immediate import run
from fixtures.peers import AP, EU, TABLE, US, Servers
from fixtures.schemas import invalid, schema

DEAD_S = DEAD_NS / 1e9 + 1


@pytest.mark.parametrize("shared", [(EU,), (US,), (US, EU)])
def test_writes_flow_both_ways_and_nothing_stays_in_the_logs(shared: tuple[str, ...]) -> None:
    servers = Servers(shared=shared)
    servers.create()
    servers.still = True
    for number in range(30):
        servers.put(US, f"k{number}", number)
    servers.still = False
    servers.update(US, Create={"RegionName": EU})
    assert servers.statuses(US) == {EU: "ACTIVE"}
    assert servers.statuses(EU) == {US: "ACTIVE"}
    servers.work()
    servers.still = True
    chance = random.Random(1)
    for number in range(60):
        region, key = chance.choice((US, EU)), f"k{chance.randrange(30)}"
        if chance.random() < 0.3:
            servers.delete(region, key)
        else:
            servers.put(region, key, number)
        servers.advance(0.001)
    servers.still = False
    servers.work()
    assert servers.items(US) == servers.items(EU)
    for region in (US, EU):
        for database in servers.nodes(region):
            links = run(database.administration.replication())
            assert [link["waiting"] for link in links] == [0]
    servers.check()


@pytest.mark.parametrize("region", [US, EU])
def test_another_server_goes_on_when_the_one_that_replicates_is_stopped(region: str) -> None:
    servers = Servers(shared=(region,))
    servers.create(EU)
    servers.put(US, "a", 1)
    servers.work()
    other = EU if region == US else US
    held = [database for database in servers.nodes(region) if _replicates(database)]
    (gone,) = held
    (left,) = [database for database in servers.nodes(region) if database is not gone]
    servers.databases[region] = left
    del servers.others[region]
    servers.still = True
    servers.put(region, "a", 2)
    servers.put(other, "b", 3)
    servers.still = False
    servers.advance(DEAD_S)
    servers.work_after_a_failure()
    servers.advance(DEAD_S)
    servers.work_after_a_failure()
    assert _replicates(left)
    assert servers.values("a") == ["2", "2"]
    assert servers.values("b") == ["3", "3"]
    servers.check()


def _replicates(database: object) -> bool:
    return "replication" in database.cluster.nodes.held  # type: ignore[attr-defined]


def test_what_a_peer_cannot_create_is_known_to_all() -> None:
    servers = Servers(shared=(US, EU))
    servers.create()
    servers.work()
    servers.still = True
    servers.update(US, Create={"RegionName": EU})
    servers.clients[EU].create_table(TableName=TABLE, **schema("other:S"))
    servers.still = False
    for _ in range(2):
        (shown,) = servers.describe(US)["Replicas"]
        assert shown["ReplicaStatus"] == "CREATION_FAILED"
        assert "already exists" in shown["ReplicaStatusDescription"]


def test_every_server_knows_what_the_peers_show() -> None:
    servers = Servers(shared=(US,))
    servers.create(EU)
    servers.clients[EU].update_table(TableName=TABLE, DeletionProtectionEnabled=True)
    for _ in range(2):
        servers.work_after_a_failure()
        with invalid(
            f"Cannot delete table {TABLE} in region {EU} because it has deletion protection enabled. "
            "Disable deletion protection first."
        ):
            servers.update(US, Delete={"RegionName": EU})


def test_servers_over_one_store_have_the_same_peers() -> None:
    servers = Servers(shared=(US,))
    servers.peers_of[US] = (EU, AP)
    with pytest.raises(Exception, match=f"peers='{EU}'.*peers='{AP},{EU}'"):
        servers.open(US)
