"""Repeated kill -9 under exports, bulk puts and concurrent writes: nothing is lost.

What it proves: after any number of kills an export has the table's state at its time, or the changes between
two times, with every acknowledged write before and no later one, and its files match the checksums of its
manifests; each record of a bulk put is put once, in order, and a cancelled one reports its exact progress.
Why a process: no code of the server runs after SIGKILL.
"""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from botocore.exceptions import ClientError

from faradisc.clock import ManualClock
from faradisc.engine.formats.manifests import data_files
from faradisc.local import LocalDatabase
from faradisc.tools.readers.inputs import find_input
from fixtures.clients import http_client
from fixtures.exchanging import BUCKET
from fixtures.killed import Worker, check_whole, work_until_killed
from fixtures.schemas import everything, item, schema
from fixtures.served import Server

OLD = {f"{n:05}": item(p=f"{n:05}", n=n, text="x" * (n % 400)) for n in range(1_800)}
Item = dict[str, Any]
Images = dict[str, tuple[Item | None, Item | None]]
"""Old and new image, by key."""


@dataclass(frozen=True, slots=True)
class Past:
    """What had happened to the table before the first server was started."""

    from_s: int
    to_s: int
    changes: Images
    """Between these two moments."""
    now: dict[str, Item]


def _prepare(data_dir: Path, root: Path) -> Past:
    """An hour of a table's life in a moment: incremental exports need a window of fifteen minutes."""
    clock = ManualClock(int(time.time()) - 3600)
    with LocalDatabase(data_dir, s3_root=root, clock=clock) as database:
        client = database.client()
        client.create_table(TableName="table", **schema("p:S", gsi={"by-n": ("n:N", "", "KEYS_ONLY")}))
        recovery = {"PointInTimeRecoveryEnabled": True}
        client.update_continuous_backups(TableName="table", PointInTimeRecoverySpecification=recovery)
        now = dict(OLD)
        _apply(client, now)
        clock.advance(600)
        from_s = clock.now_ns() // 10**9
        clock.advance(600)
        changed: dict[str, Item | None] = {key: {**now[key], **item(n=-1)} for key in list(now)[::3]}
        changed |= {f"new{n}": item(p=f"new{n}", n=n) for n in range(300)}
        changed |= dict.fromkeys(list(now)[::7])
        _apply(client, changed)
        before, now = now, _after(now, changed)
        clock.advance(600)
        to_s = clock.now_ns() // 10**9
        clock.advance(600)
        later: dict[str, Item | None] = {key: {**now[key], **item(n=-2)} for key in list(now)[::11]}
        _apply(client, later)
        images = {key: (before.get(key), now.get(key)) for key in changed}
        return Past(from_s, to_s, images, _after(now, later))


def _apply(client: Any, writes: dict[str, Item] | dict[str, Item | None]) -> None:
    requests = [
        {"PutRequest": {"Item": new}} if new is not None else {"DeleteRequest": {"Key": item(p=key)}}
        for key, new in writes.items()
    ]
    for first in range(0, len(requests), 25):
        client.batch_write_item(RequestItems={"table": requests[first : first + 25]})


def _after(items: dict[str, Item], writes: dict[str, Item | None]) -> dict[str, Item]:
    return {key: image for key, image in (items | writes).items() if image is not None}


# --- Exports -------------------------------------------------------------------------------------


class Writer(Worker):
    """Puts items, each once, into the table that is exported."""

    def __init__(self, number: int, seed: int) -> None:
        super().__init__(number, seed)
        self.sent: list[str] = []
        self.acknowledged: list[str] = []

    def act(self) -> None:
        key = f"live{self.number}.{len(self.sent)}"
        self.sent.append(key)
        self.call("put_item", TableName="table", Item=item(p=key, n=len(self.sent)))
        self.acknowledged.append(key)

    def check(self, client: Any, items: dict[str, Item]) -> int:
        return sum(key not in items for key in self.acknowledged)


