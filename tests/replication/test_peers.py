"""Replicas at other servers: made, filled, changed and removed; writes in both directions; cut and healed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from botocore.exceptions import ClientError

from faradisc.engine.replication import answering, filling
from faradisc.engine.replication.peers import QUIET_S
from faradisc.metrics.metric_store import MINUTE_NS, dimensions
from faradisc.storage.immediate import run
from fixtures.encrypted import Keys, keys  # noqa: F401 - a fixture
from fixtures.peers import AP, EU, TABLE, US, Servers

DAY_S = 86_400


@contextmanager
def refused(text: str, code: str = "ValidationException") -> Iterator[None]:
    with pytest.raises(ClientError) as caught:
        yield
    assert caught.value.response["Error"]["Code"] == code
    assert text in caught.value.response["Error"]["Message"]


def test_a_replica_is_made_at_another_server_and_writes_flow_both_ways(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "ROWS_PER_PAGE", 7)
    servers.create()
    servers.still = True
    for number in range(100):
        servers.put(US, f"k{number}", number)
    servers.still = False
    servers.update(US, Create={"RegionName": EU})
    assert servers.statuses(US) == {EU: "ACTIVE"}
    assert servers.statuses(EU) == {US: "ACTIVE"}
    assert servers.items(US) == servers.items(EU)
    assert len(servers.items(EU)) == 100
    servers.put(EU, "k2", -2)
    servers.delete(EU, "k3")
    servers.put(US, "k4", -4)
    assert servers.values("k2") == ["-2", "-2"]
    assert servers.values("k3") == [None, None]
    assert servers.values("k4") == ["-4", "-4"]
    assert servers.describe(EU)["LatestStreamArn"].split(":")[3] == EU


def test_writes_go_on_while_a_replica_is_filled(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of old items arrive after newer writes and deletions of these items, and lose against them."""
    monkeypatch.setattr(filling, "ROWS_PER_PAGE", 3)
    servers.create()
    servers.still = True
    for number in range(60):
        servers.put(US, f"k{number}", number)
    servers.work()
    servers.update(US, Create={"RegionName": EU})
    chance = random.Random(5)
    while servers.statuses(US) != {EU: "ACTIVE"}:
        key = f"k{chance.randrange(60)}"
        if chance.random() < 0.4:
            servers.delete(US, key)
        else:
            servers.put(US, key, chance.randrange(1000))
        for database in servers.databases.values():
            run(database.work())
    servers.still = False
    assert servers.items(US) == servers.items(EU)


def test_servers_that_are_cut_off_go_on_and_catch_up(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "ENTRIES_MAX", 10)
    monkeypatch.setattr(answering, "ANSWER_BYTES", 500)
    servers.create(EU)
    servers.put(US, "a", 0)
    servers.work()
    servers.down = {EU}
    for number in range(40):
        servers.put(US, f"u{number}", number)
        servers.put(EU, f"e{number}", number)
    servers.put(US, "a", 1)
    servers.advance(1)
    servers.put(EU, "a", 2)
    servers.put(EU, "b", 2)
    servers.advance(1)
    servers.put(US, "b", 1)
    assert servers.values("a") == ["1", "2"]
    assert servers.links(US)[US, EU]["waiting"] == 42
    assert servers.problem(US, EU) == f"The server of {EU} does not answer."
    servers.down = set()
    servers.work_after_a_failure()
    assert servers.items(US) == servers.items(EU)
    assert len(servers.items(US)) == 82
    assert servers.values("a") == ["2", "2"]
    assert servers.values("b") == ["1", "1"]
    assert servers.problem(US, EU) == ""
    link = servers.links(US)[US, EU]
    assert (link["waiting"], link["delivered"], link["conflicts"]) == (0, 43, 1)


