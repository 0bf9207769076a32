"""Conflicts on demand: a seeded dial, so that users can test what their programs do about them.

The service answers some writes that meet an ongoing transaction with a conflict. This database makes
such writes wait for each other, so a program under test would hardly ever see one. With the dial at a
rate above zero, that share of single writes and of transactions is refused in the service's words
before it has read or written anything. The same seed gives the same sequence of decisions.

Source: service.md section 4 (who conflicts with whom); errors.md section 6.8. BatchWriteItem, plain
reads and replays of a transaction never conflict here.
"""

from __future__ import annotations

from random import Random
from typing import Any

from faradisc.errors import TransactionCanceledException, TransactionConflictException


def conflict_reason() -> dict[str, Any]:
    return {"Code": "TransactionConflict", "Message": TransactionConflictException.default_text}


class ConflictInjector:
    """Decides which requests are refused. rate: from 0 (none) to 1 (all)."""

    def __init__(self, rate: float, seed: int) -> None:
        self._rate = rate
        self._random = Random(seed)

    def check_write(self) -> None:
        """Before a single write. Raises TransactionConflictException."""
        if self._strikes():
            raise TransactionConflictException

    def check_transaction(self, actions: int) -> None:
        """Before a transaction of so many actions, one of which is in conflict when the dial strikes.

        Raises TransactionCanceledException.
        """
        if self._strikes():
            reasons: list[dict[str, Any]] = [{"Code": "None"}] * actions
            reasons[self._random.randrange(actions)] = conflict_reason()
            raise TransactionCanceledException(reasons)

    def _strikes(self) -> bool:
        return self._random.random() < self._rate
