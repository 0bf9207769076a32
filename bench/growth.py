"""What `python -m bench --scale` measures beside requests: jobs over all items of a table.

The table is loaded by an import. Then the server starts again, adds an index and makes a backup, and
`faradisc check` reads everything. Compared is the processor time per item, which other programs on the
machine hardly change; of a start it is the whole processor time.
"""

import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from isal import igzip

from bench import answers, report
from bench.rounds import Say, Subject
from bench.servers import FARADISC
from bench.workloads import PLAIN_TABLE, Population, table_definition
from faradisc.engine.exchange.locations import directories
from faradisc.tools.transfer.endpoints import Directory

BUCKET = "bucket"
ITEMS_PER_FILE = 1_000_000
NEW_INDEX = "by-status"
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Work:
    """One job on one size of the table."""

    title: str
    seconds: float
    cpu_s: float
    memory_bytes: int
    """Resident memory at its end; of a check the highest."""


def fill(directory: Path, population: Population, tables: Iterable[str]) -> Work:
    """Imports the population into each table of a data directory that no server has open."""
    bucket = directory / "s3" / BUCKET
    bucket.mkdir(parents=True)
    for first in range(0, population.count, ITEMS_PER_FILE):
        last = min(first + ITEMS_PER_FILE, population.count)
        with igzip.open(bucket / f"{first:012d}.json.gz", "wb", compresslevel=0) as out:
            out.writelines(_lines(population, first, last))
    began, cpu_s = time.perf_counter(), time.process_time()
    database = Directory(directory / "data", directories(directory / "s3", directory / "logs"))
    try:
        for table in tables:
            request = {
                "S3BucketSource": {"S3Bucket": BUCKET},
                "InputFormat": "DYNAMODB_JSON",
                "InputCompressionType": "GZIP",
                "TableCreationParameters": table_definition(table),
            }
            arn = database.call("ImportTable", request)["ImportTableDescription"]["ImportArn"]
            while database.work():
                pass
            done = database.call("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]
            assert done["ImportedItemCount"] == population.count, done
    finally:
        database.close()
    for each in bucket.iterdir():
        each.unlink()
    return Work("import", time.perf_counter() - began, time.process_time() - cpu_s, 0)


_tails: dict[int, bytes] = {}


def _lines(population: Population, first: int, last: int) -> Iterable[bytes]:
    """Yields the items as lines of an import. Items whose contents are the same are encoded once."""
    for number in range(first, last):
        place = population.mark(number)
        tail = _tails.get(place)
        if tail is None:
            item = population.item(number)
            del item["pk"], item["sk"]
            tail = _tails[place] = orjson.dumps(item)[1:]
        yield b'{"Item":%b,%b}\n' % (orjson.dumps(population.key(number))[:-1], tail)


def work(subject: Subject, say: Say) -> list[Work]:
    """Starts the server again, adds an index, makes a backup, and checks the data directory.

    The server is stopped afterwards.
    """
    server = subject.server
    server.stop()
    server.start()
    done = [Work("start", server.start_s, server.cpu_seconds(), server.memory_bytes())]
    with answers.Asker(server.port) as ask:
        for title, job in (("index build", build_index), ("backup", back_up)):
            began, cpu_s = time.perf_counter(), server.cpu_seconds()
            job(ask)
            seconds, cpu_s = time.perf_counter() - began, server.cpu_seconds() - cpu_s
            done.append(Work(title, seconds, cpu_s, server.memory_bytes()))
    server.stop()
    began = time.perf_counter()
    command = [str(FARADISC.executable), "check", str(server.directory / "data")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"faradisc check ended with {process.returncode}"
    seconds = time.perf_counter() - began
    done.append(Work("check", seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024))
    for each in done:
        say(f"{subject.label}: {each.title}: {each.seconds:.2f} s, {each.cpu_s:.2f} s of processor time")
    return done


def build_index(ask: answers.Asker) -> None:
    """Adds a global index to the table, and returns when it is ACTIVE."""
    keys = (("name", "HASH"), ("sk", "RANGE"))
    index = {
        "IndexName": NEW_INDEX,
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    types = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "name")]
    _change(ask, {"AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": [{"Create": index}]})


def remove_index(ask: answers.Asker) -> None:
    _change(ask, {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": NEW_INDEX}}]})


def _change(ask: answers.Asker, change: dict[str, Any]) -> None:
    ask("UpdateTable", {"TableName": PLAIN_TABLE, **change})
    while True:
        table = ask("DescribeTable", {"TableName": PLAIN_TABLE})["Table"]
        states = {each["IndexStatus"] for each in table.get("GlobalSecondaryIndexes", ())}
        if table["TableStatus"] == "ACTIVE" and states <= {"ACTIVE"}:
            return
        time.sleep(LOOK_S)


def back_up(ask: answers.Asker) -> None:
    """Makes a backup of the table, and deletes it when it is complete."""
    request = {"TableName": PLAIN_TABLE, "BackupName": "bench"}
    arn = ask("CreateBackup", request)["BackupDetails"]["BackupArn"]
    details: dict[str, Any] = {"BackupStatus": "CREATING"}
    while details["BackupStatus"] != "AVAILABLE":
        time.sleep(LOOK_S)
        details = ask("DescribeBackup", {"BackupArn": arn})["BackupDescription"]["BackupDetails"]
    ask("DeleteBackup", {"BackupArn": arn})


def table(small: Sequence[Work], large: Sequence[Work], sizes: tuple[int, int]) -> report.Table:
    """Compares the jobs on two sizes; by their processor time per item."""
    rows = [("job", "verdict", *(f"{size:,} items" for size in sizes), "times slower", "MB", "MB")]
    for one, other in zip(small, large, strict=True):
        if one.title == "start":
            shown = [f"{each.seconds:.2f} s" for each in (one, other)]
            slower = other.cpu_s / one.cpu_s
        else:
            costs = [each.cpu_s / size * 1e6 for each, size in zip((one, other), sizes, strict=True)]
            shown = [
                f"{each.seconds:.1f} s, {cost:.1f} us" for each, cost in zip((one, other), costs, strict=True)
            ]
            slower = costs[1] / costs[0]
        memory = (f"{each.memory_bytes / 2**20:.0f}" if each.memory_bytes else "-" for each in (one, other))
        rows.append(
            (one.title, report.verdict(slower <= report.SCALE_RATIO_MAX), *shown, f"{slower:.2f}", *memory)
        )
    return report.Table("Jobs on two sizes: time, and processor time per item", rows)