def test_a_cut_link_stops_both_directions(servers: Servers) -> None:
    servers.create(EU)
    servers.work()
    run(servers.databases[EU].backend.replicas.links.cut(US, EU))
    servers.put(US, "a", 1)
    servers.put(EU, "b", 2)
    assert servers.values("a") == ["1", None]
    assert servers.values("b") == [None, "2"]
    run(servers.databases[EU].backend.replicas.links.heal(US, EU))
    assert servers.values("a") == ["1", "1"]
    assert servers.values("b") == ["2", "2"]


@pytest.mark.parametrize("seed", range(3))
def test_three_servers_converge(seed: int) -> None:
    """Writes and deletions at random, with servers cut off at random; and each stream explains its table."""
    servers, chance = Servers(US, EU, AP), random.Random(seed)
    servers.create(EU, AP)
    servers.work()
    servers.still = True
    for _ in range(150):
        region, key = chance.choice(servers.regions), chance.choice("abcdef")
        if chance.random() < 0.3:
            servers.delete(region, key)
        else:
            servers.put(region, key, chance.randrange(100))
        if chance.random() < 0.1:
            servers.down = set(chance.sample(servers.regions, chance.randrange(2)))
        if chance.random() < 0.5:
            servers.clocks[region].advance(0.001)
        run(servers.databases[chance.choice(servers.regions)].work())
    servers.down, servers.still = set(), False
    servers.work_after_a_failure()
    assert servers.items(US) == servers.items(EU) == servers.items(AP)
    assert servers.statuses(US) == {EU: "ACTIVE", AP: "ACTIVE"}
    servers.check()


def test_what_has_arrived_is_not_asked_for_again_after_a_restart(servers: Servers) -> None:
    """The cursor is in the commit that applies, and the log is trimmed to where the peer says that it is."""
    servers.create(EU)
    for number in range(20):
        servers.put(US, f"k{number}", number)
    servers.work()
    for region in (EU, US):
        servers.open(region)
        servers.put(US, "k1", -1)
    link = servers.links(US)[US, EU]
    assert (link["waiting"], link["delivered"], link["conflicts"]) == (0, 1, 0)
    assert servers.items(US) == servers.items(EU)


def test_the_latency_is_a_metric_of_the_server_that_has_written(servers: Servers) -> None:
    servers.create(EU)
    servers.work()
    servers.down = {EU}
    servers.put(US, "a", 1)
    servers.advance(2)
    servers.down = set()
    servers.work_after_a_failure()
    ((_, account),) = servers.databases[US].accounts()
    which = dimensions(TableName=TABLE, ReceivingRegion=EU)
    minute_ns = servers.clocks[US].now_ns() // MINUTE_NS * MINUTE_NS
    ((_, found),) = account.metrics.get("ReplicationLatency", which, minute_ns, minute_ns + MINUTE_NS, 60)
    assert (round(found.sum), found.count) == (2000, 1)


# --- The life of a replica -----------------------------------------------------------------------------


def test_settings_that_replicas_have_in_common_reach_the_other_server(servers: Servers) -> None:
    servers.create(EU)
    servers.clients[EU].update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"}
    )
    expiry = servers.clients[US].describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
    assert expiry["AttributeName"] == "gone"
    index = {
        "IndexName": "by-v",
        "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    servers.put(US, "a", 7)
    servers.clients[US].update_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "v", "AttributeType": "N"}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    found = servers.clients[EU].query(
        TableName=TABLE,
        IndexName="by-v",
        KeyConditionExpression="v = :v",
        ExpressionAttributeValues={":v": {"N": "7"}},
    )
    assert found["Count"] == 1


