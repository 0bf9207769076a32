"""Compressed objects as streams of bytes in bounded pieces.

A reader holds at most one piece in memory. It raises InputDamaged when the object is truncated or its
checksum is wrong.

An empty piece is a pause: much input gave no output, as with millions of empty gzip members or a skippable
frame of zstd. The caller may stop there and continue later.

Gzip uses ISA-L where it is installed, otherwise zlib: docs/decisions/0011-isal-for-gzip.md.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, Protocol

INPUT_BYTES = 64 * 1024
PIECE_BYTES = 256 * 1024
"""Largest piece of output."""
ZSTD_INPUT_BYTES = 2048
"""Input of one call. A block of zstd has at least 4 bytes and expands to at most 128 KB, so the output of one
call is at most 64 MB."""
EMPTY_CALLS_MAX = 256
"""Calls of a decompressor without output, each with at most INPUT_BYTES of input, before a pause."""
GZIP_LEVEL = 1
"""For both libraries. Measured on the JSON of items of 400 bytes: zlib compresses 78 MB/s with a ratio of
2.38 (level 6: 44 MB/s, 2.57), ISA-L 428 MB/s with 2.44, and hardly better at a higher level."""
_GZIP_WINDOW = 31


class InputDamaged(Exception):
    """The data is not what was compressed. The text describes the damage."""


class Unavailable(Exception):
    """A required library is not installed."""


def pieces(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """Yields the content of a file, and empty pieces as pauses. compression: NONE, GZIP or ZSTD.

    Raises InputDamaged; Unavailable before the first piece; OSError.
    """
    if compression == "GZIP":
        decompressor, failure, _ = gzip_library()
        start = partial(decompressor, wbits=_GZIP_WINDOW)
        return _with_pauses(_decompressed("gzip", file, INPUT_BYTES, start, failure, PIECE_BYTES))
    if compression == "ZSTD":
        start, failure = zstd_library()
        return _with_pauses(_decompressed("zstd", file, ZSTD_INPUT_BYTES, start, failure))
    return iter(lambda: file.read(PIECE_BYTES), b"")


def gzip_library() -> Any:
    """Returns the constructor of decompressors, their exception, and the constructor of compressors."""
    try:
        from isal import isal_zlib  # noqa: PLC0415 - an extra
    except ImportError:
        return zlib.decompressobj, zlib.error, zlib.compressobj
    return isal_zlib.decompressobj, isal_zlib.error, isal_zlib.compressobj


def _with_pauses(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Drops empty pieces, except every EMPTY_CALLS_MAX-th in a row."""
    empty = 0
    for piece in pieces:
        empty = 0 if piece else empty + 1
        if piece or empty % EMPTY_CALLS_MAX == 0:
            yield piece


def zstd_library() -> Any:
    """Returns the constructor of decompressors and their exception. Raises Unavailable."""
    try:
        from compression import zstd  # noqa: PLC0415 - Python 3.14 and later have it
    except ImportError:
        try:
            import zstandard  # noqa: PLC0415 - an extra
        except ImportError:
            raise Unavailable("zstd needs a library: pip install 'faradisc[exchange]'") from None
        return zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError
    return zstd.ZstdDecompressor, zstd.ZstdError


def _decompressed(
    name: str,
    file: BinaryIO,
    input_bytes: int,
    start: Callable[[], Any],
    failure: type[Exception],
    *most: int,
) -> Iterator[bytes]:
    """Decompresses any number of gzip members or zstd frames, also none.

    start: returns a decompressor. most: the most bytes of output of one call, where it can be limited.
    """
    waiting = file.read(input_bytes)
    while waiting:
        member = start()
        while not member.eof:
            if not waiting:
                waiting = file.read(input_bytes)
                if not waiting:
                    raise InputDamaged(f"the {name} data is truncated")
            try:
                piece = member.decompress(waiting, *most)
            except failure as error:
                raise InputDamaged(f"the {name} data is damaged: {error}") from None
            waiting = member.unconsumed_tail if most else b""
            for at in range(0, len(piece) or 1, PIECE_BYTES):
                yield piece[at : at + PIECE_BYTES]
        waiting = member.unused_data or file.read(input_bytes)


class Writable(Protocol):
    def write(self, content: bytes, /) -> Any: ...


class GzipWriter:
    """Compresses into a file. The output depends only on the content: it has no time and no file name."""

    def __init__(self, file: Writable) -> None:
        _, _, compressor = gzip_library()
        self._file = file
        self._compressor = compressor(GZIP_LEVEL, wbits=_GZIP_WINDOW)

    def write(self, content: bytes) -> None:
        self._file.write(self._compressor.compress(content))

    def finish(self) -> None:
        self._file.write(self._compressor.flush())
