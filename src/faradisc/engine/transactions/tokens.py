"""Idempotency tokens: a transaction that is sent again with its ClientRequestToken is executed once.

The row of a token is written in the commit of the transaction, so it exists exactly when the transaction has
taken effect. The tokens part has two kinds of rows:

    `t` owner token              -> JSON: fingerprint of the request, expiry, sizes to charge a replay with
    `x` expiry (8 bytes) token   -> nothing; finds expired tokens in order

Where a transaction has an encrypted table, a hash takes the place of the token, which can say what it is
about.
Both are written and removed together. A background job removes expired ones; nothing here waits for the disk
between the first read of a transaction and its commit.

A store of several places has a tokens part at each, so that a transaction on tables of one place stays there.
The token is looked for where the transaction's tables are, or were in the last minutes.

Source: limits.md section 8; capacity-consumption.md section 3 (what a replay reports).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Protocol

import orjson

from faradisc.errors import IdempotentParameterMismatchException, TransactionInProgressException
from faradisc.limits import IDEMPOTENCY_WINDOW_S
from faradisc.model.codec.keyspace import TOKENS_PART
from faradisc.records import dataclass
from faradisc.storage.api import Batch, Part, Row, Stale, Store

FORGOTTEN_PER_STEP = 100
OTHERS_NS = 60_000_000_000
"""How often a shared store is searched for expired tokens of other nodes."""
_NEVER_NS = 1 << 63


Sizes = Sequence[tuple[str, int]]
"""(table as named in the request, larger image in bytes) per action of a completed transaction."""


class Companions(Protocol):
    """What a store of several places says of parts that are beside others."""

    async def companions(self, parts: Iterable[Part]) -> Sequence[Part]:
        """Returns the companion part where `parts` are, then those of where they were in the last minutes."""
        ...

    def all_companions(self) -> Sequence[Part]: ...


class Tokens:
    """The tokens of one database."""

    def __init__(self, store: Store, places: Companions | None = None) -> None:
        """places: where tokens are; None: all in one part."""
        self._store = store
        self._places = places
        self._running: set[bytes] = set()
        self._next_expiry_ns = 0
        """No token expires before this time; 0: not known."""

    def begin(self, token: RequestToken) -> None:
        """Reserves a token until `end`, before anything is looked up or executed under it.

        Raises TransactionInProgressException.
        """
        if token.key in self._running:
            raise TransactionInProgressException
        self._running.add(token.key)

    def end(self, token: RequestToken) -> None:
        self._running.discard(token.key)

    async def find(self, token: RequestToken, now_ns: int, beside: Iterable[Part] = ()) -> Sizes | None:
        """Returns the sizes of the transaction that was completed under this token within the window, if
        any.

        beside: parts of the transaction's items. Raises IdempotentParameterMismatchException.
        """
        if self._places is not None:
            token.part, *earlier = await self._places.companions(beside)
            for part in earlier:
                if (done := await self._find(token, part, now_ns)) is not None:
                    return done
        return await self._find(token, token.part, now_ns)

    async def _find(self, token: RequestToken, part: Part, now_ns: int) -> Sizes | None:
        token.found, other = await self._store.get(part, (token.key, token.other_key), for_update=True)
        row = token.found or other
        if row is None:
            return None
        stored = orjson.loads(row[1])
        if stored["expires_ns"] <= now_ns:
            return None
        await self._store.wait_durable(row[0])
        if stored["fingerprint"] != token.fingerprint:
            raise IdempotentParameterMismatchException
        return [(name, size) for name, size in stored["sizes"]]

    async def batch(self, token: RequestToken, sizes: Sizes, now_ns: int) -> Batch:
        """Returns a batch that stores the token, to be committed with the transaction. It checks the row that
        `find` has found. Raises Stale when another node has used the token since: find it again."""
        expires_ns = now_ns + IDEMPOTENCY_WINDOW_S * 1_000_000_000
        stored = {"fingerprint": token.fingerprint, "expires_ns": expires_ns, "sizes": list(sizes)}
        (present,) = await self._store.get(token.part, (token.key,), for_update=True)
        if present != token.found:
            raise Stale
        batch = Batch(token.part, checks=[(token.key, present[0] if present is not None else 0)])
        batch.puts.append((token.key, orjson.dumps(stored)))
        batch.puts.append((expiry_key(expires_ns, token.key), b""))
        if present is not None:  # expired, or it would have been found
            batch.deletes.append(expiry_key(orjson.loads(present[1])["expires_ns"], token.key))
        self._next_expiry_ns = min(self._next_expiry_ns, expires_ns)
        return batch

    async def forget_expired(self, now_ns: int) -> bool:
        """Removes some expired tokens; returns False if there is none."""
        if now_ns < self._next_expiry_ns:
            return False
        # A token that is added during the read lowers it again; one of another node does not.
        self._next_expiry_ns = now_ns + OTHERS_NS if self._store.shared else _NEVER_NS
        parts = (TOKENS_PART,) if self._places is None else self._places.all_companions()
        return any([await self._forget_in(part, now_ns) for part in parts])

    async def _forget_in(self, part: Part, now_ns: int) -> bool:
        rows = await self._store.range(part, b"x", b"y", limit=FORGOTTEN_PER_STEP)
        batch = Batch(part)
        for expiry_key, _ in rows:
            expires_ns = int.from_bytes(expiry_key[1:9], "big")
            if expires_ns > now_ns:
                self._next_expiry_ns = min(self._next_expiry_ns, expires_ns)
                break
            token_key = expiry_key[9:]
            (row,) = await self._store.get(part, (token_key,), for_update=True)
            if row is not None and orjson.loads(row[1])["expires_ns"] == expires_ns:
                batch.checks.append((token_key, row[0]))
                batch.deletes.append(token_key)
            batch.deletes.append(expiry_key)
        else:
            if len(rows) == FORGOTTEN_PER_STEP:
                self._next_expiry_ns = 0
        if batch.deletes:
            await self._store.commit([batch])
        return bool(batch.deletes)


def expiry_key(expires_ns: int, key: bytes) -> bytes:
    return b"x" + expires_ns.to_bytes(8, "big") + key


@dataclass(slots=True)
class RequestToken:
    """A ClientRequestToken with the fingerprint of its request."""

    key: bytes
    other_key: bytes
    """Under which the same token is stored by a transaction with encrypted tables, or without."""
    fingerprint: str
    found: Row | None = None
    """The row that `Tokens.find` has found."""
    part: Part = TOKENS_PART
    """Where it is."""

    @classmethod
    def of(cls, owner: str, token: str, request: dict[str, Any], *, hashed: bool = False) -> RequestToken:
        """owner: account and region of the transaction; the same token of another owner is another token.
        request: the parameters that must be equal when the token is used again. hashed: store a hash of it.
        """
        fingerprint = sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()
        start, text = b"t" + owner.encode() + b"\x00", token.encode()
        readable, hash_of_it = start + text, start + sha256(text).hexdigest().encode()
        if hashed:
            return cls(hash_of_it, readable, fingerprint)
        return cls(readable, hash_of_it, fingerprint)
