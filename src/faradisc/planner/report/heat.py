"""The heat map of a resource's partitions."""

from __future__ import annotations

from faradisc.charts.heatmap import Life, cells_attribute, grid, heatmap, parts_attribute
from faradisc.charts.markup import Markup, number
from faradisc.charts.plots import Figure, figure
from faradisc.charts.words import count, each, elapsed, percent, plural
from faradisc.planner.outcome import Outcome, PartitionSeries, ResourceOutcome
from faradisc.planner.report.detail import Detail


def used(part: PartitionSeries) -> list[float]:
    """Percent of its limit, sample by sample: of reads or of writes, whichever is nearer to it."""
    return [
        max(100 * read / read_limit if read_limit else 0, 100 * write / write_limit if write_limit else 0)
        for read, read_limit, write, write_limit in zip(
            part.read, part.read_limit, part.write, part.write_limit, strict=True
        )
    ]


def hottest(resource: ResourceOutcome, samples: int) -> list[float]:
    """Percent of its limit that the busiest partition used, sample by sample."""
    highest = [0.0] * samples
    for part in resource.partitions:
        for offset, percents in enumerate(used(part)):
            at = part.first + offset
            if at < samples:
                highest[at] = max(highest[at], percents)
    return highest


def partitions(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """The figure; None where no partition was seen."""
    if not resource.partitions or not outcome.samples:
        return None
    lives = [
        Life(part.id, part.parent, part.first, used(part), part.throttled)
        for part in sorted(resource.partitions, key=lambda each: each.low)
    ]
    found = grid(lives, outcome.samples, detail.columns, detail.heat_rows)
    frame, drawing = heatmap(found, outcome.duration_s)
    both = any(any(p.read) for p in resource.partitions) and any(any(p.write) for p in resource.partitions)
    note = (
        "Each row is a partition, in order of keys; a row that divides is a split. "
        f"Colour: {'the larger of reads and writes as a' if both else ''} share of the partition's limit"
        f"{'' if both else ' in use'}."
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
    return figure(Figure("Partition heat", drawing, frame, _told(outcome, resource), note, extra=extra))


def _told(outcome: Outcome, resource: ResourceOutcome) -> str:
    """The map in a sentence."""
    highest = hottest(resource, outcome.samples)
    top = max(highest, default=0)
    at = highest.index(top) * outcome.step_s if top else 0
    refusing = sum(1 for part in resource.partitions if any(part.throttled))
    first = resource.partition_count[0] if resource.partition_count else len(resource.partitions)
    last = resource.partition_count[-1] if resource.partition_count else first
    return (
        f"{plural(round(first), 'partition')} at the beginning, {count(last)} at the end. "
        f"The busiest used {percent(top)} of its limit at {elapsed(at)}, averaged over "
        f"a {each(outcome.step_s)}. "
        f"{plural(refusing, 'partition')} refused requests."
    )
