"""Imports files into a table.

A new table in a data directory without a server is imported by the server's job ImportTable: fast, and the
table becomes visible when it is complete. Otherwise items are written by BatchWriteItem, after every file has
been read to its end once, so a damaged file changes nothing.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson

from faradisc.engine.exchange.checking import canonical_size, reason_of
from faradisc.engine.exchange.importing import INVALID_ITEMS
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.object_reader import KeyAttributes, ObjectReader, Record
from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.formats.json_lines import Malformed
from faradisc.engine.formats.masking import Masker
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.engine.tables.keys import KEY_MISMATCH, missing_key
from faradisc.errors import RequestRejected
from faradisc.records import dataclass, field
from faradisc.tools.readers.inputs import Input, InputFile
from faradisc.tools.readers.items import read_items
from faradisc.tools.readers.seed import Line, SeedError
from faradisc.tools.transfer.endpoints import Directory, Endpoint
from faradisc.tools.transfer.progress import Progress
from faradisc.tools.transfer.putting import BATCH_ITEMS, Putter, TableUnusable, WriteRequest, attributes_of
from faradisc.tools.transfer.tables import create_missing, describe, key_names_of
from faradisc.tools.transfer.turns import KeyTurns

PENDING_MAX = 4
"""Unanswered batches of one queue."""
_IMPORTABLE = frozenset(
    {"TableName", "AttributeDefinitions", "KeySchema", "BillingMode", "ProvisionedThroughput"}
    | {"OnDemandThroughput", "GlobalSecondaryIndexes", "VectorIndexes"}
)


@dataclass(slots=True)
class ImportOutcome:
    items: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    """File, number and reason of rejected records; the first ERRORS_MAX of them."""
    error_count: int = 0


ERRORS_MAX = 10_000


def locations_for(given: Input, masker: Masker, logs: Path) -> Locations:
    """Returns locations with which `import_new` can read the files."""
    root = (given.export or given.files[0].path).absolute().parent
    return Locations(DirectoryStorage(root.parent), logs, masker.masked if masker else None)


def can_import_new(target: Endpoint, given: Input, definition: dict[str, Any] | None, table: str) -> bool:
    """Returns whether ImportTable can import the input."""
    if not isinstance(target, Directory) or definition is None or given.changes or given.is_documents:
        return False
    if not _IMPORTABLE.issuperset(definition):
        return False
    parents = {each.path.absolute().parent for each in given.files}
    if given.export is None and (len(given.files) > 1 or len(parents) > 1 or _has_namesakes(given.files[0])):
        return False
    if given.export is not None and parents != {given.export.absolute() / "data"}:
        return False
    try:
        describe(target, table)
    except RequestRejected:
        return True
    return False


def _has_namesakes(file: InputFile) -> bool:
    """Returns whether the names of other files begin with the file's name: its prefix would select them
    too."""
    return len([each for each in file.path.parent.iterdir() if each.name.startswith(file.path.name)]) > 1


def import_new(
    target: Directory, given: Input, definition: dict[str, Any], progress: Progress
) -> ImportOutcome:
    """Runs ImportTable step by step. Raises TableUnusable when it fails; then there is no table."""
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
    shown = target.call("ImportTable", request)["ImportTableDescription"]
    arn = shown["ImportArn"]
    while shown["ImportStatus"] == "IN_PROGRESS":
        target.work()
        before, answer = shown, target.call("DescribeImport", {"ImportArn": arn})
        shown = answer["ImportTableDescription"]
        read = shown["ProcessedSizeBytes"] - before["ProcessedSizeBytes"]
        progress.add(shown["ProcessedItemCount"] - before["ProcessedItemCount"], read, read)
    if shown["ImportStatus"] != "COMPLETED" and shown["FailureCode"] != INVALID_ITEMS:
        raise TableUnusable(f"{shown['FailureCode']}: {shown['FailureMessage']}")
    return ImportOutcome(shown["ImportedItemCount"], _errors_of(target, arn), shown["ErrorCount"])


def _errors_of(target: Directory, arn: str) -> list[dict[str, Any]]:
    """Returns the error log of an import."""
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
) -> ImportOutcome:
    """Writes the items of the files by BatchWriteItem; items with one key keep their order.

    Raises Damaged before anything is written; TableUnusable, RequestRejected, Unreachable, BadRules.
    """
    given.verify()
    if given.is_documents:
        _check_documents(given, _types(definition or _described(target, table)), table)
    if definition is not None:
        create_missing(target, definition)
    described = _described(target, table)
    names = key_names_of(described)
    masker.check_keys(names)
    types = _types(described)
    keys = KeyAttributes(types, frozenset(types) - frozenset(names))
    outcome = ImportOutcome()
    with ExitStack() as pools:
        queues = _Queues(target, table, names, pools, outcome)
        for file in given.files:
            if given.is_documents:
                for line in read_items(file.path, types, table):
                    if isinstance(line, Line):
                        found = _request({"Item": line.item}, masker, names)
                        if isinstance(found, str):
                            queues.reject(str(file.path), line.number, found)
                        else:
                            queues.put(found, str(file.path), line.number)
                        progress.add(1, 0, 0)
                continue
            with file.path.open("rb") as opened:
                reader = ObjectReader(opened, given.source, keys)
                before = 0
                for number, record in enumerate(reader.records):
                    request = _request(record, masker, names)
                    if isinstance(request, str):
                        queues.reject(str(file.path), number, request)
                    else:
                        queues.put(request, str(file.path), number)
                    progress.add(1, reader.bytes_read - before, reader.bytes_read - before)
                    before = reader.bytes_read
        queues.finish()
    outcome.items = progress.items - outcome.error_count
    return outcome


def _types(described: dict[str, Any]) -> dict[str, str]:
    return {each["AttributeName"]: each["AttributeType"] for each in described["AttributeDefinitions"]}


def _described(target: Endpoint, table: str) -> dict[str, Any]:
    """Raises TableUnusable when there is no such table."""
    try:
        return describe(target, table)
    except RequestRejected as error:
        if error.code != "ResourceNotFoundException":
            raise
        text = f"There is no table {table}; --key and --sort-key, or --definition, make one."
        raise TableUnusable(text) from None


def _check_documents(given: Input, types: dict[str, str], table: str) -> None:
    """Reads documents of items to their end. Raises InputDamaged with file and line of the first error."""
    for file in given.files:
        for each in read_items(file.path, types, table):
            if isinstance(each, SeedError):
                raise InputDamaged(f"{file.path}:{each.line or 1}: {each.text}")


def _request(record: Record, masker: Masker, key_names: tuple[str, ...]) -> WriteRequest | str:
    """Returns the write request for a record, or the reason why there is none."""
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
            return KEY_MISMATCH
        masked = masker.masked(key) if masker else key
        return {"DeleteRequest": {"Key": masked}}
    if type(item) is not dict or canonical_size(item) < 0:
        return reason_of(item)
    missing = [name for name in key_names if name not in item]
    if missing:
        return str(missing_key(missing[0]).message)
    return {"PutRequest": {"Item": masker.masked(item) if masker else item}}


_Write = tuple[WriteRequest, str, int]
"""A request, and the file and number of its record."""


class _Queues:
    """Queues of batches, one for each thread. All writes of one key are in one queue, which keeps their
    order; partition keys take turns."""

    def __init__(
        self, target: Endpoint, table: str, names: tuple[str, ...], pools: ExitStack, outcome: ImportOutcome
    ) -> None:
        self._names = names
        self._turns: KeyTurns[_Write] = KeyTurns()
        self._outcome = outcome
        self._putter = Putter(target, table, names)
        count = target.threads
        self._pools = [pools.enter_context(ThreadPoolExecutor(1)) for _ in range(count)]
        self._buffers: list[list[_Write]] = [[] for _ in range(count)]
        self._pending: list[deque[tuple[Future[Any], list[_Write]]]] = [deque() for _ in range(count)]

    def put(self, request: WriteRequest, file: str, number: int) -> None:
        attributes = attributes_of(request)
        group = orjson.dumps(attributes[self._names[0]])
        for due in self._turns.add(group, (request, file, number), len(orjson.dumps(attributes))):
            self._queue(due)

    def _queue(self, write: _Write) -> None:
        attributes = attributes_of(write[0])
        queue = sum(orjson.dumps([attributes[name] for name in self._names])) % len(self._pools)
        buffer = self._buffers[queue]
        buffer.append(write)
        if len(buffer) == BATCH_ITEMS:
            self._send(queue)

    def _send(self, queue: int) -> None:
        buffer, self._buffers[queue] = self._buffers[queue], []
        pending = self._pending[queue]
        pending.append((self._pools[queue].submit(self._putter.put, [each[0] for each in buffer]), buffer))
        while len(pending) > PENDING_MAX:
            self._collect(*pending.popleft())

    def _collect(self, sent: Future[Any], buffer: list[_Write]) -> None:
        """Waits for a batch and records its rejected requests."""
        locations = {id(request): (file, number) for request, file, number in buffer}
        for request, reason in sent.result():
            self.reject(*locations.get(id(request), ("", -1)), reason)

    def reject(self, file: str, number: int, reason: str) -> None:
        self._outcome.error_count += 1
        if len(self._outcome.errors) < ERRORS_MAX:
            self._outcome.errors.append({"file": file, "record": number, "reason": reason})

    def finish(self) -> None:
        for write in self._turns.rest():
            self._queue(write)
        for queue, buffer in enumerate(self._buffers):
            if buffer:
                self._send(queue)
        for pending in self._pending:
            while pending:
                self._collect(*pending.popleft())
