"""The heat map of a resource's partitions.

A run may have hundreds of partitions and a hundred thousand samples, so what they used is reduced to columns
once (`reduced`), whatever the detail in which it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from faradisc.charts.heatmap import Life, cells_attribute, grid, heatmap, parts_attribute
from faradisc.charts.markup import Markup, number
from faradisc.charts.plots import Figure, figure
from faradisc.charts.words import count, each, elapsed, percent, plural
from faradisc.tools.planner.report.detail import COLUMNS_MAX, Detail
from faradisc.tools.planner.results.outcome import Number, Outcome, PartitionSeries, ResourceOutcome


@dataclass(frozen=True, slots=True)
class Heat:
    """What the partitions of one resource used, in percent of their limits, column by column."""

    lives: tuple[Life, ...]
    columns: int
    highest: tuple[float, ...]
    """Of the busiest partition."""
    both: bool
    """Whether partitions served reads and writes; then a column is the larger of the two."""

    @property
    def top(self) -> float:
        return max(self.highest, default=0)


@dataclass(frozen=True, slots=True)
class Run:
    """An outcome and the heat of each of its resources."""

    outcome: Outcome
    heats: tuple[Heat, ...]

    @property
    def top(self) -> float:
        return max((heat.top for heat in self.heats), default=0)

    def highest(self) -> list[float]:
        """Percent of its limit that the busiest partition of all resources used, column by column."""
        return [max(column) for column in zip(*(heat.highest for heat in self.heats), strict=True)]


def prepare(outcome: Outcome) -> Run:
    return Run(outcome, tuple(reduced(outcome, resource) for resource in outcome.resources))


def reduced(outcome: Outcome, resource: ResourceOutcome) -> Heat:
    """O(partitions x samples), most of it in built-in functions."""
    columns = min(outcome.samples, COLUMNS_MAX)
    if not columns:
        return Heat((), 0, (), both=False)
    bounds = [i * outcome.samples // columns for i in range(columns + 1)]
    lives = tuple(
        _life(part, bounds, outcome.samples)
        for part in sorted(resource.partitions, key=lambda each: each.low)
    )
    highest = [0.0] * columns
    for life in lives:
        for position, used in enumerate(life.used, life.first):
            highest[position] = max(highest[position], used)
    both = any(any(p.read) for p in resource.partitions) and any(any(p.write) for p in resource.partitions)
    return Heat(lives, columns, tuple(highest), both)


def _life(part: PartitionSeries, bounds: Sequence[int], samples: int) -> Life:
    """A partition in columns. The columns in which it begins and ends are its own only in part."""
    columns = len(bounds) - 1
    length = max(len(part.read), 1)
    first = min(part.first * columns // samples, columns - 1)
    end = min(-(-(part.first + length) * columns // samples), columns)
    cuts = [min(max(bound - part.first, 0), length) for bound in bounds[first : end + 1]]
    cuts = [min(low, length - 1) for low in cuts[:-1]] + cuts[-1:]
    reads, writes = used(part.read, part.read_limit, cuts), used(part.write, part.write_limit, cuts)
    return Life(
        part.id,
        part.parent,
        first,
        [max(pair) for pair in zip(reads, writes, strict=True)],
        [max(part.throttled[low : max(high, low + 1)], default=0) for low, high in pairwise(cuts)],
    )


def used(units: Sequence[Number], limits: Sequence[Number], cuts: Sequence[int]) -> list[float]:
    """The largest percentage of the limit between each two cuts."""
    if not limits:
        return [0.0] * (len(cuts) - 1)
    if limits.count(limits[0]) == len(limits):
        factor = 100 / limits[0] if limits[0] else 0.0
        return [factor * max(units[low : max(high, low + 1)], default=0) for low, high in pairwise(cuts)]
    shares = [100 * unit / limit if limit else 0.0 for unit, limit in zip(units, limits, strict=True)]
    return [max(shares[low : max(high, low + 1)], default=0) for low, high in pairwise(cuts)]


def partitions(outcome: Outcome, resource: ResourceOutcome, heat: Heat, detail: Detail) -> Markup | None:
    """The figure; None where no partition was seen."""
    if not heat.lives or not heat.columns:
        return None
    found = grid(heat.lives, heat.columns, detail.columns, detail.heat_rows)
    frame, drawing = heatmap(found, outcome.duration_s)
    note = (
        "Each row is a partition, in order of keys; a row that divides is a split. "
        f"Colour: {'the larger of reads and writes as a' if heat.both else ''} share of the partition's limit"
        f"{'' if heat.both else ' in use'}."
    )
    if found.joined > 1:
        note += f" Up to {found.joined} neighbours share a row, which shows the busiest of them."
    if resource.partitions_left_out:
        note += f" {plural(resource.partitions_left_out, 'partition')} left out."
    extra = (
        ("data_cells", cells_attribute(found)),
        ("data_parts", parts_attribute(found)),
        ("data_top", number(frame.top)),
        ("data_tall", number(frame.height)),
    )
    return figure(Figure("Partition heat", drawing, frame, _told(outcome, resource, heat), note, extra=extra))


def _told(outcome: Outcome, resource: ResourceOutcome, heat: Heat) -> str:
    """The map in a sentence."""
    at = heat.highest.index(heat.top) * outcome.duration_s / heat.columns
    refusing = sum(1 for part in resource.partitions if any(part.throttled))
    first = resource.partition_count[0] if resource.partition_count else len(resource.partitions)
    last = resource.partition_count[-1] if resource.partition_count else first
    return (
        f"{plural(round(first), 'partition')} at the beginning, {count(last)} at the end. "
        f"The busiest used {percent(heat.top)} of its limit about {elapsed(at)}, averaged over "
        f"a {each(outcome.step_s)}. "
        f"{plural(refusing, 'partition')} refused requests."
    )
