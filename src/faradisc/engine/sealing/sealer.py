"""Seals and opens the rows and log entries of one table (docs/formats/sealed-rows.md).

    byte 0       FA; no plain payload begins with it
    bytes 1-2    number of the data key, big-endian
    bytes 3-14   nonce: 8 random bytes of this run, 4 bytes of a counter
    then         the ciphertext of AES-256-GCM and its tag of 16 bytes

The location is authenticated: part and row key of a row, the part of a log entry. So a sealed row that is
moved to another place cannot be opened. An empty payload stays empty.

No nonce repeats under a data key: a run (a start of the database, or 2^32 seals) has 64 random bits of its
own. With 2^16 runs under one data key the chance that two are equal is 2^-33.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING

from faradisc.clock import Entropy
from faradisc.engine.sealing.state import SealState
from faradisc.errors import AccessDeniedException
from faradisc.storage.api import Corruption

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEALED = 0xFA
HEAD_BYTES = 15
_NUMBERED_BYTES = 3
OVERHEAD_BYTES = HEAD_BYTES + 16
"""Bytes that a sealed payload is longer than the plain one."""
_PREFIX_BYTES = 8


class KeyDenied(AccessDeniedException):
    """The master key of a table cannot be used, so its data cannot be read or written."""

    code = "AccessDeniedException"


class Sealer:
    """The data keys of one owner: a table, an ended stream, or a backup. Threads may share it."""

    __slots__ = (
        *("_ciphers", "_decrypt", "_entropy", "_head", "_last", "_run", "_sealing"),
        *("denied", "name", "state", "strict", "tried_ns"),
    )

    def __init__(self, name: tuple[str, str] | None, state: SealState, entropy: Entropy) -> None:
        """name: namespace and name of the table, if a table is the owner. The keys are still wrapped."""
        self.name = name
        self._entropy = entropy
        self.denied: str | None = None
        """Why the data keys cannot be unwrapped."""
        self.tried_ns = 0
        """When they were last unwrapped, or failed to be."""
        self._ciphers: dict[str, AESGCM] = {}
        """By wrapped key."""
        self._sealing: AESGCM | None = None
        self._last: str | None = None
        """The wrapped key that seals."""
        self._head = b""
        self._decrypt: dict[bytes, Callable[[bytes, bytes, bytes], bytes]] = {}
        """By the first bytes of what they open."""
        self.strict = False
        """Whether it is ready, and every payload is sealed."""
        self._run: tuple[bytes, Iterator[int]] = (b"", iter(()))
        self.become(state)

    @property
    def is_ready(self) -> bool:
        return self._sealing is not None

    @property
    def is_needed(self) -> bool:
        """Whether rows cannot be read or written without the keys."""
        return self.state.enabled or self.state.converting

    def become(self, state: SealState) -> None:
        """Continues with another state of the same owner; it is ready if all of its keys are known."""
        self.state = state
        wrapped = [each for each in state.keys if each is not None]
        last = state.keys[-1]
        known = all(each in self._ciphers for each in wrapped)
        self._sealing = self._ciphers[last] if known and last is not None else None
        self._head = _head(len(state.keys) - 1)
        self._decrypt = {
            _head(number): self._ciphers[each].decrypt
            for number, each in enumerate(state.keys)
            if each in self._ciphers
        }
        self.strict = self._sealing is not None and state.enabled and not state.converting
        if last != self._last:
            self._last = last
            self._begin_run()

    def unwrapped(self, keys: Mapping[str, bytes], now_ns: int) -> None:
        """Takes the data keys, by wrapped key."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 20 ms at start

        for wrapped, key in keys.items():
            self._ciphers.setdefault(wrapped, AESGCM(key))
        self.denied, self.tried_ns = None, now_ns
        if self._sealing is None:
            self.become(self.state)

    def deny(self, reason: str, now_ns: int) -> None:
        """Drops the data keys."""
        self._ciphers.clear()
        self._sealing, self.denied, self.tried_ns = None, reason, now_ns
        self._decrypt, self.strict = {}, False

    def _begin_run(self) -> None:
        self._run = self._entropy.token_bytes(_PREFIX_BYTES), count()

    def seal(self, plain: bytes, location: bytes) -> bytes:
        """Requires: `is_ready`."""
        if not plain:
            return plain
        prefix, counter = self._run
        try:
            nonce = prefix + next(counter).to_bytes(4, "big")
        except OverflowError:
            self._begin_run()
            return self.seal(plain, location)
        sealing = self._sealing
        if sealing is None:
            raise KeyDenied(self.denied)
        return self._head + nonce + sealing.encrypt(nonce, plain, location)

    def open(self, stored: bytes, location: bytes, *, plain_ok: bool = False) -> bytes:
        """Returns the plain payload.

        plain_ok: a payload that is not sealed is returned. Raises Corruption; KeyDenied.
        """
        decrypt = self._decrypt.get(stored[:_NUMBERED_BYTES])
        if decrypt is None:
            return self._without_key(stored, location, plain_ok=plain_ok)
        try:
            return decrypt(stored[_NUMBERED_BYTES:HEAD_BYTES], stored[HEAD_BYTES:], location)
        except Exception as error:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - after `unwrapped` it is there

            if not isinstance(error, InvalidTag | ValueError):
                raise
            raise Corruption(
                f"{_where(location)} cannot be opened with the table's data key: it was changed, or belongs "
                "to another place"
            ) from None

    def _without_key(self, stored: bytes, location: bytes, *, plain_ok: bool) -> bytes:
        if not stored:
            return stored
        if stored[0] != SEALED:
            if plain_ok:
                return stored
            raise Corruption(f"{_where(location)} is not sealed, and the table's rows are")
        number, keys = int.from_bytes(stored[1:_NUMBERED_BYTES], "big"), self.state.keys
        if len(stored) >= _NUMBERED_BYTES and number < len(keys) and keys[number] is not None:
            raise KeyDenied(self.denied)
        raise Corruption(f"{_where(location)} is sealed with data key {number}, which does not exist")


def _head(number: int) -> bytes:
    return bytes([SEALED]) + number.to_bytes(2, "big")


def _where(location: bytes) -> str:
    """Names a place without the values of keys: by resource, slot and hash."""
    place = f"resource {int.from_bytes(location[:4], 'big')}, slot {location[4]}"
    return f"a row of {place}, hash {location[5:21].hex()}" if len(location) > 5 else f"an entry of {place}"