def test_a_replica_has_settings_of_its_own(servers: Servers) -> None:
    servers.create(EU)
    servers.update(US, Update={"RegionName": EU, "TableClassOverride": "STANDARD_INFREQUENT_ACCESS"})
    assert servers.describe(EU)["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert "TableClassSummary" not in servers.describe(US)
    (shown,) = servers.describe(US)["Replicas"]
    assert shown["ReplicaTableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert shown["ReplicaStatus"] == "ACTIVE"


def test_of_two_changes_at_once_one_holds_everywhere(servers: Servers) -> None:
    servers.create(EU)
    servers.work()
    servers.still = True
    for region in servers.regions:
        specification = {"Enabled": True, "AttributeName": f"of-{region}"}
        servers.clients[region].update_time_to_live(TableName=TABLE, TimeToLiveSpecification=specification)
    servers.still = False
    described = [
        servers.clients[region].describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
        for region in servers.regions
    ]
    assert {each["AttributeName"] for each in described} == {f"of-{US}"}


def test_a_replica_is_removed_and_made_again(servers: Servers) -> None:
    servers.create(EU)
    servers.put(US, "a", 1)
    servers.update(US, Delete={"RegionName": EU})
    servers.put(US, "b", 2)
    assert servers.clients[EU].list_tables()["TableNames"] == []
    assert "Replicas" not in servers.describe(US)
    servers.update(US, Create={"RegionName": EU})
    assert servers.values("a") == ["1", "1"]
    assert servers.values("b") == ["2", "2"]


def test_a_replica_that_is_deleted_at_its_server_leaves_the_others(servers: Servers) -> None:
    servers.create(EU)
    servers.put(US, "a", 1)
    servers.clients[EU].delete_table(TableName=TABLE)
    assert "Replicas" not in servers.describe(US)
    assert servers.clients[EU].list_tables()["TableNames"] == []
    assert servers.values("a") == ["1"]


def test_the_server_of_a_replica_is_cut_off_while_it_is_removed(servers: Servers) -> None:
    servers.create(EU)
    servers.work()
    servers.down = {EU}
    servers.update(US, Delete={"RegionName": EU})
    assert servers.statuses(US) == {EU: "DELETING"}
    servers.put(EU, "a", 1)  # it goes on
    servers.down = set()
    servers.work_after_a_failure()
    assert "Replicas" not in servers.describe(US)
    assert servers.clients[EU].list_tables()["TableNames"] == []


def test_a_protected_replica_is_not_removed(servers: Servers) -> None:
    servers.create(EU)
    servers.clients[EU].update_table(TableName=TABLE, DeletionProtectionEnabled=True)
    with refused(f"Cannot delete table {TABLE} in region {EU} because it has deletion protection enabled"):
        servers.update(US, Delete={"RegionName": EU})


def test_stamps_of_deleted_items_stay_while_an_older_write_may_arrive(servers: Servers) -> None:
    servers.create(EU)
    servers.put(US, "a", 1)
    servers.work()
    servers.down = {US}
    servers.put(US, "a", 2)
    servers.advance(1)
    servers.delete(EU, "a")
    for _ in range(3):
        servers.advance(DAY_S + QUIET_S + 1)
        servers.work()
    servers.down = set()
    servers.work_after_a_failure()
    assert servers.values("a") == [None, None]


def test_encrypted_replicas_have_keys_of_their_own(keys: Keys) -> None:  # noqa: F811
    servers = Servers(US, EU, AP, keys=keys.path)
    sse = {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first}}
    servers.create(**sse)
    servers.put(US, "a", 1)
    servers.update(US, Create={"RegionName": EU, "KMSMasterKeyId": keys.second})
    servers.update(US, Create={"RegionName": AP})
    servers.put(EU, "b", 2)
    assert servers.values("a") == ["1", "1", "1"]
    assert servers.values("b") == ["2", "2", "2"]
    named = {each["RegionName"]: each["KMSMasterKeyId"] for each in servers.describe(US)["Replicas"]}
    assert named[EU] == keys.second
    for region in (EU, AP):
        assert servers.describe(region)["SSEDescription"]["KMSMasterKeyArn"] == named[region]
    with refused(f"The key of the replica in {EU} is changed there"):
        servers.update(US, Update={"RegionName": EU, "KMSMasterKeyId": keys.first})


@pytest.mark.parametrize("denied", [US, EU])
def test_writes_wait_for_a_replica_without_its_key(keys: Keys, denied: str) -> None:  # noqa: F811
    servers = Servers(keys=keys.path)
    servers.create(SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first})
    servers.update(US, Create={"RegionName": EU, "KMSMasterKeyId": keys.second})
    servers.put(US, "a", 1)
    servers.put(EU, "b", 1)
    servers.work()
    key, other = (keys.first, EU) if denied == US else (keys.second, US)
    servers.put(denied, "c", 2)
    servers.put(other, "c", 3)
    keys.disable(key)
    servers.advance(DAY_S)
    servers.work()
    assert servers.describe(denied)["TableStatus"] == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    servers.put(other, "d", 4)
    assert servers.statuses(other) == {denied: "ACTIVE"}
    assert servers.problem(other, denied) == servers.problem(denied, other) == ""
    keys.enable(key)
    servers.advance(DAY_S)
    servers.work()
    assert servers.values("d") == ["4", "4"]
    assert servers.items(US) == servers.items(EU)


