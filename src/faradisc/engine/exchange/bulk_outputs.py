"""The output files of a bulk operation: lines in the directory of logs, delivered to a bucket at its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from posixpath import join

from faradisc.engine.exchange.error_log import ErrorLog
from faradisc.engine.exchange.task_store import Task
from faradisc.engine.objects.api import ObjectStorage, access_of

_OUTPUTS = {"ERROR": "errors", "CONDITION_CHECK_FAILURE": "condition_check_failures"}
PIECE_BYTES = 1024 * 1024
"""Part of an output copied into the bucket before other work may run."""


class Outputs:
    """The output files of one operation."""

    def __init__(
        self, task: Task, storage: ObjectStorage, logs: Path, yield_control: Callable[[], Awaitable[None]]
    ) -> None:
        self._task = task
        self._yield_control = yield_control
        self._wanted = task.shown["OutputS3Configuration"]
        self._storage = storage.opened(access_of(self._wanted))
        directory = output_directory(logs, task)
        lengths = task.progress.setdefault("outputs", {})
        self._logs = {
            kind: ErrorLog(directory / _OUTPUTS[kind], *lengths.get(kind, (0, 0)), limit=None)
            for kind in self._wanted["OutputType"]
        }

    def of(self, kind: str) -> ErrorLog | None:
        return self._logs.get(kind)

    def lengths(self) -> dict[str, tuple[int, int]]:
        """Returns bytes and lines of the files."""
        return {kind: written.length for kind, written in self._logs.items()}

    def truncate(self, lengths: dict[str, tuple[int, int]]) -> None:
        """Removes the lines added since. Raises OSError."""
        for kind, written in self._logs.items():
            written.truncate(*lengths[kind])

    def write(self) -> None:
        """Writes the files to disk, and their lengths into the progress. Raises OSError."""
        for kind, written in self._logs.items():
            self._task.progress["outputs"][kind] = written.write()

    async def deliver(self) -> None:
        """Moves the files into the output bucket. Raises BucketError, OSError."""
        self.write()
        bucket: str = self._wanted["S3Bucket"]
        for kind, written in self._logs.items():
            if not written.path.exists():
                continue
            draft = self._storage.draft(bucket, f"{self._task.id}-{_OUTPUTS[kind]}")
            try:
                with written.path.open("rb") as content:
                    while piece := content.read(PIECE_BYTES):
                        draft.write(piece)
                        await self._yield_control()
                key = join(self._wanted.get("S3KeyPrefix") or "", self._task.id, f"{_OUTPUTS[kind]}.jsonl")
                await self._storage.store(bucket, key, draft)
            except BaseException:
                self._storage.discard(draft)
                raise
            written.path.unlink()


def output_directory(logs: Path, task: Task) -> Path:
    """Returns the directory of the output files until they are delivered."""
    return logs / "bulk-put" / task.id
