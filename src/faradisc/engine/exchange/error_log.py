"""The rejected records of an import or a bulk put: a file with one JSON object per line.

The service writes these lines to CloudWatch Logs, group /aws-dynamodb/imports, a stream per import; here the
file is `logs/aws-dynamodb/imports/<id>/error`. When a job continues after a crash, the file is truncated to
its length at the job's last commit, so no line is there twice.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from faradisc.files import sync_file

LINES_MAX = 10_000
"""Lines of one import; further errors are only counted (the developer guide, as recalled)."""


class ErrorLog:
    def __init__(self, path: Path, length: int = 0, lines: int = 0, *, limit: int | None = LINES_MAX) -> None:
        """length, lines: of the file at the last commit. Raises OSError."""
        self.path = path
        self._limit = limit
        self._lines = lines
        self._length = length
        self._buffer: list[bytes] = []
        self._truncate()

    @property
    def length(self) -> tuple[int, int]:
        """Bytes and lines written."""
        return self._length, self._lines

    def truncate(self, length: int, lines: int) -> None:
        """Removes the lines added since `length` had these values. Raises OSError."""
        self._length, self._lines = length, lines
        self._buffer.clear()
        self._truncate()

    def _truncate(self) -> None:
        if self.path.exists():
            with self.path.open("r+b") as file:
                file.truncate(min(self._length, self.path.stat().st_size))

    def add(self, line: dict[str, object]) -> None:
        if self._limit is None or self._lines < self._limit:
            self._lines += 1
            self._buffer.append(orjson.dumps(line) + b"\n")

    def write(self) -> tuple[int, int]:
        """Writes the added lines to disk. Returns the file's length in bytes and lines. Raises OSError."""
        if self._buffer:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.writelines(self._buffer)
                sync_file(file)
            self._length += sum(map(len, self._buffer))
            self._buffer.clear()
        return self.length
