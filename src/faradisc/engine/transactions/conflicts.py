"""Injected transaction conflicts, so that users can test how their programs handle them.

The service rejects some writes that meet an ongoing transaction. Here such writes wait for each other, so
real conflicts are rare. With a rate above zero that share of single writes and of transactions is rejected in
the service's words before it reads or writes anything. The same seed gives the same sequence of decisions.

Source: service.md section 4 (conflicting operations); errors.md section 6.8. BatchWriteItem, plain reads and
replays of a transaction never conflict here.
"""

from __future__ import annotations

from random import Random
from typing import Any

from faradisc.errors import TransactionCanceledException, TransactionConflictException


def conflict_reason() -> dict[str, Any]:
    return {"Code": "TransactionConflict", "Message": TransactionConflictException.default_text}


class ConflictInjector:
    """Decides which requests are rejected. rate: from 0 (none) to 1 (all)."""

    def __init__(self, rate: float, seed: int) -> None:
        self._rate = rate
        self._random = Random(seed)

    def check_write(self) -> None:
        """Called before a single write. Raises TransactionConflictException."""
        if self._conflicts():
            raise TransactionConflictException

    def check_transaction(self, actions: int) -> None:
        """Called before a transaction of that many actions; a random one of them conflicts.

        Raises TransactionCanceledException.
        """
        if self._conflicts():
            reasons: list[dict[str, Any]] = [{"Code": "None"}] * actions
            reasons[self._random.randrange(actions)] = conflict_reason()
            raise TransactionCanceledException(reasons)

    def _conflicts(self) -> bool:
        return self._random.random() < self._rate
