"""The ways between regions: how long a write is under way, and which of them are cut.

Both are for tests. The delay of a write is drawn from the seed and from what identifies the write, so one
seed gives one sequence, whatever else happens. A cut link is a row of LINKS_PART (its regions, with a space
between them), so that it stays cut at a restart, and all nodes of a shared store know of it.
"""

from __future__ import annotations

from random import Random

from faradisc.model.codec.keyspace import LINKS_PART
from faradisc.records import dataclass
from faradisc.storage.api import Batch, Store

Link = tuple[str, str]
"""The regions that it goes from and to."""
_LINKS_MAX = 10_000


@dataclass(slots=True)
class LinkTraffic:
    """What has passed a link for one table since the start."""

    delivered: int = 0
    superseded: int = 0
    """Writes that arrived after a newer one of their item, and were left out: conflicts."""


class Links:
    def __init__(self, store: Store, lag_ms: float = 0.0, seed: int = 0) -> None:
        """lag_ms: mean delay of a write; 0: none."""
        self._store = store
        self.lag_ms = lag_ms
        self._seed = seed
        self._cut: set[Link] = set()
        self.traffic: dict[tuple[str, str, str], LinkTraffic] = {}
        """By ARN of the table that has written, from and to."""

    async def load(self) -> None:
        rows = await self._store.range(LINKS_PART, None, None, limit=_LINKS_MAX)
        self._cut = set()
        for key, _ in rows:
            one, _, other = key.decode().partition(" ")
            self._cut.add((one, other))

    async def follow(self) -> None:
        """Takes over what other nodes of a shared store have cut and healed."""
        if self._store.shared:
            await self.load()

    async def cut(self, one: str, other: str) -> None:
        """Stops what goes between two regions, in both directions; it waits."""
        both = {(one, other), (other, one)}
        self._cut |= both
        await self._store.commit([Batch(LINKS_PART, puts=[(_key(link), b"") for link in sorted(both)])])

    async def heal(self, one: str, other: str) -> None:
        both = {(one, other), (other, one)}
        self._cut -= both
        await self._store.commit([Batch(LINKS_PART, deletes=[_key(link) for link in sorted(both)])])

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


def _key(link: Link) -> bytes:
    return f"{link[0]} {link[1]}".encode()
