"""The ways between regions: how long a write is under way, and which of them are cut.

Both are for tests, and in memory only: a start heals all links. The delay of a write is drawn from the seed
and from what identifies the write, so one seed gives one sequence, whatever else happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

Link = tuple[str, str]
"""The regions that it goes from and to."""


@dataclass(slots=True)
class LinkTraffic:
    """What has passed a link for one table since the start."""

    delivered: int = 0
    superseded: int = 0
    """Writes that arrived after a newer one of their item, and were left out: conflicts."""


class Links:
    def __init__(self, lag_ms: float = 0.0, seed: int = 0) -> None:
        """lag_ms: mean delay of a write; 0: none."""
        self.lag_ms = lag_ms
        self._seed = seed
        self._cut: set[Link] = set()
        self.traffic: dict[tuple[str, str, str], LinkTraffic] = {}
        """By ARN of the table that has written, from and to."""

    def cut(self, one: str, other: str) -> None:
        """Stops what goes between two regions, in both directions; it waits."""
        self._cut |= {(one, other), (other, one)}

    def heal(self, one: str, other: str) -> None:
        self._cut -= {(one, other), (other, one)}

    def is_cut(self, link: Link) -> bool:
        return link in self._cut

    def delay_ns(self, link: Link, slot: int, sequence: int) -> int:
        """Returns how long an entry of a log is under way; 0 without a lag."""
        if not self.lag_ms:
            return 0
        drawn = Random(f"{self._seed} {link[0]} {link[1]} {slot} {sequence}").expovariate(1.0)
        return int(drawn * self.lag_ms * 1_000_000)

    def of(self, arn: str, link: Link) -> LinkTraffic:
        return self.traffic.setdefault((arn, *link), LinkTraffic())