def test_a_key_that_does_not_exist_makes_no_replica(keys: Keys) -> None:  # noqa: F811
    servers = Servers(keys=keys.path)
    servers.create(SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first})
    missing = keys.first[:-12] + "0" * 12
    servers.update(US, Create={"RegionName": EU, "KMSMasterKeyId": missing})
    assert servers.statuses(US) == {EU: "CREATION_FAILED"}
    assert servers.clients[EU].list_tables()["TableNames"] == []


def test_a_server_that_is_started_without_a_peer_keeps_what_waits_for_it(servers: Servers) -> None:
    servers.create(EU)
    servers.work()
    servers.peers_of[US] = ()
    servers.open(US)
    servers.put(US, "a", 1)
    assert servers.statuses(US) == {EU: "ACTIVE"}
    servers.peers_of[US] = (EU,)
    servers.open(US)
    servers.work_after_a_failure()
    assert servers.values("a") == ["1", "1"]
    servers.down = {EU}
    servers.update(US, Delete={"RegionName": EU})
    assert servers.statuses(US) == {EU: "DELETING"}
    servers.peers_of[US] = ()
    servers.open(US)
    assert "Replicas" not in servers.describe(US)


# --- What does not fit ---------------------------------------------------------------------------------


def test_a_table_of_the_name_exists_at_the_peer(servers: Servers) -> None:
    servers.clients[EU].create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "other", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "other", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with refused("one or more replicas already existed as tables"):
        servers.create(EU)
    assert "Replicas" not in servers.describe(US)


def test_a_table_of_the_name_appears_meanwhile(servers: Servers) -> None:
    """The question came before the table, so the creation fails at the peer, and that is shown."""
    servers.create()
    servers.work()
    servers.still = True
    servers.update(US, Create={"RegionName": EU})
    servers.clients[EU].create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "other", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "other", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )
    servers.still = False
    (shown,) = servers.describe(US)["Replicas"]
    assert shown["ReplicaStatus"] == "CREATION_FAILED"
    assert "already exists" in shown["ReplicaStatusDescription"]
    assert servers.describe(EU)["KeySchema"][0]["AttributeName"] == "other"
    servers.update(US, Delete={"RegionName": EU})
    assert "Replicas" not in servers.describe(US)


def test_a_region_of_no_server_is_unknown(servers: Servers) -> None:
    with refused(f"Region {AP} is not supported. The latest version of global tables are only supported in"):
        servers.create(AP)


def test_a_peer_that_does_not_answer(servers: Servers) -> None:
    servers.down = {EU}
    with refused(f"The server of {EU} does not answer."):
        servers.create(EU)
    assert "Replicas" not in servers.describe(US)


@pytest.mark.parametrize(
    ("instead", "text"),
    [
        ({"format": 2}, f"The server of {EU} is of another version"),
        ({"now_ns": 1_700_000_005_100_000_000}, "The clocks of the servers are 5.1 s apart"),
        ({"now_ns": 1_699_999_994_900_000_000}, "The clocks of the servers are 5.1 s apart"),
        ({"now_ns": None}, "cannot be read"),
    ],
)
def test_a_peer_that_does_not_fit(servers: Servers, instead: dict[str, Any], text: str) -> None:
    servers.answers_instead[EU] = instead
    with refused(text):
        servers.create(EU)
    assert "Replicas" not in servers.describe(US)
    assert text in servers.problem(US, EU)
    assert servers.databases[US].problems() == [servers.problem(US, EU)]


