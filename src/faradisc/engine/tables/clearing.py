"""Clears whole resources: their parts, and the progress rows of background jobs."""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.model.codec.keyspace import JOBS_PART, job_keys_of
from faradisc.storage.api import Batch, Part, Store


async def clear_parts(store: Store, parts: Iterable[Part], *, if_held: bool = False) -> None:
    """Deletes all rows of resources.

    if_held: only clear parts that have rows. For parts that should be empty, this is cheaper than a sync of
    the disk for each.
    """
    job_keys: dict[bytes, None] = {}
    for part in parts:
        if not if_held or await _holds_rows(store, part):
            await store.clear(part)
        job_keys.update(dict.fromkeys(job_keys_of(part)))
    rows = await store.get(JOBS_PART, list(job_keys))
    present = [key for key, row in zip(job_keys, rows, strict=True) if row is not None]
    if present:
        await store.commit([Batch(JOBS_PART, deletes=present)])


async def _holds_rows(store: Store, part: Part) -> bool:
    return bool(await store.range(part, None, None, limit=1)) or await store.usage(part) != (0, 0)
