"""The lines of a recorded trace, and of the files a plan names, on the disk; plain or packed by gzip."""

from __future__ import annotations

import errno
import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO

from faradisc.tools.planner.errors import PlanError
from faradisc.tools.planner.plan_file.key_file import LinesOf
from faradisc.tools.planner.traces.trace_format import LINE_BYTES_MAX

_GZIP = b"\x1f\x8b"
"""How a packed file begins, whatever it is called."""


def first_line(file: Path) -> bytes:
    """The first line, or none; what kind of file it is can be seen by it. Raises: PlanError for a file that
    cannot be read."""
    try:
        return next(lines_of(file), b"")
    except OSError as error:
        raise PlanError(str(file), None, f"it cannot be read: {error.strerror}", "Check its name.") from None


def beside(plan: Path) -> LinesOf:
    """Opens what a plan names: places that are not given in full begin at the plan's directory."""

    def opened(name: str) -> Iterator[bytes]:
        file = plan.parent / name
        if file.exists() and not file.is_file():
            raise OSError(errno.EINVAL, "it is no regular file", name)
        return lines_of(file)

    return opened


def lines_of(file: Path) -> Iterator[bytes]:
    """Line by line, so that a recording may be larger than the memory; of a line that is longer than
    `LINE_BYTES_MAX` only as much as shows it. Raises: PlanError for a packed file that is damaged."""
    with _unpacked(file) as opened:
        yield from _lines(opened)


def contents(file: Path, most: int) -> bytes:
    """A whole file, or so much of it as shows that it has more than `most` bytes. Raises: PlanError for a
    packed file that is damaged."""
    with _unpacked(file) as opened:
        return opened.read(most + 1)


@contextmanager
def _unpacked(file: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with file.open("rb") as plain:
        packed = plain.read(len(_GZIP)) == _GZIP
        plain.seek(0)
        if not packed:
            _skip_mark(plain)
            yield plain
            return
        with gzip.GzipFile(fileobj=plain) as opened:
            try:
                _skip_mark(opened)
                yield opened
            except (EOFError, OSError, zlib.error) as error:
                remedy = f"Keep what can be unpacked: zcat {file.name} > trace.jsonl"
                raise PlanError(str(file), None, f"it cannot be unpacked: {error}", remedy) from None


def _skip_mark(opened: BufferedReader | gzip.GzipFile) -> None:
    """Pass over a byte order mark, which some editors and spreadsheets begin a file with."""
    if opened.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        opened.read(len(BOM_UTF8))


def _lines(opened: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while line := opened.readline(LINE_BYTES_MAX + 1):
        rest = line
        while len(rest) > LINE_BYTES_MAX and not rest.endswith(b"\n"):
            rest = opened.readline(LINE_BYTES_MAX + 1)
        yield line
