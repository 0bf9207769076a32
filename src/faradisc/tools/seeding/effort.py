"""How much working out one definition may take.

Files that people write refer a few hundred times. Thirty lines of references that each name the one before
twice stand for a billion of them, and their text for gigabytes.
"""

from __future__ import annotations

from faradisc.tools.seeding.plan import SeedError

WORK_MAX = 4_000_000
"""About the letters read and made, where a reference or a function counts for some. An item has 400 KB."""
STEP = 50
SHOWN_MAX = 60
"""Letters of an expression that a fault shows."""


class Effort:
    """What is left of it. Belongs to one template or module."""

    def __init__(self) -> None:
        self._left = WORK_MAX

    def renew(self) -> None:
        """The next definition begins."""
        self._left = WORK_MAX

    def spend(self, amount: int, what: str) -> None:
        """`what` is being worked out. Raises: SeedError when that is one thing too many."""
        self._left -= amount
        if self._left < 0:
            seen = shortened(what)
            raise SeedError(f"what it refers to stands for more than can be worked out, seen at {seen}")


def shortened(what: str) -> str:
    """An expression as a fault shows it: its first line or so."""
    return what if len(what) <= SHOWN_MAX else what[: SHOWN_MAX - 3] + "..."
