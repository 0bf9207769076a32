"""Suffixes that divide a key unevenly, such as a product of code points: most products are divisible by 8."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Effect, Finding
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

WRITES_MIN = 200
SUFFIXES_MIN = 4
TIMES = 4
"""How much more than its part the heaviest suffix has."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for key, suffixes in table.suffixes.items():
        total, (heaviest, most) = suffixes.total(), suffixes.most_common(1)[0]
        # Suffixes that were never written are seen by the largest number.
        count = max(len(suffixes), max(map(int, suffixes)) + 1)
        if total < WRITES_MIN or len(suffixes) < SUFFIXES_MIN or most * count < TIMES * total:
            continue
        name = table.definition.name
        yield Finding(
            "uneven-suffixes",
            "medium",
            name,
            None,
            f"The suffixes of key {key!r} of {name} do not spread its writes",
            f"Suffix {heaviest} has {100 * most / total:.0f} % of {total:,} writes; of {count:,} suffixes "
            f"each should have {100 / count:.1f} %.",
            Effect(f"the heaviest suffix is at its limit {most * count / total:.0f} times as soon"),
            f"""\
# A hash spreads what a product or a sum of code points does not:
suffix = zlib.crc32(item_id.encode()) % {count}""",
        )
        return
