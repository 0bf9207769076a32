"""The file formats of a backup: written data is read back, and any other is rejected."""

from __future__ import annotations

import random

import pytest

from faradisc.engine.backups.files import (
    HEAD_BYTES,
    Damaged,
    block_of,
    body_bytes,
    manifest_bytes,
    read_manifest,
    records_of,
)

RECORDS = [b"", b"a", b"\x01" + b"x" * 5000, bytes(range(256)) * 3]


def read(block: bytes) -> list[bytes]:
    head = block[:HEAD_BYTES]
    length = body_bytes(head)
    return records_of(head, block[HEAD_BYTES : HEAD_BYTES + length])


def test_blocks_are_read_as_written() -> None:
    assert read(block_of(RECORDS)) == RECORDS
    assert read(block_of([])) == []


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bit_of_a_block_is_found(seed: int) -> None:
    rng = random.Random(seed)
    block = block_of(RECORDS)
    bits = range(len(block) * 8)
    for bit in {*bits[: HEAD_BYTES * 8], *rng.sample(bits, 200)}:
        damaged = bytearray(block)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Damaged):
            read(bytes(damaged))


def test_truncated_block_is_found() -> None:
    block = block_of(RECORDS)
    for length in range(len(block)):
        with pytest.raises(Damaged):
            read(block[:length])


def test_flipped_bit_of_a_manifest_is_found() -> None:
    manifest = manifest_bytes({"backup": {"id": "x"}})
    assert read_manifest(manifest)["backup"] == {"id": "x"}
    for bit in range(len(manifest) * 8):
        damaged = bytearray(manifest)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Damaged):
            read_manifest(bytes(damaged))
    for length in range(len(manifest)):
        with pytest.raises(Damaged):
            read_manifest(manifest[:length])


def test_later_format_is_named_in_the_error() -> None:
    with pytest.raises(Damaged, match="format 2, of a later release"):
        read_manifest(manifest_bytes({"format": 2}))