class Exporter(Worker):
    """One export after the other, full and incremental in turn; each is read again when it has ended."""

    def __init__(self, seed: int, bucket: Path, past: Past, writers: Sequence[Writer]) -> None:
        super().__init__(0, seed)
        self.ended = 0
        self.lost = 0
        self.is_under_way = False
        self._bucket = bucket
        self._past = past
        self._writers = writers
        self._arn: str | None = None
        self._had: set[str] | None = None
        """Acknowledged before the export was asked for."""
        self._may_have: set[str] = set()
        """Sent before it was answered."""

    @property
    def is_full(self) -> bool:
        return self.ended % 2 == 0

    def act(self) -> None:
        if self._arn is None:
            self._begin()
            return
        shown = self.call("describe_export", ExportArn=self._arn)["ExportDescription"]
        if shown["ExportStatus"] == "IN_PROGRESS":
            return
        assert shown["ExportStatus"] == "COMPLETED", shown
        self._read_again(shown)
        self.ended += 1
        self._arn = self._had = None
        self.is_under_way = False

    def _begin(self) -> None:
        """With a token: after a lost answer it is the same export."""
        self.is_under_way = True
        if self._had is None:
            self._had = {key for writer in self._writers for key in list(writer.acknowledged)}
        kind: dict[str, Any] = {"ExportType": "FULL_EXPORT"}
        if not self.is_full:
            window = {"ExportFromTime": self._past.from_s, "ExportToTime": self._past.to_s}
            kind = {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": window}
        table = self.call("describe_table", TableName="table")["Table"]["TableArn"]
        begun = self.call(
            "export_table_to_point_in_time",
            TableArn=table,
            S3Bucket=BUCKET,
            ClientToken=f"export{self.ended}",
            **kind,
        )
        self._may_have = {key for writer in self._writers for key in list(writer.sent)}
        self._arn = begun["ExportDescription"]["ExportArn"]

    def _read_again(self, shown: dict[str, Any]) -> None:
        """Hold the files against the checksums of their manifests, and the lines against what was written."""
        directory = self._bucket / Path(shown["ExportManifest"]).parent
        given = find_input(directory)
        given.verify()
        listed = data_files((directory / "manifest-files.json").read_bytes(), "")
        content = [gzip.decompress((self._bucket / each.key).read_bytes()).splitlines() for each in listed]
        assert [len(lines) for lines in content] == [each.items for each in listed]
        lines = [orjson.loads(line) for each in content for line in each]
        assert len(lines) == shown["ItemCount"]
        if self.is_full:
            self._compare_items([line["Item"] for line in lines])
        else:
            self._compare_changes(lines)

    def _compare_items(self, found: list[Item]) -> None:
        items = {each["p"]["S"]: each for each in found}
        assert len(items) == len(found), "an item stands in it twice"
        live = {key for key in items if key.startswith("live")}
        assert self._had is not None
        self.lost += len(self._had - live) + len(self._past.now.keys() - items.keys())
        assert live <= self._may_have, "it holds what was written after its moment"
        assert {key: image for key, image in items.items() if key not in live} == self._past.now

    def _compare_changes(self, lines: list[dict[str, Any]]) -> None:
        found = {line["Keys"]["p"]["S"]: (line.get("OldImage"), line.get("NewImage")) for line in lines}
        assert len(found) == len(lines), "an item stands in it twice"
        self.lost += len(self._past.changes.keys() - found.keys())
        assert found == self._past.changes


# --- Bulk puts -----------------------------------------------------------------------------------


class BulkPutter(Worker):
    """One bulk put after the other, each into a table of its own; every second one is cancelled."""

    def __init__(self, seed: int, bucket: Path) -> None:
        super().__init__(0, seed)
        self.ended = 0
        self.cancelled = 0
        self.lost = 0
        self.is_under_way = False
        self._bucket = bucket
        self._arn: str | None = None
        self._looks = 0
        """Before it is cancelled."""
        self._is_compared = False
        chance = random.Random(seed)
        self._records = [_record(chance, n) for n in range(2_400)]
        for number in range(3):
            path = bucket / f"in/{number}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"\n".join(self._records[number * 800 : (number + 1) * 800]))

    @property
    def name(self) -> str:
        return f"bulk{self.ended}"

    def act(self) -> None:
        if self._arn is None:
            self._begin()
            return
        shown = self.call("describe_bulk_operation", BulkOperationArn=self._arn)["BulkOperationDescription"]
        if shown["BulkOperationStatus"] == "IN_PROGRESS" and self.ended % 2 == 0:
            self._looks -= 1
            if self._looks < 0:
                self._cancel()
        elif shown["BulkOperationStatus"] not in ("IN_PROGRESS", "CANCELLING"):
            if not self._is_compared:
                self._compare(shown)
                self._is_compared = True
            self._drop()
            self.ended += 1
            self._arn = None
            self._is_compared = self.is_under_way = False

    def _begin(self) -> None:
        self.is_under_way = True
        indexes = {"by-n": ("n:N", "", "ALL")}
        try:
            self.call("create_table", TableName=self.name, **schema("p:S", gsi=indexes))
        except ClientError as error:  # it was made in an earlier life
            assert error.response["Error"]["Code"] == "ResourceInUseException", error
        outputs = ["ERROR", "CONDITION_CHECK_FAILURE"]
        begun = self.call(
            "start_bulk_put_items",
            TableName=self.name,
            ClientToken=f"bulk{self.ended}",
            InputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
            OutputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": outputs},
        )
        self._arn = begun["BulkOperationDescription"]["BulkOperationArn"]
        self._looks = self.random.randrange(6)

    def _cancel(self) -> None:
        try:
            self.call("cancel_bulk_operation", BulkOperationArn=self._arn)
        except ClientError as error:  # it has just ended
            assert error.response["Error"]["Code"] == "ValidationException", error

    def _compare(self, shown: dict[str, Any]) -> None:
        """The table and the outputs are those of the first so many records."""
        processed = shown["ProcessedItemCount"]
        if shown["BulkOperationStatus"] == "CANCELLED":
            self.cancelled += 1
        else:
            assert (shown["BulkOperationStatus"], processed) == ("COMPLETED_WITH_ERRORS", 2_400), shown
            assert shown["ProcessedInputBytes"] == shown["TotalInputBytes"]
        wanted: dict[str, Item] = {}
        again = bad = 0
        for record in self._records[:processed]:
            if record == b"bad":
                bad += 1
                continue
            put = orjson.loads(record)["Item"]
            again += put["p"]["S"] in wanted
            wanted.setdefault(put["p"]["S"], put)
        scanned = everything(lambda **more: self.call("scan", **more), TableName=self.name)
        found = {each["p"]["S"]: each for each in scanned}
        self.lost += len(wanted.keys() - found.keys())
        assert found == wanted
        assert shown["FailedItemCount"] == bad
        reported = [self._reported(name) for name in ("errors", "condition_check_failures")]
        assert [len(each) for each in reported] == [bad, again]
        assert all(len(set(each)) == len(each) for each in reported), "a record is reported twice"

    def _drop(self) -> None:
        try:
            self.call("delete_table", TableName=self.name)
        except ClientError as error:  # it was deleted in an earlier life
            assert error.response["Error"]["Code"] == "ResourceNotFoundException", error

    def _reported(self, name: str) -> list[bytes]:
        assert self._arn is not None
        path = self._bucket / "out" / self._arn.rpartition("/")[2] / f"{name}.jsonl"
        return path.read_bytes().splitlines() if path.exists() else []


def _record(chance: random.Random, n: int) -> bytes:
    """One line of an object: an item that must not be there yet, now and then one that is, or no item."""
    if n % 97 == 50:
        return b"bad"
    key = chance.randrange(n) if n % 31 == 30 else n
    put = item(p=f"{key:05}", n=n % 13, text="x" * 800)
    return orjson.dumps({"Item": put, "ConditionExpression": "attribute_not_exists(p)"})


# --- Rounds --------------------------------------------------------------------------------------


def _kill_rounds(data_dir: Path, tmp_path: Path, rounds: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    root = tmp_path / "buckets"
    bucket = root / BUCKET
    bucket.mkdir(parents=True)
    past = _prepare(data_dir, root)
    writers = [Writer(number, seed) for number in range(2)]
    exporter, putter = Exporter(seed, bucket, past, writers), BulkPutter(seed, bucket)
    workers = [*writers, exporter, putter]
    options = ("--data-dir", str(data_dir), "--transition-ms", "0", "--s3-root", str(root))
    lost = acknowledged = 0
    for round_ in range(rounds + 1):
        with Server(*options) as server:
            client = http_client(server.url)
            found = {each["p"]["S"]: each for each in everything(client.scan, TableName="table")}
            lost += sum(worker.check(client, found) for worker in workers)
            client.close()
            if round_ < rounds:
                acknowledged += work_until_killed(server, workers, chance.randint(5, 300))
            else:
                for worker in (exporter, putter):
                    worker.work(server.url, lambda: worker.ended < 2 or worker.is_under_way)  # noqa: B023
        if round_ % 10 == 9 or round_ == rounds:
            check_whole(data_dir, root)
    lost += exporter.lost + putter.lost
    done = f"{exporter.ended} exports, {putter.ended} bulk puts of which {putter.cancelled} were cancelled"
    print(f"{rounds} kills, {acknowledged} answers, {done}, {lost} lost")
    assert lost == 0
    assert acknowledged >= 5 * rounds
    assert not list(bucket.glob(".draft-*"))


@pytest.mark.slow
def test_exports_and_bulk_puts_survive_four_kills(data_dir: Path, tmp_path: Path) -> None:
    _kill_rounds(data_dir, tmp_path, rounds=4, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_exports_and_bulk_puts_survive_hundreds_of_kills(data_dir: Path, tmp_path: Path, seed: int) -> None:
    """Forty kills for each of six seeds."""
    _kill_rounds(data_dir, tmp_path, rounds=40, seed=seed)
