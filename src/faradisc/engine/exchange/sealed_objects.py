"""Sealed objects: the data files that an export of an encrypted table writes into a directory.

    "FDSEALED" 00 01, length of the header (4 bytes), header, pieces

    header   JSON: key_arn, context, keys (engine/sealing/state.py; only the data key used), name
    piece    length (4 bytes), then 00, or 01 for the last one, and up to 64 KiB of content, sealed as a row
             is (engine/sealing/sealer.py), bound to "export", the name and the number of the piece (8 bytes)

All numbers are big-endian. Objects at an S3 endpoint are encrypted by S3.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

import orjson

from faradisc.engine.formats.compression import InputDamaged, Writable
from faradisc.engine.sealing.sealer import OVERHEAD_BYTES, Sealer
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.sealing.state import SealState
from faradisc.storage.api import Corruption

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC = b"FDSEALED\x00\x01"
PIECE_BYTES = 64 * 1024
_HEADER_BYTES_MAX = 64 * 1024


def _location(name: str, number: int) -> bytes:
    return b"export" + name.encode() + number.to_bytes(8, "big")


class SealedWriter:
    def __init__(self, file: Writable, sealer: Sealer, name: str) -> None:
        """sealer: is ready. name: of no other object of this database."""
        self._file = file
        self._sealer = sealer
        self._name = name
        self._number = 0
        self._waiting = bytearray()
        state = sealer.state
        keys = [None] * (len(state.keys) - 1) + [state.keys[-1]]
        header = orjson.dumps(
            {"key_arn": state.key_arn, "context": state.context, "keys": keys, "name": name}
        )
        file.write(MAGIC + len(header).to_bytes(4, "big") + header)

    def write(self, content: bytes) -> None:
        self._waiting += content
        while len(self._waiting) > PIECE_BYTES:
            self._write_piece(b"\x00", bytes(self._waiting[:PIECE_BYTES]))
            del self._waiting[:PIECE_BYTES]

    def finish(self) -> None:
        self._write_piece(b"\x01", bytes(self._waiting))

    def _write_piece(self, kind: bytes, content: bytes) -> None:
        sealed = self._sealer.seal(kind + content, _location(self._name, self._number))
        self._number += 1
        self._file.write(len(sealed).to_bytes(4, "big") + sealed)


class _Opened(io.RawIOBase):
    def __init__(self, file: BinaryIO, sealer: Sealer, name: str) -> None:
        self._file = file
        self._sealer = sealer
        self._name = name
        self._number = 0
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Raises InputDamaged, OSError."""
        view = memoryview(buffer).cast("B")
        while not self._rest and not self._ended:
            self._read_piece()
        taken = self._rest[: len(view)]
        view[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)

    def _read_piece(self) -> None:
        length = int.from_bytes(self._file.read(4), "big")
        if not OVERHEAD_BYTES < length <= PIECE_BYTES + OVERHEAD_BYTES + 1:
            raise InputDamaged("a sealed piece is cut off")
        try:
            plain = self._sealer.open(self._file.read(length), _location(self._name, self._number))
        except Corruption:
            raise InputDamaged("a sealed piece was changed") from None
        self._number += 1
        self._ended, self._rest = plain[:1] == b"\x01", plain[1:]

    def close(self) -> None:
        self._file.close()
        super().close()


class _Begun:
    """A file whose first bytes have been read."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = head
        self._file = file

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        if 0 <= size <= len(head):
            self._head = head[size:]
            return head[:size]
        return head + self._file.read(size - len(head) if size >= 0 else size)

    def close(self) -> None:
        self._file.close()


async def opened(file: BinaryIO, sealers: Sealers) -> BinaryIO:
    """Returns the content of an object, sealed or not. Raises InputDamaged; KeyDenied."""
    head = file.read(len(MAGIC))
    if head != MAGIC:
        return cast(BinaryIO, _Begun(head, file))
    length = int.from_bytes(file.read(4), "big")
    try:
        header = orjson.loads(file.read(min(length, _HEADER_BYTES_MAX)))
        state, name = SealState(header["key_arn"], header["context"], header["keys"]), str(header["name"])
    except (ValueError, KeyError, TypeError):
        raise InputDamaged("the header of the sealed object cannot be read") from None
    owner = f"object {name}"
    sealer = sealers.attach(owner, state, ())
    try:
        await sealers.ready(sealer)
    finally:
        sealers.forget(owner)
    return cast(BinaryIO, io.BufferedReader(_Opened(file, sealer, name)))
