"""`python -m bench soak`: everything at once for some time, and whether memory and files stay flat.

One durable server and, at the same time: clients that put, update, delete, transact, batch, get, query and
scan; items that expire; a stream of both images that is always read to its end; a global index that is added
and removed; backups and restores; a table whose throughput is exceeded on purpose. Keys are drawn from a
fixed set, so the data keep their size, and growth is a leak.

Clients pause between requests, so that the server is not saturated and latencies are meaningful.
"""

import array
import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from bench import report, requests
from bench.servers import FARADISC, Program, Server
from bench.workloads import PLAIN_TABLE, Population, table_definition

PARTITIONS = 200
CLIENTS = 8
PAUSE_S = 0.005
"""Mean pause of a client between two requests."""
THROTTLED_TABLE = "soak-throttled"
INDEX = "soak-index"
RESTORED_TABLE = "soak-restored"
SAMPLE_S = 10.0
INDEX_EVERY_S = 20.0
BACKUP_EVERY_S = 15.0
EXPIRES_WITHIN_S = 60
GROWTH_MAX = 1.1
"""Largest ratio of the memory in the last third of the run to that in the third before."""
FILES_SLACK = 64
"""Largest growth in files; the number varies with the levels of the store."""
EXPECTED = {
    "ProvisionedThroughputExceededException",
    "TransactionCanceledException",
    "TransactionConflictException",
    "ConditionalCheckFailedException",
    "TrimmedDataAccessException",
    "ExpiredIteratorException",
}
"""Rejections that the load expects."""


class Rejected(Exception):
    """An answer that is not 200; its first argument is the error's name."""


class Peer:
    """A keep-alive connection that signs its requests."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """Raises Rejected; OSError and asyncio.IncompleteReadError when the connection is lost."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        service = "DynamoDBStreams_20120810" if operation in _STREAM_OPERATIONS else "DynamoDB_20120810"
        request = requests.sign(operation, body).replace(b"DynamoDB_20120810", service.encode(), 1)
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        answer = orjson.loads(await reader.readexactly(length) or b"{}")
        if head.split(b" ", 2)[1] != b"200":
            raise Rejected(str(answer.get("__type", head.split(b"\r\n")[0])).rpartition("#")[2], answer)
        return dict(answer)

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


_STREAM_OPERATIONS = frozenset({"DescribeStream", "GetShardIterator", "GetRecords"})


