"""Compressed objects as streams of bytes, in bounded pieces, with every kind of damage found.

A reader here never holds more than one piece, however small the object that unpacks into it; and it ends
only at the true end: one that was cut off, or altered where its checksum can tell, raises Damaged.

An empty piece is a pause: much was read and nothing came of it, as with millions of empty gzip members, or a
frame that zstd says to skip. Whoever must not take long can stop there.

Gzip is done by ISA-L where that is installed, otherwise by zlib: docs/decisions/0011-isal-for-gzip.md.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

INPUT_BYTES = 64 * 1024
PIECE_BYTES = 256 * 1024
"""Largest piece that comes out."""
ZSTD_INPUT_BYTES = 2048
"""A block of zstd is at most 128 KB and needs at least 4 bytes, so this many bytes unpack into 64 MB at most,
which no honest file does."""
FRUITLESS_MAX = 256
"""Calls of a decompressor, with INPUT_BYTES at most, that may bring nothing before there is a pause."""
GZIP_LEVEL = 1
"""Of both libraries. Measured on the JSON of items of 400 bytes: zlib makes 78 MB/s and a ratio of 2.38, with
level 6 44 MB/s and 2.57; ISA-L makes 428 MB/s and 2.44, and hardly more with a higher level."""
_GZIP_WINDOW = 31


class Damaged(Exception):
    """The bytes are not what was compressed. The text says what is wrong, for people."""


class Unavailable(Exception):
    """A library that this needs is not installed."""


def pieces(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """The content of a file that is compressed as InputCompressionType says: NONE, GZIP or ZSTD; with pauses.

    Raises: Damaged; Unavailable before the first piece; OSError.
    """
    if compression == "GZIP":
        return _paced(_gzip_pieces(file))
    if compression == "ZSTD":
        return _paced(_zstd_pieces(file, _zstd_library()))
    return iter(lambda: file.read(PIECE_BYTES), b"")


def _gzip_library() -> Any:
    """What makes decompressors, what they raise, and what makes compressors."""
    try:
        from isal import isal_zlib  # noqa: PLC0415 - an extra
    except ImportError:
        return zlib.decompressobj, zlib.error, zlib.compressobj
    return isal_zlib.decompressobj, isal_zlib.error, isal_zlib.compressobj


def _paced(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces with something in them, and of many empty ones in a row some, for pauses."""
    fruitless = 0
    for piece in pieces:
        fruitless = 0 if piece else fruitless + 1
        if piece or fruitless % FRUITLESS_MAX == 0:
            yield piece


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Any number of gzip members, one after another; none at all is an empty content."""
    decompressor, failure, _ = _gzip_library()
    waiting = file.read(INPUT_BYTES)
    while waiting:
        member = decompressor(wbits=_GZIP_WINDOW)
        while not member.eof:
            if not waiting:
                waiting = file.read(INPUT_BYTES)
                if not waiting:
                    raise Damaged("the gzip data is cut off")
            try:
                piece = member.decompress(waiting, PIECE_BYTES)
            except failure as error:
                raise Damaged(f"the gzip data is damaged: {error}") from None
            waiting = member.unconsumed_tail
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
            for start in range(0, len(piece) or 1, PIECE_BYTES):
                yield piece[start : start + PIECE_BYTES]
        waiting = frame.unused_data or file.read(ZSTD_INPUT_BYTES)


class Writable(Protocol):
    def write(self, content: bytes, /) -> Any: ...


class GzipWriter:
    """Compresses into a file. Two runs over the same content make the same bytes: no time, no name."""

    def __init__(self, file: Writable) -> None:
        _, _, compressor = _gzip_library()
        self._file = file
        self._compressor = compressor(GZIP_LEVEL, wbits=_GZIP_WINDOW)

    def write(self, content: bytes) -> None:
        self._file.write(self._compressor.compress(content))

    def finish(self) -> None:
        self._file.write(self._compressor.flush())
