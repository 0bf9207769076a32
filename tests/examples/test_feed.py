"""The feed: each access pattern's requests and units, its guarantees under repetitions and concurrency."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from examples.access_patterns import Meter, markdown
from examples.connections import create
from examples.feed.network import KEEP_ENTRIES_S, Network
from examples.feed.patterns import LIKE_SHARDS, PATTERNS
from examples.feed.table import TABLE, definition, likes_key

from faradisc.clock import ManualClock
from faradisc.limits import TTL_DELAY_S
from faradisc.streams import consume
from fixtures.answers import watch
from fixtures.in_process import InProcess
from fixtures.served import Server
from fixtures.streamed import streamed_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "feed"


class World:
    """The table, the network, and the consumer of the stream on a clock that tests move."""

    def __init__(self, process: InProcess, clock: ManualClock) -> None:
        self.clock = clock
        self.clients = streamed_in(process)
        create(self.clients.dynamodb, definition(), time_to_live="expires")
        self.documents = watch(process.local.resource("dynamodb").meta.client)
        self.network = Network(self.documents, now=lambda: clock.now_ns() / 1e9, sleep=clock.advance)

    def work(self) -> None:
        clients = {"dynamodb": self.clients.dynamodb, "streams": self.clients.streams}
        with consume(
            TABLE, self.network.handle, group="feeds", clock=self.clock, sleep=self.clock.advance, **clients
        ) as consumer:
            consumer.drain()

    def items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.documents.scan(TableName=TABLE)["Items"]
        return items


@pytest.fixture
def world(bugs_surface: None, clock: ManualClock) -> Iterator[World]:
    process = InProcess(clock=clock)
    yield World(process, clock)
    process.check()
    process.close()


def test_each_pattern_sends_the_requests_and_consumes_the_units_of_the_table(world: World) -> None:
    network, meter, checked = world.network, Meter().attach(world.documents), set()

    def check(name: str) -> None:
        meter.check(PATTERNS[name])
        checked.add(name)

    network.follow("reader", "ada")
    check("follow an author")
    for number in range(29):
        network.follow(f"reader-{number}", "ada")
    meter.requests.clear()
    network.follows("reader")
    check("list whom a user follows")
    network.publish("post", "ada", "Notes on the engine.")
    check("publish a post")
    network.posts_of("ada")
    check("list the posts of an author")
    found = network.post("post")
    check("show a post")
    network.fan_out(found)
    check("copy a post to 30 followers")
    network.feed("reader")
    check("show the home feed")
    network.like("reader", "post")
    check("like a post")
    network.add_up_likes("post")
    check("add the likes of a post up")
    assert checked == set(PATTERNS)


def test_the_readme_has_the_patterns() -> None:
    assert markdown(PATTERNS.values()) in (EXAMPLE / "README.md").read_text()


def test_posts_come_to_followers_and_go_with_their_deletion(world: World) -> None:
    network = world.network
    for user in ("grace", "alan"):
        network.follow(user, "ada")
    assert network.publish("one", "ada", "first")
    world.clock.advance(1)
    assert network.publish("two", "ada", "second")
    assert not network.publish("two", "ada", "second again")
    world.work()
    assert network.feed("grace") == network.feed("alan") == [("ada", "second"), ("ada", "first")]
    assert network.feed("ada") == []
    assert network.posts_of("ada") == ["second", "first"]
    network.delete("two")
    world.work()
    assert network.feed("grace") == [("ada", "first")]
    assert network.follows("grace") == ["ada"]


def test_repeated_deliveries_and_sums_change_no_feed(world: World) -> None:
    world.network.follow("grace", "ada")
    world.network.publish("one", "ada", "first")
    world.work()
    world.network.like("grace", "one")
    world.network.add_up_likes("one")
    before = world.items()
    world.work()
    image = {name: TypeSerializer().serialize(value) for name, value in world.network.post("one").items()}
    world.network.handle({"Records": [{"eventName": "INSERT", "dynamodb": {"NewImage": image}}]})
    assert world.items() == before


def test_throttled_parts_of_a_batch_are_sent_again(world: World) -> None:
    for number in range(40):
        world.network.follow(f"reader-{number}", "ada")
    throttled = []

    def leave_some(parsed: dict[str, Any], **_: Any) -> None:
        """Answers that one more write was throttled, which then has to be sent."""
        if len(throttled) < 3:
            throttled.append(1)
            parsed["UnprocessedItems"] = {TABLE: [{"PutRequest": {"Item": dict(again)}}]}

    world.network.publish("one", "ada", "first")
    post = world.network.post("one")
    late = {"PK": "FEED#late", "SK": "1", "author": "ada", "text": "late", "expires": 9_999_999_999}
    again = {name: TypeSerializer().serialize(value) for name, value in late.items()}
    world.documents.meta.events.register_last("after-call.dynamodb.BatchWriteItem", leave_some)
    before = world.clock.now_ns()
    world.network.fan_out(post)
    assert len(throttled) == 3
    assert world.clock.now_ns() > before, "it paused"
    assert world.network.feed("late") == [("ada", "late")]
    assert all(world.network.feed(f"reader-{number}") == [("ada", "first")] for number in range(40))


def test_likes_count_once_for_each_user_also_concurrently(world: World) -> None:
    network = world.network
    network.publish("one", "ada", "first")

    def like(user: int) -> None:
        for _ in range(2):
            network.like(f"user-{user}", "one")
        if user % 4 == 0:
            network.unlike(f"user-{user}", "one")
            assert not network.unlike(f"user-{user}", "one")

    threads = [threading.Thread(target=lambda n=n: [like(u) for u in range(n, 60, 4)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert network.add_up_likes("one") == 45
    assert network.post("one")["likes"] == 45
    shards = {item["PK"] for item in world.items() if item["SK"] == "COUNT"}
    assert shards <= {likes_key("one", shard) for shard in range(LIKE_SHARDS)}
    assert len(shards) > LIKE_SHARDS / 2, "likes are divided"
    network.delete("one")
    with pytest.raises(KeyError, match="one"):
        network.add_up_likes("one")


def test_entries_expire(world: World) -> None:
    world.network.follow("grace", "ada")
    world.network.publish("one", "ada", "first")
    world.work()
    world.clock.advance(KEEP_ENTRIES_S + TTL_DELAY_S + 1)
    assert world.network.feed("grace") == []
    assert not [item for item in world.items() if item["PK"].startswith("FEED#")]


def test_parts_of_keys_cannot_forge_others(world: World) -> None:
    for user in ("", "ada#1"):
        with pytest.raises(ValueError, match="part of a key"):
            world.network.feed(user)


def test_program_runs_against_a_server(memory_server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.feed", "--endpoint-url", memory_server.url],
        cwd=EXAMPLE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "likes: 2" in done.stdout
