"""Servers that copy to a bucket of moto's S3 or a directory, are killed, lose their disk, and hand over."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from fixtures.clients import http_client
from fixtures.commands import run_here
from fixtures.s3 import OPTIONS, MotoS3
from fixtures.schemas import item, schema
from fixtures.served import Server

PATIENCE_S = 60.0
QUICK = ("--copy-lease", "1")


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OPTIONS.items():
        monkeypatch.setenv(name.replace("region_name", "aws_default_region").upper(), value)


def faradisc(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command; one that serves in a process of its own."""
    if arguments[0] != "serve":
        return run_here([str(each) for each in arguments], Path.cwd(), {})
    return subprocess.run(
        [sys.executable, "-m", "faradisc", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def page(server: Server, path: str = "/_faradisc/copy") -> dict[str, Any]:
    with urlopen(server.url + path) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def until(condition: Any, what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def copied(server: Server) -> bool:
    shown = page(server)
    return shown["lag_s"] == 0 and shown["snapshot_ns"] > 0 and not shown["fault"]


def keys(server: Server, **more: Any) -> set[str]:
    found = http_client(server.url).scan(TableName="things", **more)
    return {each["p"]["S"] for each in found["Items"]}


def test_a_lost_disk_is_restored_from_s3_and_the_copy_goes_on(
    moto_s3: MotoS3, credentials: None, tmp_path: Path
) -> None:
    place = ("--copy-to", "s3://bucket/some/prefix", "--s3-endpoint", moto_s3.url, *QUICK)
    check = ("check", "--copy", "s3://bucket/some/prefix", "--s3-endpoint", moto_s3.url)
    with Server("--data-dir", str(tmp_path / "a"), *place) as server:
        client = http_client(server.url)
        client.create_table(TableName="things", **schema("p:S"))
        for number in range(40):
            client.put_item(TableName="things", Item=item(p=str(number)))
        until(lambda: copied(server), "everything is copied")
        with urlopen(server.url + "/metrics") as answer:
            metrics = answer.read().decode()
        assert "faradisc_copy_fault 0.0" in metrics and "faradisc_copy_lag_seconds 0.0" in metrics
        server.kill()
    shutil.rmtree(tmp_path / "a")
    verified = faradisc(*check)
    assert verified.returncode == 0 and "intact" in verified.stdout, verified
    refused = faradisc("serve", "--port", "0", "--data-dir", tmp_path / "empty", *place)
    assert refused.returncode == 2 and "faradisc restore-copy s3://bucket/some/prefix" in refused.stderr
    restored = faradisc("restore-copy", "s3://bucket/some/prefix", tmp_path / "b", *place[2:4])
    assert restored.returncode == 0, restored.stderr
    again = faradisc("restore-copy", "s3://bucket/some/prefix", tmp_path / "b", *place[2:4])
    assert again.returncode == 1 and "is not empty" in again.stderr
    with Server("--data-dir", str(tmp_path / "b"), *place) as server:
        assert keys(server) == {str(number) for number in range(40)}
        http_client(server.url).put_item(TableName="things", Item=item(p="new"))
        assert server.stop() == 0
    assert faradisc(*check).returncode == 0
    assert faradisc("check", tmp_path / "b").returncode == 0
    assert faradisc("restore-copy", "s3://bucket/some/prefix", tmp_path / "c", *place[2:4]).returncode == 0
    assert faradisc("check", tmp_path / "c").returncode == 0
    with Server("--data-dir", str(tmp_path / "c")) as server:
        assert "new" in keys(server)
        assert server.stop() == 0


def test_a_wrong_bucket_is_one_sentence(moto_s3: MotoS3, credentials: None, tmp_path: Path) -> None:
    place = ("s3://nowhere/prefix", "--s3-endpoint", moto_s3.url)
    for command in (
        ("serve", "--port", "0", "--data-dir", tmp_path / "a", "--copy-to", *place),
        ("serve", "--port", "0", "--data-dir", tmp_path / "b", "--follow", *place),
        ("restore-copy", *place[:1], tmp_path / "c", *place[1:]),
        ("check", "--copy", *place),
    ):
        ended = faradisc(*command)
        assert ended.returncode in (1, 2)
        assert "s3://nowhere/prefix cannot be used" in ended.stderr, command
        assert ended.stderr.count("\n") == 1


def test_a_standby_follows_reads_and_takes_over(tmp_path: Path) -> None:
    """By an operator, who has stopped the primary; what is acknowledged by then is there."""
    place = str(tmp_path / "bucket")
    with Server(
        "--data-dir", str(tmp_path / "a"), "--copy-to", place, "--copy-lag", "0.2", *QUICK
    ) as primary:
        client = http_client(primary.url)
        client.create_table(TableName="things", **schema("p:S"))
        until(lambda: copied(primary), "a snapshot is there")
        with Server("--data-dir", str(tmp_path / "b"), "--follow", place) as standby:
            reader = http_client(standby.url)
            for number in range(30):
                client.put_item(TableName="things", Item=item(p=str(number)))
            until(lambda: len(keys(standby)) == 30, "the standby keeps up")
            client.create_table(TableName="later", **schema("p:S"))
            until(lambda: "later" in reader.list_tables()["TableNames"], "new tables come too")
            assert page(standby)["role"] == "standby"
            for refused in (
                lambda: reader.put_item(TableName="things", Item=item(p="x")),
                lambda: reader.get_item(TableName="things", Key=item(p="1"), ConsistentRead=True),
                lambda: reader.batch_get_item(
                    RequestItems={"things": {"Keys": [item(p="1")], "ConsistentRead": True}}
                ),
                lambda: reader.transact_get_items(
                    TransactItems=[{"Get": {"TableName": "things", "Key": item(p="1")}}]
                ),
                lambda: reader.create_table(TableName="others", **schema("p:S")),
            ):
                with pytest.raises(ClientError, match="This server is a standby"):
                    refused()
            client.put_item(TableName="things", Item=item(p="last"))
            assert primary.stop() == 0
            promoted = faradisc("promote", "--url", standby.url)  # the lease was given back
            assert promoted.returncode == 0, promoted.stderr
            until(lambda: _role(standby) == "primary", "it is the primary")
            reader.put_item(TableName="things", Item=item(p="after"))
            assert keys(standby, ConsistentRead=True) == {*map(str, range(30)), "last", "after"}
            assert standby.stop() == 0
    with Server("--data-dir", str(tmp_path / "b"), "--follow", place, *QUICK) as again:
        assert page(again)["role"] == "primary", "it goes on as what it was"
        assert again.stop() == 0
    old = faradisc("serve", "--port", "0", "--data-dir", tmp_path / "a", "--follow", place, *QUICK)
    assert old.returncode == 2 and "has commits that" in old.stderr, "it has a history of its own"
    ended = faradisc("serve", "--port", "0", "--data-dir", tmp_path / "a", "--copy-to", place)
    assert ended.returncode == 2 and "has commits that" in ended.stderr
    assert faradisc("check", "--copy", place).returncode == 0


def test_a_standby_takes_over_when_the_lease_of_a_killed_primary_ends(tmp_path: Path) -> None:
    place = str(tmp_path / "bucket")
    with Server("--data-dir", str(tmp_path / "a"), "--copy-to", place, "--copy-sync", *QUICK) as primary:
        client = http_client(primary.url)
        client.create_table(TableName="things", **schema("p:S"))
        until(lambda: copied(primary), "a snapshot is there")
        standing = Server("--data-dir", str(tmp_path / "b"), "--follow", place, "--copy-takeover", *QUICK)
        with standing as standby:
            for number in range(20):
                client.put_item(TableName="things", Item=item(p=str(number)))
            until(lambda: page(primary)["waiting"], "its lease ends from now on")
            primary.kill()
            until(lambda: _role(standby) == "primary", "it takes over")
            assert keys(standby, ConsistentRead=True) == set(map(str, range(20)))
            http_client(standby.url).put_item(TableName="things", Item=item(p="after"))
            assert standby.stop() == 0


def test_a_primary_that_slept_answers_neither_reads_nor_writes(
    moto_s3: MotoS3, credentials: None, tmp_path: Path
) -> None:
    place, options = "s3://bucket/slept", ("--s3-endpoint", moto_s3.url, *QUICK)
    with Server("--data-dir", str(tmp_path / "a"), "--copy-to", place, *options) as primary:
        client = http_client(primary.url)
        client.create_table(TableName="things", **schema("p:S"))
        client.put_item(TableName="things", Item=item(p="1", v="old"))
        until(lambda: copied(primary), "a snapshot is there")
        standing = Server("--data-dir", str(tmp_path / "b"), "--follow", place, "--copy-takeover", *options)
        with standing as standby:
            until(lambda: page(primary)["waiting"], "its lease ends from now on")
            primary._process.send_signal(signal.SIGSTOP)
            until(lambda: _role(standby) == "primary", "it takes over")
            http_client(standby.url).put_item(TableName="things", Item=item(p="1", v="new"))
            primary._process.send_signal(signal.SIGCONT)
            for stale in (
                lambda: client.get_item(TableName="things", Key=item(p="1"), ConsistentRead=True),
                lambda: client.put_item(TableName="things", Item=item(p="2")),
            ):
                with pytest.raises((ClientError, BotoCoreError)):
                    stale()
            primary._process.wait(PATIENCE_S)
            assert primary._process.returncode == 1
            assert standby.stop() == 0
    again = faradisc("serve", "--port", "0", "--data-dir", tmp_path / "a", "--copy-to", place, *options)
    assert again.returncode == 2 and "has commits that" in again.stderr


def _role(server: Server) -> str:
    try:
        return str(page(server)["role"])
    except OSError:  # it opens its store
        return ""


def test_a_primary_that_writes_hands_over_and_nothing_is_lost(tmp_path: Path) -> None:
    """Also where an operator says that it has stopped, and is wrong."""
    place = str(tmp_path / "bucket")
    with Server("--data-dir", str(tmp_path / "a"), "--copy-to", place, *QUICK) as primary:
        client = http_client(primary.url)
        client.create_table(TableName="things", **schema("p:S"))
        until(lambda: copied(primary), "a snapshot is there")
        with Server("--data-dir", str(tmp_path / "b"), "--follow", place, *QUICK) as standby:
            acknowledged = written_by(client, standby, "--old-has-stopped")
            until(lambda: _role(standby) == "primary", "it is the primary")
            assert keys(standby, ConsistentRead=True) >= set(acknowledged)
            primary._process.wait(PATIENCE_S)
            assert primary._process.returncode == 1
            second = faradisc(
                "serve", "--port", "0", "--data-dir", tmp_path / "a", "--copy-to", place, *QUICK
            )
            assert second.returncode == 2 and "stop it first" in second.stderr
            assert standby.stop() == 0


def test_a_standby_follows_a_server_by_its_address(tmp_path: Path) -> None:
    """It reads the copy's objects from the primary, which is the only one that reaches them."""
    place = str(tmp_path / "bucket")
    primary = Server("--data-dir", str(tmp_path / "a"), "--copy-to", place, "--copy-lag", "0.2", *QUICK)
    with primary:
        refused = faradisc(
            "serve", "--port", "0", "--data-dir", tmp_path / "c", "--follow", primary.url, "--copy-takeover"
        )
        assert refused.returncode == 2 and "--copy-takeover is for" in refused.stderr
        client = http_client(primary.url)
        client.create_table(TableName="things", **schema("p:S"))
        client.put_item(TableName="things", Item=item(p="1"))
        until(lambda: copied(primary), "a snapshot is there")
        options = ("--follow", primary.url, "--copy-to", str(tmp_path / "other"), *QUICK)
        with Server("--data-dir", str(tmp_path / "b"), *options) as standby:
            client.put_item(TableName="things", Item=item(p="2"))
            until(lambda: keys(standby) == {"1", "2"}, "it keeps up")
            assert primary.stop() == 0
            until(lambda: page(standby)["fault"], "it notices")
            unsaid = faradisc("promote", "--url", standby.url)
            assert unsaid.returncode == 1 and "say so with --old-has-stopped" in unsaid.stderr
            assert faradisc("promote", "--url", standby.url, "--old-has-stopped").returncode == 0
            until(lambda: _role(standby) == "primary", "it is the primary")
            http_client(standby.url).put_item(TableName="things", Item=item(p="3"))
            until(lambda: copied(standby), "it has a copy of its own")
            assert standby.stop() == 0
    assert faradisc("check", "--copy", tmp_path / "other").returncode == 0
    nothing = faradisc("serve", "--port", "0", "--data-dir", tmp_path / "d", "--follow", "http://127.0.0.1:9")
    assert nothing.returncode == 2 and "http://127.0.0.1:9 cannot be used" in nothing.stderr


def test_a_primary_hands_over_to_a_standby_of_its_address(tmp_path: Path) -> None:
    """While it writes: nothing that it has acknowledged is lost, and it never answers again."""
    where, other = str(tmp_path / "bucket"), str(tmp_path / "other")
    primary = Server("--data-dir", str(tmp_path / "a"), "--copy-to", where, *QUICK)
    with primary:
        client = http_client(primary.url)
        client.create_table(TableName="things", **schema("p:S"))
        until(lambda: copied(primary), "a snapshot is there")
        options = ("--follow", primary.url, "--copy-to", other, *QUICK)
        with Server("--data-dir", str(tmp_path / "b"), *options) as standby:
            acknowledged = written_by(client, standby)
            until(lambda: _role(standby) == "primary", "it is the primary")
            assert keys(standby, ConsistentRead=True) >= set(acknowledged)
            http_client(standby.url).put_item(TableName="things", Item=item(p="after"))
            primary._process.wait(PATIENCE_S)
            assert primary._process.returncode == 1
            until(lambda: copied(standby), "it has a copy of its own")
            assert standby.stop() == 0
    for more in (("--copy-to", where), ("--follow", "http://127.0.0.1:9")):
        again = faradisc("serve", "--port", "0", "--data-dir", tmp_path / "a", *more, *QUICK)
        assert again.returncode == 2 and "were handed over to another server" in again.stderr
    assert faradisc("check", "--copy", where).returncode == 0
    assert faradisc("check", "--copy", other).returncode == 0


def written_by(client: Any, standby: Server, *options: str) -> list[str]:
    """Writes until a promotion of the standby ends that. Returns what was acknowledged."""
    acknowledged: list[str] = []

    def write() -> None:
        for number in range(100_000):
            try:
                client.put_item(TableName="things", Item=item(p=str(number)))
            except (ClientError, BotoCoreError):
                return
            acknowledged.append(str(number))

    writer = threading.Thread(target=write)
    writer.start()
    until(lambda: len(acknowledged) > 20, "it writes")
    promoted = faradisc("promote", "--url", standby.url, *options)
    assert promoted.returncode == 0, promoted.stderr
    writer.join()
    return acknowledged


def _round(path: Path, number: int, *, sync: bool, endpoint: str) -> None:
    """Writes until kill -9, loses the disk, restores: what was acknowledged is there, but the last moment."""
    chance = random.Random(number)
    place = f"s3://bucket/round{number}"
    options = ("--copy-to", place, "--s3-endpoint", endpoint, *QUICK, *(("--copy-sync",) if sync else ()))
    acknowledged: list[str] = []
    with Server("--data-dir", str(path / "a"), *options) as server:
        client = http_client(server.url)
        client.create_table(TableName="things", **schema("p:S"))
        until(lambda: copied(server), "a snapshot is there")

        def write(writer: int) -> None:
            own = http_client(server.url)
            for each in range(100_000):
                key = f"{writer}-{each}"
                try:
                    own.put_item(TableName="things", Item=item(p=key, v="x" * 200))
                except (ClientError, BotoCoreError):
                    return
                acknowledged.append(key)

        writers = [threading.Thread(target=write, args=(each,)) for each in range(3)]
        for each in writers:
            each.start()
        time.sleep(0.5 + chance.random() * 2)
        server.kill()
        for each in writers:
            each.join()
    shutil.rmtree(path / "a")
    assert faradisc("check", "--copy", place, "--s3-endpoint", endpoint).returncode == 0
    assert faradisc("restore-copy", place, path / "b", "--s3-endpoint", endpoint).returncode == 0
    assert faradisc("check", path / "b").returncode == 0
    with Server("--data-dir", str(path / "b"), *options) as server:
        found = keys(server)
        assert server.stop() == 0
    # How late an asynchronous copy may be is the simulation's to prove: this machine's clock proves nothing.
    if sync:
        assert [key for key in acknowledged if key not in found] == []
    for writer in range(3):  # of each writer, in order: no hole
        have = {int(key.partition("-")[2]) for key in found if key.startswith(f"{writer}-")}
        assert have == set(range(len(have)))


def test_a_round_of_kill_and_lost_disk(moto_s3: MotoS3, credentials: None, tmp_path: Path) -> None:
    _round(tmp_path, 0, sync=True, endpoint=moto_s3.url)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 101))
def test_rounds_of_kill_and_lost_disk(
    moto_s3: MotoS3, credentials: None, tmp_path: Path, number: int
) -> None:
    _round(tmp_path, number, sync=number % 2 == 0, endpoint=moto_s3.url)
