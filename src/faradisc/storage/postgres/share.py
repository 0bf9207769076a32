"""The batches of one commit at one PostgreSQL, as arguments of kv_commit, and what its answer means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faradisc.storage.api import Batch, Conflict, Stale
from faradisc.storage.postgres.errors import Moved
from faradisc.storage.postgres.keys import stored_key, stored_payload

_COMMITTED, _CONFLICT, _STALE, _MOVED = range(4)


def raise_for(outcome: int) -> None:
    """Raises Stale or Moved for such an outcome of a commit."""
    if outcome == _STALE:
        raise Stale
    if outcome == _MOVED:
        raise Moved


class Share:
    def __init__(self, batches: Sequence[Batch]) -> None:
        """Raises Stale for batches that name two epochs of one part."""
        self._batches = batches
        self._parts = parts = sorted({batch.part for batch in batches})
        self._at = at = {part: n for n, part in enumerate(parts)}
        musts: list[int | None] = [None] * len(parts)
        fences: list[int | None] = [None] * len(parts)
        counts, items, sizes = ([0] * len(parts) for _ in range(3))
        checks: list[tuple[int, bytes, int]] = []
        writes: list[tuple[int, bytes, bytes | None]] = []
        entries: list[tuple[int, bytes]] = []
        self._counts_until: list[int] = []
        for batch in batches:
            n = at[batch.part]
            if batch.epoch is not None:
                if musts[n] not in (None, batch.epoch):
                    raise Stale
                musts[n] = batch.epoch
            if batch.fence is not None:
                fences[n] = batch.fence
            checks += [(n + 1, key, version) for key, version in batch.checks]
            writes += [(n + 1, stored_key(key), stored_payload(key, payload)) for key, payload in batch.puts]
            writes += [(n + 1, stored_key(key), None) for key in batch.deletes]
            entries += [(n + 1, entry) for entry in batch.log]
            counts[n] += len(batch.log)
            items[n] += batch.items_delta
            sizes[n] += batch.bytes_delta
            self._counts_until.append(counts[n])
        self._counts, self._checks = counts, checks
        self.arguments: tuple[Any, ...] = (
            *(parts, musts, fences, counts, items, sizes),
            *(
                [n for n, _, _ in checks],
                [stored_key(key) for _, key, _ in checks],
                [v for _, _, v in checks],
            ),
            *(
                [n for n, _, _ in writes],
                [key for _, key, _ in writes],
                [payload for _, _, payload in writes],
            ),
            *([n for n, _ in entries], [entry for _, entry in entries]),
        )

    def answer(self, answered: Any) -> list[int] | Conflict:
        """Returns what the commit returns. Raises Stale, Moved.

        answered: the row of kv_commit, or the sequences of the parts, by name.
        """
        sequences = answered
        if not isinstance(answered, list):
            outcome, found, at_check, sequences = answered
            raise_for(outcome)
            if outcome == _CONFLICT:
                n, key, _ = self._checks[at_check - 1]
                return Conflict(self._parts[n - 1], key, found)
        return [
            sequences[self._at[batch.part]] - self._counts[self._at[batch.part]] + done
            for batch, done in zip(self._batches, self._counts_until, strict=True)
        ]
