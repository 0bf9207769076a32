"""ExportTableToPointInTime's job: writes a table as of a moment, or its changes, into files of a bucket.

History does not change, so an export reads page by page from a cursor (engine/backups/history.py) while the
table is in use. A data file contains items of one slot. It is stored when the slot ends or the file is large,
and the cursor is committed then; after a crash an incomplete file is written again. The manifests are written
last: an export without them is incomplete.

The members of an item's line in an incremental export (new-features.md section 3, and the developer guide's
table, as recalled):

    written      NEW_IMAGE: Keys, NewImage       NEW_AND_OLD_IMAGES: Keys, NewImage, OldImage if there was one
    deleted      NEW_IMAGE: Keys                 NEW_AND_OLD_IMAGES: Keys, OldImage
    created and deleted between the two moments  no line
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from posixpath import join
from typing import Any

import orjson

from faradisc.engine.backups.history import Cursor, ItemAt, ItemChange, page_at, page_between
from faradisc.engine.derived.history import history_of
from faradisc.engine.exchange.filtering import ItemFilter, bind_filter
from faradisc.engine.exchange.sealed_objects import SealedWriter
from faradisc.engine.exchange.task_store import Task, TaskFailed, TaskStore
from faradisc.engine.formats import ion_text
from faradisc.engine.formats.compression import GzipWriter
from faradisc.engine.formats.json_lines import item_line
from faradisc.engine.formats.manifests import (
    FILES,
    FULL_VERSION,
    INCREMENTAL_VERSION,
    ROOT,
    STARTED,
    SUMMARY,
    DataFile,
    data_file_key,
    data_file_name,
    export_directory,
    put_manifest,
)
from faradisc.engine.objects.api import BucketError, Draft, ObjectStorage, access_of
from faradisc.engine.sealing.sealer import Sealer
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import DAY_NS
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException
from faradisc.model.codec import item_record
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.engine.exchange")

FILE_BYTES = 128 * 1024 * 1024
"""Content of a data file after which it is stored and the next one started."""
PAGES_PER_STEP = 2
"""A page has about 200 items or 256 KB."""
_MICRO = 1000


class DataFileWriter:
    """A data file while it is written."""

    def __init__(self, draft: Draft, name: str, sealer: Sealer | None = None) -> None:
        """sealer: of an encrypted table, if the object is to be sealed."""
        self.draft = draft
        self.name = name
        self._sealed = None if sealer is None else SealedWriter(draft, sealer, name)
        self.items = 0
        self.content_bytes = 0
        self._gzip = GzipWriter(self._sealed or draft)

    def write(self, lines: list[bytes]) -> None:
        content = b"".join(lines)
        self._gzip.write(content)
        self.items += len(lines)
        self.content_bytes += len(content)

    def finish(self) -> str:
        """Ends the file. Returns its MD5 in base64."""
        self._gzip.finish()
        if self._sealed is not None:
            self._sealed.finish()
        return self.draft.md5


class ExportRun:
    """One export in this process."""

    def __init__(
        self, task: Task, table: Table, storage: ObjectStorage, tasks: TaskStore, sealer: Sealer | None
    ) -> None:
        """sealer: of an encrypted table; it seals the objects in directories, unless the request asks for
        AES256, which leaves it to them."""
        self.task = task
        own = not storage.encrypts and task.shown.get("S3SseAlgorithm") is None
        self._sealer = sealer if own else None
        self.shown = task.shown
        self.progress = task.progress
        self._tasks = tasks
        self._storage = storage.opened(access_of(self.shown))
        self.bucket: str = self.shown["S3Bucket"]
        self.directory = export_directory(self.shown.get("S3Prefix"), task.id)
        specification = self.shown.get("FilterSpecification")
        self._filter = bind_filter(specification, table.key) if specification is not None else None
        self._lines = _ion_lines if self.shown["ExportFormat"] == "ION" else _json_lines
        cursor = self.progress.get("cursor", [0, ""])
        self._cursor: Cursor | None = Cursor(*cursor) if cursor is not None else None
        self._file: DataFileWriter | None = None
        self._items = 0
        self._bytes = 0

    @property
    def started(self) -> bool:
        return bool(self.progress.get("started"))

    @property
    def read_all(self) -> bool:
        return self._cursor is None and self._file is None

    async def start(self) -> None:
        """Writes the `_started` object, which proves that the bucket is writable. Raises BucketError."""
        await self._storage.put(self.bucket, join(self.directory, STARTED), b"")
        self.progress["started"] = True

    async def pages(self, store: Store, table: Table) -> None:
        """Writes the items of the next pages. Raises BucketError, OSError."""
        for _ in range(PAGES_PER_STEP):
            if self._cursor is None:
                return
            await self._page(store, table, self._cursor)

    async def _page(self, store: Store, table: Table, cursor: Cursor) -> None:
        file = self._file or self._open()
        if self.shown["ExportType"] == "FULL_EXPORT":
            items, following = await page_at(store, table, self.progress["to_ns"], cursor)
            self._bytes += sum(item_record.size_of(each.record) for each in items)
            lines = self._lines(items, self._filter)
        else:
            # The window includes its start and excludes its end; ranges of the history do the opposite.
            window = self.progress["from_ns"] - 1, self.progress["to_ns"] - 1
            changes, following = await page_between(store, table, *window, cursor)
            self._bytes += sum(item_record.size_of(image) for each in changes for image in each[1:3] if image)
            view = self.shown["IncrementalExportSpecification"]["ExportViewType"]
            ion = self.shown["ExportFormat"] == "ION"
            lines = _change_lines(changes, table, self._filter, with_old=view != "NEW_IMAGE", ion=ion)
        file.write(lines)
        self._items += len(lines)
        slot_ends = following is None or following.slot != cursor.slot
        self._cursor = following
        if slot_ends or file.content_bytes >= FILE_BYTES:
            await self._store_file(file)

    def _open(self) -> DataFileWriter:
        name = _draft_name(self.task)
        self._file = DataFileWriter(self._storage.draft(self.bucket, name), name, self._sealer)
        return self._file

    async def _store_file(self, file: DataFileWriter) -> None:
        full = self.shown["ExportType"] == "FULL_EXPORT"
        directory = self.directory if full else join(self.shown.get("S3Prefix") or "", ROOT)
        key = data_file_key(directory, file.name, self.shown["ExportFormat"])
        digest = file.finish()
        etag = await self._storage.store(self.bucket, key, file.draft)
        self._file = None
        self.progress.setdefault("files", []).append(asdict(DataFile(key, file.items, digest, etag)))
        self.progress["cursor"] = list(self._cursor) if self._cursor is not None else None
        self.shown["ItemCount"] = self.shown.get("ItemCount", 0) + self._items
        self.shown["BilledSizeBytes"] = self.shown.get("BilledSizeBytes", 0) + self._bytes
        self._items = self._bytes = 0
        await self._tasks.save(self.task)

    async def write_manifests(self, end_ns: int) -> None:
        files = b"".join(DataFile(**each).line() for each in self.progress.get("files", ()))
        await put_manifest(self._storage, self.bucket, join(self.directory, FILES), files)
        summary = join(self.directory, SUMMARY)
        await put_manifest(self._storage, self.bucket, summary, orjson.dumps(self._summary(end_ns)))
        self.shown["ExportManifest"] = summary

    def _summary(self, end_ns: int) -> dict[str, Any]:
        shown = self.shown
        full = shown["ExportType"] == "FULL_EXPORT"
        if full:
            times = {"exportTime": moment_text(self.progress["to_ns"])}
        else:
            times = {
                "exportFromTime": moment_text(self.progress["from_ns"]),
                "exportToTime": moment_text(self.progress["to_ns"]),
            }
        view = {} if full else {"outputView": shown["IncrementalExportSpecification"]["ExportViewType"]}
        return {
            "version": FULL_VERSION if full else INCREMENTAL_VERSION,
            "exportArn": self.task.arn,
            "startTime": moment_text(self.task.started_ns),
            "endTime": moment_text(end_ns),
            "tableArn": self.task.table_arn,
            "tableId": shown["TableId"],
            **times,
            "s3Bucket": self.bucket,
            "s3Prefix": shown.get("S3Prefix"),
            "s3SseAlgorithm": shown.get("S3SseAlgorithm", "AES256"),
            "s3SseKmsKeyId": shown.get("S3SseKmsKeyId"),
            "manifestFilesS3Key": join(self.directory, FILES),
            "billedSizeBytes": shown.get("BilledSizeBytes", 0),
            "itemCount": shown.get("ItemCount", 0),
            "outputFormat": shown["ExportFormat"],
            **view,
            "exportType": shown["ExportType"],
        }

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(BucketError):
                self._storage.discard(file.draft)


def _draft_name(task: Task) -> str:
    """Returns the name of the next data file; the same after a crash, so that its draft is overwritten."""
    return data_file_name(f"{task.arn} {len(task.progress.get('files', ()))}")


def moment_text(moment_ns: int) -> str:
    """Returns a moment in the form 2026-11-21T20:15:00.000Z."""
    moment = datetime.fromtimestamp(moment_ns // 1_000_000 / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment_ns // 1_000_000 % 1000:03d}Z"


# --- Lines ---------------------------------------------------------------------------------------


def _json_lines(items: list[ItemAt], wanted: ItemFilter | None) -> list[bytes]:
    if wanted is None:
        return [item_line(each.record[item_record.HEADER_BYTES :]) for each in items]
    found = [item for each in items if wanted.matches(item := item_record.decode(each.record))]
    return [item_line(orjson.dumps(wanted.projected(item), option=orjson.OPT_SORT_KEYS)) for item in found]


def _ion_lines(items: list[ItemAt], wanted: ItemFilter | None) -> list[bytes]:
    found = [item_record.decode(each.record) for each in items]
    if wanted is not None:
        found = [wanted.projected(item) for item in found if wanted.matches(item)]
    return [ion_text.item_line(item) for item in found]


def _change_lines(
    changes: list[ItemChange], table: Table, wanted: ItemFilter | None, *, with_old: bool, ion: bool
) -> list[bytes]:
    lines = []
    for change in changes:
        newest = change.new if change.new is not None else change.old
        if newest is None:
            continue
        item = item_record.decode(newest)
        keys = table.key.key_of(item)
        images = {"NewImage": change.new, "OldImage": change.old if with_old else None}
        items = {name: item_record.decode(image) for name, image in images.items() if image is not None}
        if wanted is not None:
            # The filter tests the old image of a deleted item, so that matching deletions are exported.
            if not wanted.matches(item):
                continue
            items = {name: wanted.projected(image) for name, image in items.items()}
        micros = str(change.written_ns // _MICRO)
        if ion:
            parts = {"Keys": ion_text.struct(keys)}
            parts["Metadata"] = f"{{WriteTimestampMicros:{ion_text.decimal(micros)}}}"
            parts |= {name: ion_text.struct(item) for name, item in items.items()}
            lines.append(ion_text.change_line(parts))
        else:
            metadata = {"WriteTimestampMicros": {"N": micros}}
            document = {"Metadata": metadata, "Keys": keys, **items}
            lines.append(orjson.dumps(document) + b"\n")
    return lines


# --- The job -------------------------------------------------------------------------------------


class Exporting:
    """The exports of one database, one after another."""

    def __init__(self, store: Store, catalog: Catalog, tasks: TaskStore, storage: ObjectStorage) -> None:
        self._store = store
        self._catalog = catalog
        self._tasks = tasks
        self._storage = storage
        self._run: ExportRun | None = None

    async def step(self, task: Task) -> None:
        """Does one bounded step of an export."""
        table = self._table_of(task)
        run = self._run
        if run is None or run.task is not task:
            self.close()
            sealers, sealing = self._catalog.sealers, table.state.sealing
            sealer = (
                sealers.of_table(table.state.table_id) if sealing is not None and sealing.enabled else None
            )
            if sealer is not None:
                await sealers.ready(sealer)
            run = self._run = ExportRun(task, table, self._storage, self._tasks, sealer)
        if not run.started:
            await run.start()
        elif not run.read_all:
            await run.pages(self._store, table)
        else:
            now_ns = self._catalog.moments.now_ns()
            await run.write_manifests(now_ns)
            self._run = None
            task.progress.clear()
            await self._tasks.end(task, "COMPLETED")
            log.info("export %s: %d items", task.arn, task.shown.get("ItemCount", 0))

    def _table_of(self, task: Task) -> Table:
        """Raises TaskFailed."""
        try:
            table = self._catalog.tables.for_control(task.table_arn, "", "")
        except ResourceNotFoundException:
            raise TaskFailed("TableNotFound", "The table was deleted during the export") from None
        if table.state.table_id != task.shown["TableId"] or table.state.status == "DELETING":
            raise TaskFailed("TableNotFound", "The table was deleted during the export")
        history = history_of(table)
        if history is None or history.enabled_ns > task.started_ns:
            raise TaskFailed(
                "PointInTimeRecoveryUnavailable", "Point-in-time recovery was disabled during the export"
            )
        first_ns = task.progress.get("from_ns", task.progress["to_ns"])
        if first_ns // DAY_NS < history.first_day:  # history is deleted by whole days
            raise TaskFailed("InvalidExportTime", "The recovery period ended during the export")
        return table

    async def fail(self, task: Task, code: str, message: str) -> None:
        self.close()
        self._discard_draft(task)
        task.progress.clear()
        await self._tasks.end(task, "FAILED", code, message)
        log.warning("export %s has failed: %s: %s", task.arn, code, message)

    def _discard_draft(self, task: Task) -> None:
        """Deletes the draft that a killed process may have left."""
        with suppress(BucketError):
            storage = self._storage.opened(access_of(task.shown))
            storage.discard(storage.draft(task.shown["S3Bucket"], _draft_name(task)))

    def close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.close()
