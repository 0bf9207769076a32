"""Exports a table of any endpoint into files, in the layout of the service's full exports.

The items come from a Scan: the export may or may not contain writes made meanwhile. ExportTableToPointInTime,
or the export of a data directory without a server, gives the state of one moment.
"""

from __future__ import annotations

from pathlib import Path
from posixpath import join
from typing import Any

import orjson

from faradisc.clock import Clock, Entropy
from faradisc.engine.exchange.checking import canonical_size
from faradisc.engine.exchange.exporting import FILE_BYTES, DataFileWriter, moment_text
from faradisc.engine.formats import ion_text
from faradisc.engine.formats.json_lines import item_line
from faradisc.engine.formats.manifests import (
    FILES,
    FULL_VERSION,
    STARTED,
    SUMMARY,
    DataFile,
    data_file_key,
    data_file_name,
    export_directory,
    put_manifest,
)
from faradisc.engine.formats.masking import Masker
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.storage.immediate import run
from faradisc.tools.transfer.endpoints import Endpoint
from faradisc.tools.transfer.progress import Progress
from faradisc.tools.transfer.scanning import Page, State, scan
from faradisc.tools.transfer.tables import describe, key_names_of


class FileExport:
    """An export of one table into a directory under `root`."""

    def __init__(self, root: Path, format_: str, clock: Clock, entropy: Entropy) -> None:
        """Raises OSError when the directory cannot be created."""
        root.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._began_ns = clock.now_ns()
        self.id = f"{self._began_ns // 1_000_000:014d}-{entropy.token_bytes(4).hex()}"
        self._format = format_
        self._storage = DirectoryStorage(root.absolute().parent)
        self._bucket = root.absolute().name
        self._directory = export_directory(None, self.id)
        self._open: dict[int, DataFileWriter] = {}
        """By segment."""
        self._files: list[DataFile] = []
        self._started_files = 0

    def table(self, source: Endpoint, name: str, *, masker: Masker, segments: int, progress: Progress) -> str:
        """Exports a table. Returns the export's directory relative to the root.

        Raises BucketError, RequestRejected, Unreachable, BadRules.
        """
        described = describe(source, name)
        masker.check_keys(key_names_of(described))
        progress.total = described.get("ItemCount")
        run(self._storage.put(self._bucket, join(self._directory, STARTED), b""))

        def write_page(segment: int, items: Page) -> None:
            masked = [masker.masked(item) for item in items] if masker else items
            size = self._write(segment, masked)
            progress.add(len(items), size, len(items))

        try:
            scan(source, name, segments, write_page, State(None, {}))
            for segment in list(self._open):
                self._store(segment)
        finally:
            for each in self._open.values():
                self._storage.discard(each.draft)
        files = b"".join(each.line() for each in self._files)
        summary = orjson.dumps(self._summary(described, progress))
        for manifest, content in ((FILES, files), (SUMMARY, summary)):
            run(put_manifest(self._storage, self._bucket, join(self._directory, manifest), content))
        return self._directory

    def _write(self, segment: int, items: Page) -> int:
        if self._format == "ION":
            for item in items:
                canonical_size(item)
            lines = [ion_text.item_line(item) for item in items]
        else:
            lines = [item_line(orjson.dumps(item, option=orjson.OPT_SORT_KEYS)) for item in items]
        file = self._open.get(segment) or self._begin(segment)
        before = file.content_bytes
        file.write(lines)
        size = file.content_bytes - before
        if file.content_bytes >= FILE_BYTES:
            self._store(segment)
        return size

    def _begin(self, segment: int) -> DataFileWriter:
        self._started_files += 1
        name = data_file_name(f"{self.id} {segment} {self._started_files}")
        file = self._open[segment] = DataFileWriter(self._storage.draft(self._bucket, name), name)
        return file

    def _store(self, segment: int) -> None:
        file = self._open[segment]
        digest = file.finish()
        key = data_file_key(self._directory, file.name, self._format)
        etag = run(self._storage.store(self._bucket, key, file.draft))
        del self._open[segment]
        self._files.append(DataFile(key, file.items, digest, etag))

    def _summary(self, described: dict[str, Any], progress: Progress) -> dict[str, Any]:
        began = moment_text(self._began_ns)
        return {
            "version": FULL_VERSION,
            "exportArn": f"{described['TableArn']}/export/{self.id}",
            "startTime": began,
            "endTime": moment_text(self._clock.now_ns()),
            "tableArn": described["TableArn"],
            "tableId": described.get("TableId"),
            "exportTime": began,
            "s3Bucket": self._bucket,
            "s3Prefix": None,
            "s3SseAlgorithm": None,
            "s3SseKmsKeyId": None,
            "manifestFilesS3Key": join(self._directory, FILES),
            "billedSizeBytes": described.get("TableSizeBytes", 0),
            "itemCount": progress.items,
            "outputFormat": self._format,
            "exportType": "FULL_EXPORT",
        }
