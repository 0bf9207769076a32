"""What an import or a bulk put could not take: one JSON object per line, in a file.

The service writes these lines to CloudWatch Logs, group /aws-dynamodb/imports, a stream per import; here
they lie under `logs/aws-dynamodb/imports/<id>/error`. A file is cut back to where the last commit of the
job left it when the job goes on after a crash, so no line stands there twice.
"""

from __future__ import annotations

import os
from pathlib import Path

import orjson

LINES_MAX = 10_000
"""Of one import: after that the service counts errors and logs none (the developer guide, as recalled)."""


class ErrorLog:
    def __init__(self, path: Path, length: int = 0, lines: int = 0, *, limit: int | None = LINES_MAX) -> None:
        """length: bytes of an earlier run that count; lines: how many lines that are. Raises: OSError."""
        self.path = path
        self._limit = limit
        self._lines = lines
        self._length = length
        self._kept: list[bytes] = []
        self._cut()

    @property
    def length(self) -> tuple[int, int]:
        """Bytes and lines of what has been written."""
        return self._length, self._lines

    def cut_back(self, length: int, lines: int) -> None:
        """Forget what was added since `length` was this. Raises: OSError."""
        self._length, self._lines = length, lines
        self._kept.clear()
        self._cut()

    def _cut(self) -> None:
        if self.path.exists():
            with self.path.open("r+b") as file:
                file.truncate(min(self._length, self.path.stat().st_size))

    def add(self, line: dict[str, object]) -> None:
        if self._limit is None or self._lines < self._limit:
            self._lines += 1
            self._kept.append(orjson.dumps(line) + b"\n")

    def write(self) -> tuple[int, int]:
        """Put what was added into the file, on disk; its length and lines from then on. Raises: OSError."""
        if self._kept:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.writelines(self._kept)
                file.flush()
                os.fsync(file.fileno())
            self._length += sum(map(len, self._kept))
            self._kept.clear()
        return self.length