def test_replication_stops_while_the_clocks_are_apart(servers: Servers) -> None:
    servers.create(EU)
    servers.put(US, "a", 1)
    servers.work()
    servers.clocks[EU].advance(6)
    servers.put(US, "a", 2)
    assert servers.values("a") == ["2", "1"]
    assert "6.0 s apart" in servers.problem(EU, US)
    servers.clocks[US].advance(6)
    servers.work_after_a_failure()
    assert servers.values("a") == ["2", "2"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({}, "cannot be read"),
        ({"format": 0, "region": US, "from": [EU]}, "the peer's replication has the format 0"),
        ({"format": 1, "region": AP, "from": [EU]}, f"This server has the regions {US}, and not {AP}."),
        ({"format": 1, "region": US, "from": [AP]}, f"The server of {US} has no --peer {AP}=URL"),
        ({"format": 1, "region": US, "from": [EU], "refused": [], "pulls": [7]}, "cannot be read"),
    ],
)
def test_a_question_that_does_not_fit(servers: Servers, question: dict[str, Any], text: str) -> None:
    answer = servers.post(US, orjson.dumps({"tag": "", **question}))
    assert answer.status == 400
    assert text in orjson.loads(answer.body)["error"]


def test_what_replicas_at_other_servers_cannot_be(servers: Servers) -> None:
    servers.create()
    with refused("STRONG needs all of its regions at one server"):
        servers.clients[US].update_table(
            TableName=TABLE,
            ReplicaUpdates=[{"Create": {"RegionName": EU}}],
            MultiRegionConsistency="STRONG",
            GlobalTableWitnessUpdates=[{"Create": {"RegionName": "us-east-2"}}],
        )


# --- Crashes -------------------------------------------------------------------------------------------


class PowerCut(BaseException):
    """Raised where a server loses power."""


def live(servers: Servers) -> None:
    """Adds a replica, writes at both servers, and removes the replica."""
    servers.create()
    servers.still = True
    for number in range(6):
        servers.put(US, f"k{number}", number)
    servers.still = False
    servers.update(US, Create={"RegionName": EU})
    servers.put(US, "k1", 10)
    servers.work()
    servers.put(EU, "k2", 12)
    servers.delete(US, "k3")
    servers.work()
    servers.update(US, Delete={"RegionName": EU})
    servers.work()


@pytest.mark.parametrize("region", [US, EU])
def test_nothing_is_half_done_after_a_crash_at_any_commit(region: str) -> None:
    """The server of one region loses power after each single commit in turn, and is started again."""
    for commits in range(400):
        servers = Servers()
        store: Any = servers.stores[region]
        commit, seen = store.commit, [0]

        async def counted(
            *arguments: Any, commits: int = commits, commit: Any = commit, seen: list[int] = seen, **more: Any
        ) -> Any:
            if seen[0] == commits:
                raise PowerCut
            seen[0] += 1
            return await commit(*arguments, **more)

        store.commit = counted
        servers.open(region, store)
        ended = False
        try:
            live(servers)
            ended = True
        except PowerCut:
            store.commit = commit
            servers.still = False
            servers.open(region, store)
            servers.work_after_a_failure()
        having = [each for each in (US, EU) if servers.clients[each].list_tables()["TableNames"]]
        assert EU not in having or US in having
        for each in having:
            described = servers.describe(each)
            assert described["TableStatus"] == "ACTIVE"
            assert set(servers.statuses(each).values()) <= {"ACTIVE"}
        assert len({orjson.dumps(servers.items(each), option=orjson.OPT_SORT_KEYS) for each in having}) <= 1
        servers.check()
        if ended:
            assert having == [US]
            assert commits > 10
            return
    raise AssertionError("the life of the replicas takes too many commits")
