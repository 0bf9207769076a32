"""Runs exports, imports and bulk puts, also over crashes.

A request has a token and is repeated after a crash until it is answered. The task then continues without the
client and is checked when it has ended:

    export      its files have exactly the content of the table at its moment
    import      its table has the items among the records, each with its indexes; or it does not exist
    bulk put    each record is put once, or reported (bulk.py)
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import md5
from itertools import chain, count
from typing import Any

import orjson

from faradisc.clock import ManualClock
from fixtures.faulty_store import FaultyStore
from simulation.actors import pause
from simulation.auditor import IMPORTED, Auditor
from simulation.buckets import BUCKET, MemoryBuckets
from simulation.bulk import BulkPut, Record, content_of
from simulation.consumers import Call
from simulation.drawing import TABLES, Drawing
from simulation.switches import table_request
from simulation.writes import Item, Key, key_of

LOOKS_MAX = 3_000
"""At a task that does not end, before it is called stuck."""
_OWNER = "arn:aws:dynamodb:us-east-1:000000000000:table/"
_TROUBLE = "S3Error"
"""FailureCode of a task whose bucket did not answer."""


@dataclass(slots=True)
class Errand:
    """One task, from its first request."""

    operation: str
    request: dict[str, Any]
    describe: tuple[str, str]
    """The operation that reports it, and its member for the ARN."""
    judge: Callable[[dict[str, Any], FaultyStore], str | None]
    """What is wrong with how it has ended."""
    may_end: frozenset[str]
    """FailureCodes with which it may end."""
    arn: str | None = None
    """None until it was acknowledged."""


class Courier:
    def __init__(
        self,
        auditor: Auditor,
        drawing: Drawing,
        buckets: MemoryBuckets,
        *,
        clock: ManualClock,
        chance: random.Random,
        errands: Sequence[str],
    ) -> None:
        """errands: the kinds of tasks to draw from: exports, imports, bulk puts."""
        self._auditor = auditor
        self._clock = clock
        self._chance = chance
        self._drawing = drawing
        self._buckets = buckets
        makers = {"export": self._export, "import": self._import, "bulk": self._bulk_put}
        self._makers = [makers[each] for each in errands]
        self._numbers = count(1)
        self._errand: Errand | None = None
        self.is_resting = False
        """It goes on no further errand."""
        self._leftover: str | None = None
        """A table that was imported and compared; it is deleted, again after a crash."""

    async def run(self, call: Call, store: FaultyStore) -> None:
        """Runs until it is stopped. Raises StorageError when the store fails."""
        if self._errand is not None:
            await self._see_through(call, store, self._errand)
        while not self.is_resting:
            if self._leftover is not None:
                await call("DeleteTable", {"TableName": self._leftover})
                self._leftover = None
            await pause(self._chance, 20)
            self._errand = self._chance.choice(self._makers)(store)
            await self._see_through(call, store, self._errand)

    # --- Every errand ----------------------------------------------------------------------------

    async def _see_through(self, call: Call, store: FaultyStore, errand: Errand) -> None:
        if errand.arn is None and not await self._begin(call, errand):
            self._errand = None
            return
        operation, member = errand.describe
        for _ in range(LOOKS_MAX):
            code, answer = await call(operation, {member: errand.arn})
            if code:
                self._auditor.fail(f"{errand.arn} was acknowledged, and now {code}")
                break
            (shown,) = answer.values()
            if self._has_ended(shown):
                await self._end(call, store, errand, shown)
                break
            if errand.operation == "StartBulkPutItems" and self._chance.random() < 0.02:
                await call("CancelBulkOperation", {member: errand.arn})
            await pause(self._chance, 25)
        else:
            self._auditor.fail(f"{errand.arn} does not come to an end")
        self._errand = None

    async def _begin(self, call: Call, errand: Errand) -> bool:
        code, answer = await call(errand.operation, errand.request)
        if code in ("PointInTimeRecoveryUnavailableException", "InvalidExportTimeException"):
            return False
        if code in ("ResourceInUseException", "LimitExceededException", "ImportConflictException"):
            return False
        if code:
            self._auditor.fail(f"{errand.operation} was answered {code} {answer}")
            return False
        (shown,) = answer.values()
        errand.arn = shown[errand.describe[1]]
        return True

    @staticmethod
    def _status(shown: dict[str, Any]) -> str:
        return next(
            str(value) for name, value in shown.items() if name.endswith("Status") and name != "TableStatus"
        )

    def _has_ended(self, shown: dict[str, Any]) -> bool:
        return self._status(shown) not in ("IN_PROGRESS", "CANCELLING")

    async def _end(self, call: Call, store: FaultyStore, errand: Errand, shown: dict[str, Any]) -> None:
        status = self._status(shown)
        self._auditor.seen[f"{errand.operation} {status}"] += 1
        if status in ("FAILED", "CANCELLED"):
            code = shown.get("FailureCode")
            if code not in errand.may_end | {_TROUBLE, "Cancelled"}:
                self._auditor.fail(f"{errand.operation} has failed: {shown}")
        wrong = errand.judge(shown, store)
        if wrong is not None:
            self._auditor.fail(f"{errand.arn}: {wrong}")
        if errand.operation == "ImportTable":
            complete = status == "COMPLETED" or shown.get("FailureCode") == "ItemValidationError"
            await self._judge_import(call, errand, complete=complete)

    # --- Exports ---------------------------------------------------------------------------------

    def _export(self, store: FaultyStore) -> Errand:
        table, low = self._chance.choice(TABLES), store.synced_version
        request: dict[str, Any] = {
            "TableArn": _OWNER + table,
            "S3Bucket": BUCKET,
            "ClientToken": f"export-{next(self._numbers)}",
        }
        past_s: int | None = None
        if self._chance.random() < 0.3:
            past_s = self._clock.now_ns() // 1_000_000_000 - self._chance.randint(0, 3)
            request["ExportTime"] = past_s
        # What was not on disk when the export was asked for may be in it, what was must be.
        window = [low, low]

        def judge(shown: dict[str, Any], store: FaultyStore) -> str | None:
            if shown["ExportStatus"] != "COMPLETED":
                return None
            found = self._exported(shown)
            if isinstance(found, str):
                return found
            if past_s is not None:
                window[:] = [self._auditor.version_at((past_s + each) * 1_000_000_000) for each in (-1, 1)]
            else:
                window[1] = self._auditor.version_at(round(shown["ExportTime"] * 1e9) + 2_000_000)
            return self._compare(table, window, found)

        may_end = frozenset(("PointInTimeRecoveryUnavailable",))
        return Errand("ExportTableToPointInTime", request, ("DescribeExport", "ExportArn"), judge, may_end)

    def _exported(self, shown: dict[str, Any]) -> dict[Key, Item] | str:
        """Returns the items in an export's files, or what is wrong with the files."""
        directory = f"AWSDynamoDB/{shown['ExportArn'].rpartition('/')[2]}"
        objects = self._buckets.objects_by_key
        found: dict[Key, Item] = {}
        lines = 0
        for line in objects[f"{directory}/manifest-files.json"].splitlines():
            file = orjson.loads(line)
            content = objects[file["dataFileS3Key"]]
            if file["etag"] != md5(content, usedforsecurity=False).hexdigest():
                return f"{file} is not the file of its manifest"
            items = [orjson.loads(each)["Item"] for each in gzip.decompress(content).splitlines()]
            if len(items) != file["itemCount"]:
                return f"{file} has {len(items)} items"
            lines += len(items)
            found.update((key_of(item), item) for item in items)
        if not lines == len(found) == shown["ItemCount"]:
            return f"{lines} lines of {len(found)} items, reported are {shown['ItemCount']}"
        return found

    def _compare(self, table: str, window: list[int], found: dict[Key, Item]) -> str | None:
        model = self._auditor.model
        places = [(table, key) for key in model.keys(table)]
        for version in model.moments(places, *window):
            if model.table_at(version, table) == found:
                return None
        return f"its files hold {found}, which {table} never did between versions {window}"

    # --- Imports ---------------------------------------------------------------------------------

    def _records(self, table: str, *, conditions: bool) -> list[Record]:
        now_s = self._clock.now_ns() // 1_000_000_000
        return [
            Record.bad(self._chance)
            if self._chance.random() < 0.1
            else Record.of(self._drawing.put(table, now_s, conditions=conditions))
            for _ in range(self._chance.randint(1, 12))
        ]

    def _upload(self, prefix: str, records: list[Record], *, damaged: bool = False) -> list[list[Record]]:
        """Uploads records as one or two compressed objects, and returns the records of each. A damaged one
        lacks its end."""
        middle = self._chance.randint(0, len(records))
        for name, part in (("a", records[:middle]), ("b", records[middle:])):
            content = gzip.compress(content_of(part), mtime=0)
            if part:
                self._buckets.objects_by_key[prefix + name] = content[:-9] if damaged else content
        return [records[:middle], records[middle:]]

    def _import(self, store: FaultyStore) -> Errand:
        number = next(self._numbers)
        source = self._chance.choice(TABLES)
        records = self._records(source, conditions=False)
        damaged = self._chance.random() < 0.2
        uploaded = [part for part in self._upload(f"import-{number}/", records, damaged=damaged) if part]
        read = list(chain.from_iterable(map(_read_by_import, uploaded)))
        # The end of an object is not reached behind a record that ends it.
        damaged = damaged and any(not part[-1].ends_its_object for part in map(_read_by_import, uploaded))
        request = {
            "ClientToken": f"import-{number}",
            "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": f"import-{number}/"},
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
            "TableCreationParameters": {**table_request(source), "TableName": f"{IMPORTED}{number}"},
        }
        items = [record.write.become(None) for record in read if record.write is not None]

        def judge(shown: dict[str, Any], store: FaultyStore) -> str | None:
            invalid = shown.get("FailureCode") == "ItemValidationError"
            if shown["ImportStatus"] != "COMPLETED" and not invalid:
                return None
            if invalid != (len(items) < len(read)):
                return f"{len(read)} records with {len(items)} items end as {shown['ImportStatus']}"
            if damaged:
                return "an object that is cut off was imported"
            counts = [shown[f"{which}Count"] for which in ("ProcessedItem", "ImportedItem", "Error")]
            if counts != [len(read), len(items), len(read) - len(items)]:
                return f"{len(read)} records with {len(items)} items are counted {counts}"
            return None

        may_end = frozenset(("InputDamaged",) if damaged else ("ItemValidationError",))
        return Errand("ImportTable", request, ("DescribeImport", "ImportArn"), judge, may_end)

    async def _judge_import(self, call: Call, errand: Errand, *, complete: bool) -> None:
        """Checks that the table exists with all items, or does not exist."""
        named = {"TableName": errand.request["TableCreationParameters"]["TableName"]}
        code, answer = await call("DescribeTable", named)
        if not complete:
            if not code and answer["Table"]["TableStatus"] != "DELETING":
                self._auditor.fail(f"a failed import has left a table: {answer}")
            return
        found: dict[Key, Item] = {}
        body: dict[str, Any] | None = named
        while body is not None and not code:
            code, answer = await call("Scan", {**body, "Limit": 7})
            found.update((key_of(item), item) for item in answer.get("Items", ()))
            last = answer.get("LastEvaluatedKey")
            body = None if last is None else {**named, "ExclusiveStartKey": last}
        prefix = errand.request["S3BucketSource"]["S3KeyPrefix"]
        wanted = self._uploaded(prefix)
        if code or found != wanted:
            self._auditor.fail(f"an import of {wanted} made {code or found}")
        self._leftover = named["TableName"]

    def _uploaded(self, prefix: str) -> dict[Key, Item]:
        """Returns the items that an import reads of the objects of a prefix; of one key the last."""
        found: dict[Key, Item] = {}
        for key, content in sorted(self._buckets.objects_by_key.items()):
            # Without its checksum: an object may lack its end behind the last record that is read.
            lines = zlib.decompressobj(31).decompress(content).splitlines() if key.startswith(prefix) else []
            for record in _read_by_import([Record(line, None) for line in lines]):
                line = record.line
                if b'"w"' in line:
                    item = orjson.loads(line)["Item"]
                    found[key_of(item)] = item
        return found

    # --- Bulk puts -------------------------------------------------------------------------------

    def _bulk_put(self, store: FaultyStore) -> Errand:
        number = next(self._numbers)
        table = self._chance.choice(TABLES)
        records = self._records(table, conditions=True)
        self._upload(f"bulk-{number}/", records)
        request = {
            "ClientToken": f"bulk-{number}",
            "TableName": table,
            "InputS3Configuration": {
                "S3Bucket": BUCKET,
                "S3KeyPrefix": f"bulk-{number}/",
                "InputFormat": "DYNAMODB_JSON",
                "InputCompressionType": "GZIP",
            },
            "OutputS3Configuration": {
                "S3Bucket": BUCKET,
                "S3KeyPrefix": "reported",
                "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
            },
        }
        operation = BulkPut(table, f"bulk-{number}", records, store.synced_version)
        self._auditor.bulk.add(operation)

        def judge(shown: dict[str, Any], store: FaultyStore) -> str | None:
            if not shown["BulkOperationStatus"].startswith("COMPLETED"):
                return None
            reported = {
                kind: self._described(shown, kind, records) for kind in ("errors", "condition_check_failures")
            }
            return operation.judge(self._auditor.model, store.version, shown, reported)

        describe = ("DescribeBulkOperation", "BulkOperationArn")
        return Errand("StartBulkPutItems", request, describe, judge, frozenset())

    def _described(self, shown: dict[str, Any], kind: str, records: list[Record]) -> list[int]:
        """Returns the positions of the records that an output of a bulk put reports."""
        name = f"reported/{shown['BulkOperationArn'].rpartition('/')[2]}/{kind}.jsonl"
        prefix = shown["InputS3Configuration"]["S3KeyPrefix"]
        objects = self._buckets.objects_by_key
        before = len(gzip.decompress(objects.get(prefix + "a", gzip.compress(b""))).splitlines())
        positions = []
        for line in objects.get(name, b"").splitlines():
            pointer = orjson.loads(line)["itemS3Pointer"]
            positions.append(pointer["itemIndex"] + (before if pointer["key"].endswith("/b") else 0))
        return sorted(positions)


def _read_by_import(records: list[Record]) -> list[Record]:
    """Returns what an import reads of an object: up to a line that is no JSON."""
    ends = (number for number, record in enumerate(records, 1) if record.ends_its_object)
    return records[: next(ends, len(records))]
