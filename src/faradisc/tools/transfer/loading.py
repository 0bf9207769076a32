"""Files into a table.

Into a data directory that nobody serves, a new table is imported by the server's own job: fast, and there is
no table before all of it is there. Anywhere else, items go through BatchWriteItem, after every file has been
read to its end once, so a damaged one changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from faradisc.engine.exchange.checking import canonical_size, reason_of
from faradisc.engine.exchange.json_lines import Malformed
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.masking import Masker
from faradisc.engine.exchange.object_storage import DirectoryStorage
from faradisc.engine.exchange.reading import KeyAttributes, ObjectReader, Record
from faradisc.tools.transfer.progress import Progress
from faradisc.tools.transfer.putting import BATCH_ITEMS, Gone, Putter, WriteRequest, attributes_of
from faradisc.tools.transfer.sources import Input, InputFile
from faradisc.tools.transfer.tables import describe, key_names_of, make
from faradisc.tools.transfer.wire import Directory, Endpoint, Refused

PENDING_MAX = 4
"""Batches that a lane may be behind."""
_IMPORTABLE = frozenset(
    {"TableName", "AttributeDefinitions", "KeySchema", "BillingMode", "ProvisionedThroughput"}
    | {"OnDemandThroughput", "GlobalSecondaryIndexes", "VectorIndexes"}
)


@dataclass(slots=True)
class Outcome:
    items: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    """Of single records: file, number, reason; the first ERRORS_MAX of them."""
    error_count: int = 0


ERRORS_MAX = 10_000


def locations_for(given: Input, masker: Masker, logs: Path) -> Locations:
    """What a Directory needs so that `import_new` can read the files."""
    root = (given.export or given.files[0].path).absolute().parent
    return Locations(DirectoryStorage(root.parent), logs, masker.masked if masker else None)


def can_import_new(target: Endpoint, given: Input, definition: dict[str, Any] | None, table: str) -> bool:
    """Whether the server's own import will do."""
    if not isinstance(target, Directory) or definition is None or given.changes:
        return False
    if not _IMPORTABLE.issuperset(definition):
        return False
    parents = {each.path.absolute().parent for each in given.files}
    if given.export is None and (len(given.files) > 1 or len(parents) > 1 or _has_namesakes(given.files[0])):
        return False
    if given.export is not None and parents != {given.export.absolute() / "data"}:
        return False
    return not _exists(target, table)


def _has_namesakes(file: InputFile) -> bool:
    """Whether other files begin with the file's name: a prefix would take them too."""
    return len([each for each in file.path.parent.iterdir() if each.name.startswith(file.path.name)]) > 1


def _exists(target: Endpoint, table: str) -> bool:
    try:
        describe(target, table)
    except Refused:
        return False
    return True


def import_new(target: Directory, given: Input, definition: dict[str, Any], progress: Progress) -> Outcome:
    """ImportTable, step by step. Raises: Gone when it fails; then there is no table."""
    root = (given.export or given.files[0].path).absolute().parent
    prefix = f"{given.export.name}/data/" if given.export is not None else given.files[0].path.name
    request: dict[str, Any] = {
        "S3BucketSource": {"S3Bucket": root.name, "S3KeyPrefix": prefix},
        "InputFormat": given.source.format,
        "InputCompressionType": given.source.compression,
        "TableCreationParameters": definition,
    }
    if given.source.format == "CSV":
        csv: dict[str, Any] = {"Delimiter": given.source.delimiter}
        if given.source.headers is not None:
            csv["HeaderList"] = list(given.source.headers)
        request["InputFormatOptions"] = {"Csv": csv}
    begun = target.call("ImportTable", request)["ImportTableDescription"]
    shown = begun
    while shown["ImportStatus"] == "IN_PROGRESS":
        target.work()
        before, shown = shown, target.call("DescribeImport", {"ImportArn": begun["ImportArn"]})
        shown = shown["ImportTableDescription"]
        read = shown["ProcessedSizeBytes"] - before["ProcessedSizeBytes"]
        progress.add(shown["ProcessedItemCount"] - before["ProcessedItemCount"], read, read)
    if shown["ImportStatus"] != "COMPLETED":
        raise Gone(f"{shown['FailureCode']}: {shown['FailureMessage']}")
    errors = _logged(target, begun["ImportArn"])
    return Outcome(shown["ImportedItemCount"], errors, shown["ErrorCount"])


def _logged(target: Directory, arn: str) -> list[dict[str, Any]]:
    locations = target.locations
    assert locations is not None
    path = locations.logs / "aws-dynamodb" / "imports" / arn.rpartition("/")[2] / "error"
    if not path.exists():
        return []
    found = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return [
        {
            "file": each["itemS3Pointer"]["key"],
            "record": each["itemS3Pointer"]["itemIndex"],
            "reason": each["errorMessages"][0],
        }
        for each in found
    ]