@dataclass(slots=True)
class Findings:
    """The measurements of the run."""

    latencies_ms: dict[str, "array.array[float]"] = field(default_factory=dict)
    rejections: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    memory_bytes: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Soak:
    server: Server
    deadline: float
    found: Findings = field(default_factory=Findings)
    population: Population = field(default_factory=lambda: Population(PARTITIONS * 100))

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.deadline

    async def timed(self, peer: Peer, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and records its latency or its error."""
        began = time.perf_counter()
        try:
            return await peer.ask(operation, body)
        except Rejected as rejection:
            name = str(rejection.args[0])
            (self.found.rejections if name in EXPECTED else self.found.problems)[f"{operation}: {name}"] += 1
            return {}
        finally:
            took_ms = (time.perf_counter() - began) * 1e3
            self.found.latencies_ms.setdefault(operation, array.array("d")).append(took_ms)

    async def until_over(self, pause_s: float) -> bool:
        """Pauses, but not beyond the end. Returns True while the run continues."""
        await asyncio.sleep(min(pause_s, max(0.0, self.deadline - time.monotonic())))
        return not self.over


async def _client(soak: Soak, number: int) -> None:
    chance = random.Random(number)
    peer = Peer(soak.server.port)
    operations = [_put, _put, _update, _delete, _transact, _batch, _get, _get, _get, _query, _scan]
    while await soak.until_over(chance.expovariate(1 / PAUSE_S)):
        await soak.timed(peer, *chance.choice(operations)(soak.population, chance))
    await peer.close()


def _item(population: Population, chance: random.Random, number: int) -> dict[str, Any]:
    item = population.item(number, generation=chance.randrange(1_000_000))
    if chance.random() < 0.3:
        item["until"] = {"N": str(int(time.time()) + chance.randrange(EXPIRES_WITHIN_S))}
    return item


def _put(population: Population, chance: random.Random) -> requests.Operation:
    item = _item(population, chance, chance.randrange(population.count))
    return "PutItem", {"TableName": PLAIN_TABLE, "Item": item}


def _update(population: Population, chance: random.Random) -> requests.Operation:
    return "UpdateItem", {
        "TableName": PLAIN_TABLE,
        "Key": population.key(chance.randrange(population.count)),
        "UpdateExpression": "SET #n = if_not_exists(#n, :zero) + :one, note = :note",
        "ExpressionAttributeNames": {"#n": "counter"},
        "ExpressionAttributeValues": {
            ":zero": {"N": "0"},
            ":one": {"N": "1"},
            ":note": {"S": "x" * chance.randrange(300)},
        },
    }


def _delete(population: Population, chance: random.Random) -> requests.Operation:
    return "DeleteItem", {"TableName": PLAIN_TABLE, "Key": population.key(chance.randrange(population.count))}


def _transact(population: Population, chance: random.Random) -> requests.Operation:
    numbers = chance.sample(range(population.count), 4)
    items = [_item(population, chance, number) for number in numbers]
    return "TransactWriteItems", {
        "TransactItems": [{"Put": {"TableName": PLAIN_TABLE, "Item": item}} for item in items],
        "ClientRequestToken": f"{chance.getrandbits(120):x}",
    }


def _batch(population: Population, chance: random.Random) -> requests.Operation:
    numbers = chance.sample(range(population.count), 10)
    puts = [{"PutRequest": {"Item": _item(population, chance, number)}} for number in numbers]
    return "BatchWriteItem", {"RequestItems": {PLAIN_TABLE: puts}}


def _get(population: Population, chance: random.Random) -> requests.Operation:
    key = population.key(chance.randrange(population.count))
    return "GetItem", {"TableName": PLAIN_TABLE, "Key": key}


def _query(population: Population, chance: random.Random) -> requests.Operation:
    return "Query", {
        "TableName": PLAIN_TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": population.partition(chance.randrange(PARTITIONS))},
    }


def _scan(population: Population, chance: random.Random) -> requests.Operation:
    start = population.key(chance.randrange(population.count))
    return "Scan", {"TableName": PLAIN_TABLE, "ExclusiveStartKey": start, "Limit": 100}


async def _throttle(soak: Soak) -> None:
    """Writes far more than the table is provisioned for."""
    peer, number = Peer(soak.server.port), 0
    while await soak.until_over(4 * PAUSE_S):
        number = (number + 1) % 1000
        item = {"pk": {"S": str(number)}, "sk": {"S": "x"}, "text": {"S": "x" * 3000}}
        await soak.timed(peer, "PutItem", {"TableName": THROTTLED_TABLE, "Item": item})
    await peer.close()


async def _follow_stream(soak: Soak) -> None:
    """Reads every shard to its end, then its children."""
    peer = Peer(soak.server.port)
    table = await peer.ask("DescribeTable", {"TableName": PLAIN_TABLE})
    arn = table["Table"]["LatestStreamArn"]
    iterators: dict[str, str | None] = {}
    while await soak.until_over(0.2):
        shards = (await peer.ask("DescribeStream", {"StreamArn": arn}))["StreamDescription"]["Shards"]
        for shard in shards:
            if shard["ShardId"] not in iterators:
                place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
                iterators[shard["ShardId"]] = (await peer.ask("GetShardIterator", place))["ShardIterator"]
        for shard_id, iterator in iterators.items():
            if iterator is not None:
                answer = await soak.timed(peer, "GetRecords", {"ShardIterator": iterator})
                soak.found.done["stream records read"] += len(answer.get("Records", ()))
                iterators[shard_id] = answer.get("NextShardIterator")
    await peer.close()


async def _change_indexes(soak: Soak) -> None:
    peer = Peer(soak.server.port)
    definition = {
        "IndexName": INDEX,
        "KeySchema": [
            {"AttributeName": "status", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }
    names = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "status")]
    while await soak.until_over(INDEX_EVERY_S):
        change: dict[str, Any] = {"GlobalSecondaryIndexUpdates": [{"Create": definition}]}
        await soak.timed(
            peer, "UpdateTable", {"TableName": PLAIN_TABLE, "AttributeDefinitions": names, **change}
        )
        await _wait(peer, PLAIN_TABLE, lambda table: _index_states(table) == ["ACTIVE"])
        change = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": INDEX}}]}
        await soak.timed(peer, "UpdateTable", {"TableName": PLAIN_TABLE, **change})
        await _wait(peer, PLAIN_TABLE, lambda table: not _index_states(table))
        soak.found.done["indexes added and removed"] += 1
    await peer.close()


def _index_states(table: dict[str, Any]) -> list[str]:
    return [str(index["IndexStatus"]) for index in table.get("GlobalSecondaryIndexes", ())]


async def _wait(peer: Peer, table: str, condition: Callable[[dict[str, Any]], bool] = lambda _: True) -> None:
    """Waits until the table is ACTIVE and its description is as expected."""
    while True:
        shown = (await peer.ask("DescribeTable", {"TableName": table}))["Table"]
        if shown["TableStatus"] == "ACTIVE" and condition(shown):
            return
        await asyncio.sleep(0.1)


async def _back_up(soak: Soak) -> None:
    """Makes a backup, restores a table from it, and deletes both."""
    peer, number = Peer(soak.server.port), 0
    while await soak.until_over(BACKUP_EVERY_S):
        number += 1
        made = await soak.timed(
            peer, "CreateBackup", {"TableName": PLAIN_TABLE, "BackupName": f"soak-{number}"}
        )
        if not made:
            continue
        backup = {"BackupArn": made["BackupDetails"]["BackupArn"]}
        while not await _available(peer, backup):  # noqa: ASYNC110 -- a server has no event to wait for
            await asyncio.sleep(0.1)
        restore = {"TargetTableName": RESTORED_TABLE, **backup}
        if await soak.timed(peer, "RestoreTableFromBackup", restore):
            await _wait(peer, RESTORED_TABLE)
            await soak.timed(peer, "DeleteTable", {"TableName": RESTORED_TABLE})
        await soak.timed(peer, "DeleteBackup", backup)
        soak.found.done["backups made, restored and deleted"] += 1
    await peer.close()


async def _available(peer: Peer, backup: dict[str, Any]) -> bool:
    shown = (await peer.ask("DescribeBackup", backup))["BackupDescription"]
    return bool(shown["BackupDetails"]["BackupStatus"] == "AVAILABLE")


async def _sample(soak: Soak, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    while await soak.until_over(SAMPLE_S):
        soak.found.memory_bytes.append(soak.server.memory_bytes())
        soak.found.files.append(soak.server.open_files())
        asked = sum(map(len, soak.found.latencies_ms.values()))
        say(
            f"{time.monotonic() - began:,.0f} s: {asked:,} requests, "
            f"{soak.found.memory_bytes[-1] / 2**20:.0f} MB, {soak.found.files[-1]} files, "
            f"{sum(soak.found.problems.values())} problems"
        )


async def _prepare(port: int) -> None:
    peer = Peer(port)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    await peer.ask("CreateTable", {**table_definition(PLAIN_TABLE), "StreamSpecification": stream})
    narrow = {
        **table_definition(PLAIN_TABLE),
        "TableName": THROTTLED_TABLE,
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    }
    await peer.ask("CreateTable", narrow)
    for table in (PLAIN_TABLE, THROTTLED_TABLE):
        await _wait(peer, table)
    expiry = {"Enabled": True, "AttributeName": "until"}
    await peer.ask("UpdateTimeToLive", {"TableName": PLAIN_TABLE, "TimeToLiveSpecification": expiry})
    for operation, body in Population(PARTITIONS * 100).load(PLAIN_TABLE):
        await peer.ask(operation, body)
    await peer.close()


async def _drive(soak: Soak, say: Callable[[str], None]) -> None:
    work: list[Awaitable[None]] = [_client(soak, number) for number in range(CLIENTS)]
    work += [_throttle(soak), _follow_stream(soak), _change_indexes(soak), _back_up(soak), _sample(soak, say)]
    await asyncio.gather(*work)


def run(minutes: float, directory: Path, say: Callable[[str], None]) -> tuple[list[report.Table], bool]:
    """Runs the load. Returns the tables of the report, and whether all targets were met.

    Raises Unavailable; OSError and asyncio.IncompleteReadError if the server ends.
    """
    program = Program(
        name=FARADISC.name,
        executable=FARADISC.executable,
        command=lambda port, data: [
            *FARADISC.command(port, data),
            *("--throughput-tables", f"{THROTTLED_TABLE}=aws", "--shard-lifetime-s", "60"),
        ],
        version=FARADISC.version,
        durability=FARADISC.durability,
    )
    with Server(program, directory / "soak", core=None) as server:
        asyncio.run(_prepare(server.port))
        soak = Soak(server, time.monotonic() + minutes * 60)
        asyncio.run(_drive(soak, say))
    return _tables(soak.found, minutes)


def _tables(found: Findings, minutes: float) -> tuple[list[report.Table], bool]:
    latencies = [("operation", "", "requests", "p50 ms", "p99 ms", "slowest ms")]
    for operation, taken in sorted(found.latencies_ms.items()):
        cuts = statistics.quantiles(taken, n=100, method="inclusive") if len(taken) > 1 else [taken[0]] * 99
        latencies.append(
            (operation, "", f"{len(taken):,}", f"{cuts[49]:.1f}", f"{cuts[98]:.1f}", f"{max(taken):.0f}")
        )
    third = max(1, len(found.memory_bytes) // 3)
    memory = max(found.memory_bytes[-third:]) / max(found.memory_bytes[-2 * third : -third] or [1])
    files = max(found.files[-third:]) - max(found.files[-2 * third : -third] or [0])
    verdicts = [
        ("what", "verdict", "measured", "target"),
        (
            "memory of the last third, times the third before",
            report.verdict(memory <= GROWTH_MAX),
            f"{memory:.2f}",
            f"{GROWTH_MAX:g}",
        ),
        ("memory at the end", report.ABSENT, f"{found.memory_bytes[-1] / 2**20:.0f} MB", report.ABSENT),
        (
            "files of the last third, less the third before",
            report.verdict(files <= FILES_SLACK),
            f"{files:+d}",
            str(FILES_SLACK),
        ),
        ("files at the end", report.ABSENT, str(found.files[-1]), report.ABSENT),
        (
            "unexpected errors",
            report.verdict(not found.problems),
            str(sum(found.problems.values())),
            "0",
        ),
    ]
    seen = [("what", "", "times"), *((what, "", f"{times:,}") for what, times in sorted(found.done.items()))]
    seen += [(what, "", f"{times:,}") for what, times in sorted(found.rejections.items())]
    seen += [(f"PROBLEM {what}", "", f"{times:,}") for what, times in sorted(found.problems.items())]
    tables = [
        report.Table(f"{minutes:g} minutes of everything at once", latencies),
        report.Table("What it left behind", verdicts),
        report.Table("What was done and rejected meanwhile", seen),
    ]
    return tables, not found.problems and memory <= GROWTH_MAX and files <= FILES_SLACK
