"""Series of one run of a plan, which are filled while it lasts (simulation/recorder.py).

All series of a run have one entry per sample, in order. Units are capacity units; an entry is the average per
second over the sample, unless it says "peak".
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import Literal

from faradisc.records import dataclass, field

CAUSES = (
    "AccountLimitExceeded",
    "MaxOnDemandThroughputExceeded",
    "ProvisionedThroughputExceeded",
    "KeyRangeThroughputExceeded",
)
"""Every cause of a throttle, in the order in which the service checks them (capacity/throttle.py)."""

Number = int | float
Series = Sequence[Number]
Growing = MutableSequence[Number]
"""A series while the run lasts."""
Direction = Literal["R", "W"]


def number(value: float) -> Number:
    """Returns a number with at most 3 decimals; a whole one as an int."""
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded


@dataclass(slots=True)
class DirectionSeries:
    """Reads or writes of one resource, units per second, sample by sample (3.4, parts 1, 2 and 5)."""

    offered: Growing = field(default_factory=list)
    """Requested, retries included."""
    consumed: Growing = field(default_factory=list)
    consumed_peak: Growing = field(default_factory=list)
    """In the busiest second of the sample."""
    provisioned: Growing = field(default_factory=list)
    """At the end of the sample; on demand: the capacity of the doubling rule."""
    throttled: Mapping[str, Growing] = field(default_factory=lambda: {cause: [] for cause in CAUSES})
    """Throttled attempts in the sample, for each of `CAUSES`."""
    burst: MutableSequence[Number | None] = field(default_factory=list)
    """At the end of the sample, units; negative is debt; None on demand."""
    burst_max: MutableSequence[Number | None] = field(default_factory=list)
    maximum: Number | None = None
    """The configured on-demand maximum."""


@dataclass(slots=True)
class PartitionSeries:
    """One partition from its birth to its split: a row of the heat map (3.4, part 3).

    Its series begin at sample `first` and end with the sample in which the partition was split.
    """

    id: str
    parent: str | None
    low: float
    """Beginning of its key range, 0..1 of the hash space."""
    high: float
    """End of its key range; equal to `low` for a partition inside one item collection."""
    born_s: Number
    retired_s: Number | None
    first: int
    read: Growing = field(default_factory=list)
    """Units per second served."""
    write: Growing = field(default_factory=list)
    read_limit: Growing = field(default_factory=list)
    """Its physical limit, or its share of the table's rate if smaller (profile classic-2017)."""
    write_limit: Growing = field(default_factory=list)
    throttled: Growing = field(default_factory=list)
    """Attempts that this partition throttled, reads and writes."""
    gib: Growing = field(default_factory=list)