def put_all(
    target: Endpoint,
    given: Input,
    table: str,
    definition: dict[str, Any] | None,
    *,
    masker: Masker,
    progress: Progress,
) -> Outcome:
    """Every item of the files by BatchWriteItem, in order for items of one key.

    Raises: Damaged before anything was written; Gone, Refused, Unreachable, BadRules.
    """
    given.verify()
    if definition is not None:
        make(target, definition)
    described = describe(target, table)
    names = key_names_of(described)
    masker.check_keys(names)
    types = {each["AttributeName"]: each["AttributeType"] for each in described["AttributeDefinitions"]}
    keys = KeyAttributes(types, frozenset(types) - frozenset(names))
    outcome = Outcome()
    with ExitStack() as pools:
        lanes = _Lanes(target, table, names, pools, outcome)
        for file in given.files:
            with file.path.open("rb") as opened:
                reading = ObjectReader(opened, given.source, keys)
                before = 0
                for number, record in enumerate(reading.records):
                    request = _request(record, masker, names)
                    if isinstance(request, str):
                        lanes.refuse(str(file.path), number, request)
                    else:
                        lanes.put(request, str(file.path), number)
                    progress.add(1, reading.bytes_read - before, reading.bytes_read - before)
                    before = reading.bytes_read
        lanes.finish()
    outcome.items = progress.items - outcome.error_count
    return outcome


def _request(record: Record, masker: Masker, key_names: tuple[str, ...]) -> WriteRequest | str:
    """The write that a record asks for, or why there is none."""
    if isinstance(record, Malformed):
        return record.reason
    item = record.get("Item", record.get("NewImage"))
    if item is None:
        key = record.get("Keys")
        if key is None:
            return "The record has no Item"
        if type(key) is not dict or canonical_size(key) < 0:
            return reason_of(key)
        if set(key) != set(key_names):
            return "The provided key element does not match the schema"
        masked = masker.masked(key) if masker else key
        return {"DeleteRequest": {"Key": masked}}
    if type(item) is not dict or canonical_size(item) < 0:
        return reason_of(item)
    missing = [name for name in key_names if name not in item]
    if missing:
        return f"One or more parameter values were invalid: Missing the key {missing[0]} in the item"
    return {"PutRequest": {"Item": masker.masked(item) if masker else item}}


class _Lanes:
    """Batches by key: writes of one key go through one lane, and so in order."""

    def __init__(
        self, target: Endpoint, table: str, names: tuple[str, ...], pools: ExitStack, outcome: Outcome
    ) -> None:
        self._names = names
        self._outcome = outcome
        self._putter = Putter(target, table, names)
        count = target.threads
        self._pools = [pools.enter_context(ThreadPoolExecutor(1)) for _ in range(count)]
        self._buffers: list[list[tuple[WriteRequest, str, int]]] = [[] for _ in range(count)]
        self._pending: list[deque[tuple[Future[Any], list[tuple[WriteRequest, str, int]]]]] = [
            deque() for _ in range(count)
        ]

    def put(self, request: WriteRequest, file: str, number: int) -> None:
        attributes = attributes_of(request)
        mark = orjson.dumps([attributes[name] for name in self._names])
        lane = sum(mark) % len(self._pools)
        buffer = self._buffers[lane]
        buffer.append((request, file, number))
        if len(buffer) == BATCH_ITEMS:
            self._send(lane)

    def _send(self, lane: int) -> None:
        buffer, self._buffers[lane] = self._buffers[lane], []
        pending = self._pending[lane]
        pending.append((self._pools[lane].submit(self._putter.put, [each[0] for each in buffer]), buffer))
        while len(pending) > PENDING_MAX:
            self._settle(*pending.popleft())

    def _settle(self, sent: Future[Any], buffer: list[tuple[WriteRequest, str, int]]) -> None:
        locations = {id(request): (file, number) for request, file, number in buffer}
        for request, reason in sent.result():
            self.refuse(*locations.get(id(request), ("", -1)), reason)

    def refuse(self, file: str, number: int, reason: str) -> None:
        self._outcome.error_count += 1
        if len(self._outcome.errors) < ERRORS_MAX:
            self._outcome.errors.append({"file": file, "record": number, "reason": reason})

    def finish(self) -> None:
        for lane in range(len(self._pools)):
            if self._buffers[lane]:
                self._send(lane)
        for each in self._iterate():
            self._settle(*each)

    def _iterate(self) -> Iterator[tuple[Future[Any], list[tuple[WriteRequest, str, int]]]]:
        for pending in self._pending:
            while pending:
                yield pending.popleft()
