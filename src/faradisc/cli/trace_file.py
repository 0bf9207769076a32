"""The lines of a recorded trace, and of the files that a plan names; plain or compressed by gzip."""

from __future__ import annotations

import errno
import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from faradisc.tools.planner.plan_file.key_file import LinesOf
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_format import LINE_BYTES_MAX
from faradisc.tools.transfer.progress import Progress

SHOWN_LINES = 2048
"""Lines between two looks at the progress."""
_GZIP = b"\x1f\x8b"
"""The first bytes of a compressed file."""


def first_line(file: Path) -> bytes:
    """Returns the first line, from which the kind of file is recognised; empty for an empty file.

    Raises PlanError for a file that cannot be read.
    """
    try:
        return next(lines_of(file), b"")
    except OSError as error:
        raise PlanError(str(file), None, f"it cannot be read: {error.strerror}", "Check its name.") from None


def beside(plan: Path) -> LinesOf:
    """Returns a function that opens the files named in a plan, relative to the plan's directory."""

    def opened(name: str) -> Iterator[bytes]:
        file = plan.parent / name
        if file.exists() and not file.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        return lines_of(file)

    return opened


def lines_of(file: Path) -> Iterator[bytes]:
    """Yields the lines of a file, which may be larger than the memory. Yields only the beginning of a line
    longer than `LINE_BYTES_MAX`, with one byte more than that. Raises PlanError for a damaged compressed
    file."""
    with _decompressed(file) as opened:
        yield from _lines(opened)


def watched_lines(file: Path) -> Iterator[bytes]:
    """Yields the lines of a file as `lines_of`, with progress on a terminal. Raises PlanError."""
    with (
        _decompressed(file) as opened,
        Progress(file.stat().st_size, f"reading {file.name}", "bytes") as progress,
    ):
        source: Any = opened.fileobj if isinstance(opened, gzip.GzipFile) else opened
        for number, line in enumerate(_lines(opened)):
            if not number % SHOWN_LINES:
                progress.reach(source.tell())
            yield line


def contents(file: Path, most: int) -> bytes:
    """Returns the content of a file, at most one byte more than `most`.

    Raises PlanError for a damaged compressed file.
    """
    with _decompressed(file) as opened:
        return opened.read(most + 1)


@contextmanager
def _decompressed(file: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with file.open("rb") as plain:
        compressed = plain.read(len(_GZIP)) == _GZIP
        plain.seek(0)
        if not compressed:
            _skip_mark(plain)
            yield plain
            return
        with gzip.GzipFile(fileobj=plain) as opened:
            try:
                _skip_mark(opened)
                yield opened
            except (EOFError, OSError, zlib.error) as error:
                remedy = f"Keep the readable part: zcat {file.name} > trace.jsonl"
                raise PlanError(str(file), None, f"it cannot be decompressed: {error}", remedy) from None


def _skip_mark(opened: BufferedReader | gzip.GzipFile) -> None:
    """Skips a byte order mark, which some editors and spreadsheets write."""
    if opened.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        opened.read(len(BOM_UTF8))


def _lines(opened: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while line := opened.readline(LINE_BYTES_MAX + 1):
        rest = line
        while len(rest) > LINE_BYTES_MAX and not rest.endswith(b"\n"):
            rest = opened.readline(LINE_BYTES_MAX + 1)
        yield line
