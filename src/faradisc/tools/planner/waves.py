"""Waves: clients that wait for fixed times come back together, each time for as long as they came first.

Where keys follow one another within seconds, the requests for each key are such a wave, and it matters when
in a second it comes: a partition that nobody has asked for a while is full, and serves the beginning of the
next wave, so that each is shorter than the one before. So the fluid engine divides seconds into tenths, and
sends those who are refused round by tenths. All attempts of botocore's fixed waits are made 50 ms more than
whole tenths of a second after the first, and so waves stay as far from each other as they are, but for the
second attempt, which falls into the same tenth.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.tools.planner.workload.streams import Flow

PARTS = 10
"""Of a second. Of twenty, plans are as near to runs by events, and take twice the time; of five they are some
percent off."""
_TURNS_S = 0.5 / PARTS, 3.0
"""Keys that have their turn for longer, or not even for half of a part, are known as well by whole seconds:
within 0.3 %."""


def parts_for(flows: Iterable[Flow]) -> int:
    """Into how many parts the fluid engine has to divide the seconds of these flows."""
    least_s, most_s = _TURNS_S
    waves = any(
        least_s <= turn_s < most_s for flow in flows if flow.plan.retries.fixed for turn_s in flow.turns_s
    )
    return PARTS if waves else 1
