"""Adaptive capacity as it was in 2017: late, and per partition.

Each partition has a share of the table's rate. Once a minute the controller looks: if partitions were
throttled while the table as a whole stayed below its rate, then, a random 5 to 30 minutes after the first
throttle, their shares are raised to what they were asked for, out of what the others leave unused. The
boosts end when the table as a whole reaches its rate.

Modern tables need none of this: their table bucket and physical limits make adaptive capacity instant.

Source: capacity.md section 2.6; vectors V94, V95.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING

from faradisc.capacity.config import SECOND_NS, UNIT, Chance
from faradisc.capacity.events import Event, ShareBoosted

if TYPE_CHECKING:
    from faradisc.capacity.admission import Limiter
    from faradisc.capacity.partitions import PartitionBucket
    from faradisc.capacity.resource import Resource


class Adaptive:
    """The controller of one resource."""

    __slots__ = ("_act_ns", "_boosted", "_chance", "_delays_ns", "_resource")

    def __init__(self, resource: Resource, chance: Chance | None) -> None:
        self._resource = resource
        self._chance = chance
        self._act_ns: list[int | None] = [None, None]
        """Per direction: from when on it acts; None until something is throttled."""
        self._boosted: list[list[PartitionBucket]] = [[], []]
        self._delays_ns: tuple[deque[int], deque[int]] = (deque(), deque())
        """Per direction: delays that are drawn and not used yet."""

    @property
    def quiet(self) -> bool:
        """Whether a minute without requests would change nothing."""
        return self._act_ns == [None, None]

    def _delay_ns(self, position: int) -> int:
        """A wait from the configured range; its middle without a source of chance.

        Both directions draw when one does, so that which of them is throttled first, perhaps by a moment,
        does not exchange their delays.
        """
        delays = self._resource.config.adaptive_delay_s
        assert delays is not None
        shortest, longest = delays
        if self._chance is None:
            return (shortest + longest) // 2 * SECOND_NS
        if not self._delays_ns[position]:
            for drawn in self._delays_ns:
                drawn.append(self._chance.randint(shortest * SECOND_NS, longest * SECOND_NS))
        return self._delays_ns[position].popleft()

    def end_minute(self, at: int) -> list[Event]:
        """A minute has ended. Requires: the cells' minutes are not cleared yet."""
        resource = self._resource
        if resource.on_demand:
            return []
        events: list[Event] = []
        for position, (limiter, rate) in enumerate(
            ((resource.reads, resource.read_units), (resource.writes, resource.write_units))
        ):
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
                bucket.share.set_rate(at, wanted)
                self._boosted[position].append(bucket)
                events.append(
                    ShareBoosted(at, limiter.arn, bucket.partition.id, limiter.direction, str(wanted))
                )
        return events

    def _end_boosts(self, position: int, limiter: Limiter, rate: int, at: int) -> list[Event]:
        events: list[Event] = []
        for bucket in self._boosted[position]:
            if bucket in limiter.buckets and bucket.share is not None:
                plain = rate * bucket.partition.share
                bucket.share.set_rate(at, plain)
                events.append(
                    ShareBoosted(at, limiter.arn, bucket.partition.id, limiter.direction, str(plain))
                )
        self._boosted[position].clear()
        self._act_ns[position] = None
        return events
