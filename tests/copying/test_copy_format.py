"""The examples of docs/formats/copy.md agree with the code; damage and newer formats are one sentence."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from faradisc.engine.copying.format import (
    CopyDamaged,
    CopyError,
    CopyGroup,
    CopyLease,
    CopySegment,
    CopySnapshot,
    packed,
    piece_bytes,
    read_lease,
    read_piece,
    read_segment,
    read_snapshot,
    segment_bytes,
    unpacked,
)

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "copy.md").read_text()
ROW = (bytes.fromhex("720201706b"), bytes.fromhex("000000000000000776"))


def example(label: str) -> bytes:
    return bytes.fromhex("".join(re.findall(rf"^    {label} +([0-9a-f]+)$", PAGE, re.M)))


def test_the_segment_of_the_page() -> None:
    segment = read_segment(example("segment"), "page")
    (group,), (commits,) = segment.groups, segment.commits
    assert commits == example("commits") and group.chain == example("chain").hex()
    (commit,) = unpacked(commits)
    assert (commit.first, commit.last) == (group.first, group.last) == (7, 7)
    made = CopyGroup(3, 2, 7, 7, 1_700_000_000_000_000_001).linked("00" * 16, packed([commit]))
    again = CopySegment("c0" * 16, "00" * 16, (made,), (commits,))
    assert again == segment == read_segment(segment_bytes(again), "again")
    content, piece = piece_bytes([ROW])
    assert zlib.decompress(content) == example("piece")
    assert read_piece(content, piece, "piece") == [ROW]


@pytest.mark.parametrize("at", [0, 7, 9, 40, 250, 300, -1])
def test_a_changed_byte_is_found(at: int) -> None:
    content = bytearray(example("segment"))
    content[at] ^= 1
    with pytest.raises(CopyError, match=r"s3://b/log/3 (is damaged|was written by a later release)"):
        read_segment(bytes(content), "s3://b/log/3")
    with pytest.raises(CopyDamaged):
        read_segment(bytes(content[:at]), "s3://b/log/3")


def test_a_group_of_another_history_is_found() -> None:
    """Also where a checksum was made for it."""
    segment = read_segment(example("segment"), "page")
    for forged in (replace(segment.groups[0], last=9), replace(segment.groups[0], term=9)):
        content = segment_bytes(replace(segment, groups=(forged,)))
        with pytest.raises(CopyDamaged, match="the digest of group 3 differs"):
            read_segment(content, "log/3")


def test_documents_of_a_later_release_are_refused() -> None:
    lease = CopyLease("copy", "holder", 3, 10.0, 7)
    assert read_lease(lease.to_bytes(), "lease.json") == lease
    snapshot = CopySnapshot("copy", 9, 3, "chain", 1, (piece_bytes([ROW])[1],))
    assert read_snapshot(snapshot.to_bytes(), "manifest.json") == snapshot
    for read, content in (
        (read_lease, replace(lease, format=2).to_bytes()),
        (read_snapshot, replace(snapshot, format=2).to_bytes()),
    ):
        with pytest.raises(CopyError, match="written by a later release, in format 2"):
            read(content, "it")
    for content in (b"", b"{}", b"[1]", lease.to_bytes()[:20]):
        with pytest.raises(CopyDamaged):
            read_lease(content, "lease.json")
        with pytest.raises(CopyDamaged):
            read_snapshot(content, "manifest.json")
