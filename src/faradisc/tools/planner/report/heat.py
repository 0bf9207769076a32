"""The heat map of a resource's partitions.

A run may have hundreds of partitions and a hundred thousand samples, so their use is reduced to columns once,
whatever the detail in which it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from faradisc.charts.heatmap import Life, grid, heatmap
from faradisc.charts.markup import Markup
from faradisc.charts.words import count, each, elapsed, percent, plural
from faradisc.records import dataclass
from faradisc.tools.planner.report.detail import COLUMNS_MAX, Detail
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome
from faradisc.tools.planner.results.series import Number, PartitionSeries


@dataclass(frozen=True, slots=True)
class Heat:
    """The use of one resource's partitions, percent of their limits, column by column."""

    lives: tuple[Life, ...]
    columns: int
    highest: tuple[float, ...]
    """Of the busiest partition of each column."""
    both: bool
    """Whether partitions served reads and writes; then a column is the larger of the two."""


@dataclass(frozen=True, slots=True)
class Run:
    """An outcome and the heat of each of its resources."""

    outcome: PlanOutcome
    heats: tuple[Heat, ...]

    def highest(self) -> list[float]:
        """Returns the use of the busiest partition of all resources, column by column."""
        return [max(column) for column in zip(*(heat.highest for heat in self.heats), strict=True)]


def prepare(outcome: PlanOutcome) -> Run:
    return Run(outcome, tuple(_reduced(outcome, resource) for resource in outcome.resources))


def _reduced(outcome: PlanOutcome, resource: ResourceOutcome) -> Heat:
    """O(partitions x samples), most of it in built-in functions."""
    columns = min(outcome.samples, COLUMNS_MAX)
    if not columns:
        return Heat((), 0, (), both=False)
    bounds = [i * outcome.samples // columns for i in range(columns + 1)]
    parts = sorted(resource.partitions, key=lambda part: part.low)
    lives = tuple(_life(part, bounds, outcome.samples) for part in parts)
    highest = [0.0] * columns
    for life in lives:
        for position, used in enumerate(life.used, life.first):
            highest[position] = max(highest[position], used)
    both = any(any(p.read) for p in parts) and any(any(p.write) for p in parts)
    return Heat(lives, columns, tuple(highest), both)


def _life(part: PartitionSeries, bounds: Sequence[int], samples: int) -> Life:
    """Returns a partition in columns. It has only a part of the columns in which it begins and ends."""
    columns = len(bounds) - 1
    length = max(len(part.read), 1)
    first = min(part.first * columns // samples, columns - 1)
    end = min(-(-(part.first + length) * columns // samples), columns)
    cuts = [min(max(bound - part.first, 0), length) for bound in bounds[first : end + 1]]
    cuts = [min(low, length - 1) for low in cuts[:-1]] + cuts[-1:]
    reads, writes = _used(part.read, part.read_limit, cuts), _used(part.write, part.write_limit, cuts)
    return Life(
        part.id,
        part.parent,
        first,
        [max(pair) for pair in zip(reads, writes, strict=True)],
        [max(part.throttled[low : max(high, low + 1)], default=0) for low, high in pairwise(cuts)],
    )


def _used(units: Sequence[Number], limits: Sequence[Number], cuts: Sequence[int]) -> list[float]:
    """Returns the largest percentage of the limit between each two cuts."""
    if not limits:
        return [0.0] * (len(cuts) - 1)
    shares = [100 * unit / limit if limit else 0.0 for unit, limit in zip(units, limits, strict=True)]
    return [max(shares[low : max(high, low + 1)], default=0) for low, high in pairwise(cuts)]


def partitions(outcome: PlanOutcome, resource: ResourceOutcome, heat: Heat, detail: Detail) -> Markup | None:
    """Returns the figure; None where no partition was seen."""
    if not heat.lives or not heat.columns:
        return None
    found = grid(heat.lives, heat.columns, detail.columns, detail.heat_rows)
    colour = "the larger of reads and writes, in percent" if heat.both else "percent"
    note = (
        "Each row is a partition, in order of keys; a row that divides is a split. "
        f"Colour: {colour} of the partition's limit."
    )
    if found.joined > 1:
        note += f" Up to {found.joined} adjacent partitions share a row, which shows the busiest of them."
    if resource.partitions_left_out:
        note += f" {plural(resource.partitions_left_out, 'partition')} left out."
    return heatmap(found, outcome.duration_s, _alternative(outcome, resource), note)


def _alternative(outcome: PlanOutcome, resource: ResourceOutcome) -> str:
    throttling = sum(1 for part in resource.partitions if any(part.throttled))
    counts = resource.partition_count or (len(resource.partitions),)
    most = resource.busiest
    used = (
        f"The busiest, {most.partition}, used {percent(most.percent)} of its limit "
        f"about {elapsed(most.at_s)}, averaged over a {each(outcome.step_s)}. "
        if most is not None
        else ""
    )
    return (
        f"{plural(round(counts[0]), 'partition')} at the beginning, {count(counts[-1])} at the end. {used}"
        f"{plural(throttling, 'partition')} throttled requests."
    )
