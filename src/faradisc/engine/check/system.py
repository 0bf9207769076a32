"""Checks system rows: idempotency tokens, and progress of background jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import orjson

from faradisc.engine.check.inventory import Inventory
from faradisc.engine.inspection.problems import Problem, RepairAction, Report
from faradisc.engine.inspection.reading import Pairs, pages
from faradisc.model.codec.keyspace import JOBS_PART, TOKENS_PART, job_keys_of
from faradisc.storage.api import Part, ReadOnlyStore

_WHERE = "idempotency tokens"
_EXPIRY_AT = 9
"""Length of `x` and eight bytes of time before the token in an expiry row."""


async def verify_tokens(store: ReadOnlyStore, parts: Iterable[Part], report: Report) -> AsyncIterator[None]:
    """Checks that each token has its expiry row, and each expiry row its token."""
    tally = report.tally(_WHERE, "tokens")
    for part in token_parts(parts):
        async for rows in pages(store, part, report):
            report.add_all([_problem(what, key) for key, what in await single_tokens(store, part, rows)])
            tally.rows += sum(key[:1] == b"t" for key, _ in rows)
            tally.bytes += sum(len(payload) for _, payload in rows)
            yield


def token_parts(parts: Iterable[Part]) -> list[Part]:
    """Returns the parts with tokens: one, and one for each further place of the store."""
    return sorted({TOKENS_PART, *(part for part in parts if part.startswith(TOKENS_PART))})


async def single_tokens(store: ReadOnlyStore, part: Part, rows: Pairs) -> list[tuple[bytes, str]]:
    """Returns the keys of the rows without a counterpart, each with its problem."""
    counterparts: list[bytes] = []
    for key, payload in rows:
        if key[:1] == b"x":
            counterparts.append(key[_EXPIRY_AT:])
        else:
            expires_ns = _expires_of(payload)
            counterparts.append(b"" if expires_ns is None else b"x" + expires_ns.to_bytes(8, "big") + key)
    found = await store.get(part, counterparts)
    single: list[tuple[bytes, str]] = []
    for (key, payload), counterpart in zip(rows, found, strict=True):
        if key[:1] == b"x":
            if counterpart is None or _expires_of(counterpart[1]) != int.from_bytes(key[1:_EXPIRY_AT], "big"):
                single.append((key, "an expiry row belongs to no token"))
        elif key[:1] != b"t" or _expires_of(payload) is None:
            single.append((key, "a row cannot be read"))
        elif counterpart is None:
            single.append((key, "a token never expires"))
    return single


def _problem(what: str, key: bytes) -> Problem:
    token_key = key[_EXPIRY_AT:] if key[:1] == b"x" else key
    account, _, token = token_key[1:].partition(b"\x00")
    words = f"account {account.decode(errors='replace')}, token {token.decode(errors='replace')}"
    return Problem(_WHERE, what, "removes the rows without a counterpart", words, RepairAction("tokens"))


def _expires_of(payload: bytes) -> int | None:
    """Returns when a token expires, in ns; None when its row cannot be read."""
    try:
        expires_ns = orjson.loads(payload)["expires_ns"]
    except (ValueError, KeyError, TypeError):
        return None
    return expires_ns if isinstance(expires_ns, int) and 0 <= expires_ns < 1 << 64 else None


async def verify_jobs(store: ReadOnlyStore, inventory: Inventory, report: Report) -> AsyncIterator[None]:
    """Checks that progress of jobs belongs to existing resources."""
    if not inventory.complete:
        return
    known = {
        key for resource in inventory.owners for key in job_keys_of(resource.to_bytes(4, "big") + b"\x00")
    }
    kinds = {key[:-4] for key in job_keys_of(bytes(5))}
    async for rows in pages(store, JOBS_PART, report):
        report.add_all(
            Problem(
                "background jobs",
                "the progress of a job on a deleted resource",
                "removes the row",
                f"{key[:-4].decode(errors='replace')} of resource {int.from_bytes(key[-4:], 'big')}",
                RepairAction("job", key=key),
            )
            for key, _ in rows
            if key[:-4] in kinds and key not in known
        )
        yield
