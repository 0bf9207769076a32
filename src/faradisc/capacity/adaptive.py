"""Adaptive capacity as it was in 2017: late, and per partition.

Each partition has a share of the table's rate. Once a minute the controller checks: if partitions throttled
requests while the table as a whole stayed below its rate, then, a random 5 to 30 minutes after the first
throttle, their shares are raised to the demand, out of what the other partitions leave unused. The raises end
when the table as a whole reaches its rate.

Modern tables do not need this: with a table bucket and physical limits adaptive capacity is instant.

Source: capacity.md section 2.6; vectors V94, V95.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction

from faradisc.capacity.admission import Limiter
from faradisc.capacity.config import SECOND_NS, UNIT, Chance
from faradisc.capacity.events import Event, ShareBoosted
from faradisc.capacity.partitions import PartitionBucket


class Adaptive:
    """The controller of one resource."""

    __slots__ = ("_act_ns", "_boosted", "_chance", "_delay_range_s", "_delays_ns")

    def __init__(self, delay_range_s: tuple[int, int], chance: Chance | None) -> None:
        self._delay_range_s = delay_range_s
        self._chance = chance
        self._act_ns: list[int | None] = [None, None]
        """By direction: when raises begin; None before the first throttle."""
        self._boosted: list[list[PartitionBucket]] = [[], []]
        self._delays_ns: tuple[deque[int], deque[int]] = (deque(), deque())
        """By direction: delays that are drawn and not used yet."""

    @property
    def quiet(self) -> bool:
        """Whether a minute without requests changes nothing."""
        return self._act_ns == [None, None]

    def _delay_ns(self, position: int) -> int:
        """Returns a delay from the configured range; its middle without a source of random numbers.

        Both directions draw together, so that their delays do not depend on which throttles first.
        """
        shortest, longest = self._delay_range_s
        if self._chance is None:
            return (shortest + longest) // 2 * SECOND_NS
        if not self._delays_ns[position]:
            for drawn in self._delays_ns:
                drawn.append(self._chance.randint(shortest * SECOND_NS, longest * SECOND_NS))
        return self._delays_ns[position].popleft()

    def end_minute(self, limiters: tuple[Limiter, Limiter], rates: tuple[int, int], at: int) -> list[Event]:
        """Ends a minute of a provisioned resource. Requires: the buckets' minutes are not cleared yet."""
        events: list[Event] = []
        for position, (limiter, rate) in enumerate(zip(limiters, rates, strict=True)):
            events += self._control(position, limiter, rate, at)
        return events

    def _control(self, position: int, limiter: Limiter, rate: int, at: int) -> list[Event]:
        used = sum(bucket.minute_nano for bucket in limiter.buckets)
        throttled = [
            bucket for bucket in limiter.buckets if bucket.minute_throttled and bucket.share is not None
        ]
        if used >= rate * 60 * UNIT:
            return self._end_boosts(position, limiter, rate, at)
        if not throttled:
            return []
        begin = self._act_ns[position]
        if begin is None:
            # The first throttle lies in the minute that has just ended.
            begin = self._act_ns[position] = at - 60 * SECOND_NS + self._delay_ns(position)
        if at < begin:
            return []
        unused = Fraction(rate) - Fraction(used, 60 * UNIT)
        events: list[Event] = []
        for bucket in throttled:
            assert bucket.share is not None
            mean = Fraction(bucket.minute_nano, max(bucket.minute_count, 1) * UNIT) or Fraction(1)
            consumed = Fraction(bucket.minute_nano, 60 * UNIT)
            extra = min(unused, mean * bucket.minute_throttled / 60)
            # A whole number above the demand: a demand met to the last fraction would still throttle.
            wanted = Fraction(min(bucket.rate, -((-(consumed + extra)) // 1)))
            if wanted > bucket.share.exact_rate():
                unused -= extra
                self._boosted[position].append(bucket)
                events.append(_set_share(limiter, bucket, wanted, at))
        return events

    def _end_boosts(self, position: int, limiter: Limiter, rate: int, at: int) -> list[Event]:
        boosted = [bucket for bucket in self._boosted[position] if bucket in limiter.buckets]
        self._boosted[position].clear()
        self._act_ns[position] = None
        return [_set_share(limiter, bucket, rate * bucket.partition.share, at) for bucket in boosted]


def _set_share(limiter: Limiter, bucket: PartitionBucket, share: Fraction, at: int) -> Event:
    assert bucket.share is not None
    bucket.share.set_rate(at, share)
    return ShareBoosted(at, limiter.arn, bucket.partition.id, limiter.direction, str(share))
