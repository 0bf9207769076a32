"""Sealed payloads open at their place and unchanged only; no nonce repeats."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, repeat

import pytest

from faradisc.clock import SeededEntropy
from faradisc.engine.sealing.sealer import HEAD_BYTES, OVERHEAD_BYTES, KeyDenied, Sealer
from faradisc.engine.sealing.state import SealState
from faradisc.storage.api import Corruption

PLACE = b"\x00\x00\x00\x07\x02" + b"h" * 16 + b"customer-7"
PLAIN = b"\x01\x00\x00\x00\x05 an item"


def sealer_of(*keys: str | None, entropy: int = 1) -> Sealer:
    made = Sealer(None, SealState("arn", {}, list(keys)), SeededEntropy(entropy))
    made.unwrapped({each: each.encode().ljust(32, b"-") for each in keys if each is not None}, 1)
    return made


def test_payload_opens_at_its_place() -> None:
    sealer = sealer_of("first")
    stored = sealer.seal(PLAIN, PLACE)
    assert len(stored) == len(PLAIN) + OVERHEAD_BYTES
    assert PLAIN not in stored
    assert sealer.open(stored, PLACE) == PLAIN


def test_empty_payload_stays_empty() -> None:
    sealer = sealer_of("first")
    assert sealer.seal(b"", PLACE) == b""
    assert sealer.open(b"", PLACE) == b""


@pytest.mark.parametrize("at", [*range(1, HEAD_BYTES), HEAD_BYTES, -1])
def test_changed_byte_is_found(at: int) -> None:
    sealer = sealer_of("first")
    stored = bytearray(sealer.seal(PLAIN, PLACE))
    stored[at] ^= 1
    with pytest.raises(Corruption, match="resource 7, slot 2") as found:
        sealer.open(bytes(stored), PLACE)
    assert "customer-7" not in str(found.value)


def test_row_that_was_moved_or_cut_is_found() -> None:
    sealer = sealer_of("first")
    stored = sealer.seal(PLAIN, PLACE)
    for place in (PLACE[:-1] + b"8", b"\x00\x00\x00\x08" + PLACE[4:]):
        with pytest.raises(Corruption, match="belongs to another place"):
            sealer.open(stored, place)
    for cut in (1, 2, HEAD_BYTES, len(stored) - 1):
        with pytest.raises(Corruption):
            sealer.open(stored[:cut], PLACE)


def test_plain_payload_is_accepted_only_where_it_may_be() -> None:
    sealer = sealer_of("first")
    with pytest.raises(Corruption, match="is not sealed"):
        sealer.open(PLAIN, PLACE)
    assert sealer.open(PLAIN, PLACE, plain_ok=True) == PLAIN


def test_row_of_an_earlier_data_key_opens_after_a_new_one() -> None:
    sealer = sealer_of("first")
    stored = sealer.seal(PLAIN, PLACE)
    later = sealer_of("first", "second")
    assert later.open(stored, PLACE) == PLAIN
    assert later.seal(PLAIN, PLACE)[1:3] == b"\x00\x01"
    with pytest.raises(Corruption, match="data key 0, which does not exist"):
        sealer_of(None, "second").open(stored, PLACE)


def test_denied_sealer_neither_seals_nor_opens() -> None:
    sealer = sealer_of("first")
    stored = sealer.seal(PLAIN, PLACE)
    sealer.deny("the key is away", 2)
    for use in (lambda: sealer.seal(PLAIN, PLACE), lambda: sealer.open(stored, PLACE)):
        with pytest.raises(KeyDenied, match="the key is away"):
            use()
    assert not sealer.is_ready


def nonces(sealer: Sealer, times: int) -> Iterator[bytes]:
    for _ in repeat(None, times):
        yield sealer.seal(PLAIN, PLACE)[3:HEAD_BYTES]


def test_nonces_differ_across_threads() -> None:
    sealer = sealer_of("first")
    with ThreadPoolExecutor(4) as pool:
        found = [each for part in pool.map(lambda _: list(nonces(sealer, 2_000)), range(4)) for each in part]
    assert len(set(found)) == 8_000


def test_starts_have_random_bytes_of_their_own() -> None:
    (first,), (second,) = nonces(sealer_of("first"), 1), nonces(sealer_of("first", entropy=2), 1)
    assert first[:8] != second[:8]


def test_counter_that_is_used_up_begins_another_run() -> None:
    sealer = sealer_of("first")
    sealer._run = (sealer._run[0], count(2**32 - 2))
    found = list(nonces(sealer, 4))
    assert [each[8:].hex() for each in found] == ["fffffffe", "ffffffff", "00000000", "00000001"]
    assert found[1][:8] != found[2][:8] == found[3][:8]


def test_state_with_the_same_key_continues_the_run() -> None:
    sealer = sealer_of("first")
    before = list(nonces(sealer, 2))
    sealer.become(SealState("arn", {}, ["first"], inaccessible_ns=None))
    assert next(nonces(sealer, 1)) not in before
