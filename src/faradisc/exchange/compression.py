"""Compressed objects as streams of bytes, in bounded pieces, with every kind of damage found.

A reader here never holds more than one piece, however small the object that unpacks into it; and it ends
only at the true end: one that was cut off, or altered where its checksum can tell, raises Damaged.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

INPUT_BYTES = 64 * 1024
PIECE_BYTES = 256 * 1024
"""Largest piece that comes out."""
ZSTD_INPUT_BYTES = 2048
"""A block of zstd is at most 128 KB and needs at least 4 bytes, so this many bytes unpack into 64 MB at most,
which no honest file does."""
GZIP_LEVEL = 1
"""Measured on items of 400 bytes: 88 MB/s and a ratio of 2.4; level 6 takes 53 MB/s for a ratio of 2.6."""
_GZIP_WINDOW = 31


class Damaged(Exception):
    """The bytes are not what was compressed. The text says what is wrong, for people."""


class Unavailable(Exception):
    """A library that this needs is not installed."""


def pieces(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """The content of a file that is compressed as InputCompressionType says: NONE, GZIP or ZSTD.

    Raises: Damaged; Unavailable before the first piece; OSError.
    """
    if compression == "GZIP":
        return _gzip_pieces(file)
    if compression == "ZSTD":
        return _zstd_pieces(file, _zstd_library())
    return iter(lambda: file.read(PIECE_BYTES), b"")


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Any number of gzip members, one after another; none at all is an empty content."""
    waiting = file.read(INPUT_BYTES)
    while waiting:
        member = zlib.decompressobj(wbits=_GZIP_WINDOW)
        while not member.eof:
            if not waiting:
                waiting = file.read(INPUT_BYTES)
                if not waiting:
                    raise Damaged("the gzip data is cut off")
            try:
                piece = member.decompress(waiting, PIECE_BYTES)
            except zlib.error as error:
                raise Damaged(f"the gzip data is damaged: {error}") from None
            waiting = member.unconsumed_tail
            if piece:
                yield piece
        waiting = member.unused_data or file.read(INPUT_BYTES)


def check_zstd() -> None:
    """Raises: Unavailable."""
    _zstd_library()


def _zstd_library() -> Any:
    """What makes decompressors, and what they raise. Raises: Unavailable."""
    try:
        from compression import zstd  # noqa: PLC0415 - Python 3.14 and later have it
    except ImportError:
        try:
            import zstandard  # noqa: PLC0415 - an extra
        except ImportError:
            raise Unavailable("zstd needs a library: pip install 'faradisc[exchange]'") from None
        return zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError
    return zstd.ZstdDecompressor, zstd.ZstdError


def _zstd_pieces(file: BinaryIO, library: Any) -> Iterator[bytes]:
    """Any number of zstd frames; none at all is an empty content."""
    decompressor, failure = library
    waiting = file.read(ZSTD_INPUT_BYTES)
    while waiting:
        frame = decompressor()
        while not frame.eof:
            if not waiting:
                waiting = file.read(ZSTD_INPUT_BYTES)
                if not waiting:
                    raise Damaged("the zstd data is cut off")
            try:
                piece = frame.decompress(waiting)
            except failure as error:
                raise Damaged(f"the zstd data is damaged: {error}") from None
            waiting = b""
            for start in range(0, len(piece), PIECE_BYTES):
                yield piece[start : start + PIECE_BYTES]
        waiting = frame.unused_data or file.read(ZSTD_INPUT_BYTES)


class GzipWriter:
    """Compresses into a file. Two runs over the same content make the same bytes: no time, no name."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._compressor = zlib.compressobj(GZIP_LEVEL, wbits=_GZIP_WINDOW)

    def write(self, content: bytes) -> None:
        self._file.write(self._compressor.compress(content))

    def finish(self) -> None:
        self._file.write(self._compressor.flush())
