"""The median of a partition with more rows than a measurement keeps marks of.

What it proves: it is near the middle however many rows there are, and the sums are exact. Why: if only the
marks of the first rows were merged, they would soon stand for nearly all of the partition.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from faradisc.capacity.partitions import Contents
from faradisc.engine.throughput import size_measurement
from faradisc.engine.throughput.size_measurement import MeasuredRows, RowReader
from faradisc.model.codec import item_record
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore

EQUAL = [10] * 5000
RISING = [10 + number // 10 for number in range(5000)]
A_FEW_LARGE = [9000 if number % 1000 == 7 else 10 for number in range(5000)]


def measured(sizes: Sequence[int]) -> MeasuredRows:
    store = MemoryStore()
    rows = [
        (b"%04d" % number, item_record.encode({"v": {"S": "x"}}, size)) for number, size in enumerate(sizes)
    ]
    run(store.commit([Batch(b"part", puts=rows)]))
    reader, found = RowReader([b"part"], [], b"", None), None
    while found is None:
        found = run(reader.step(store))
    return found


@pytest.mark.parametrize("sizes", [EQUAL, RISING, A_FEW_LARGE])
def test_median_of_many_rows_is_near_the_middle(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_measurement, "MARKS_MAX", 256)
    monkeypatch.setattr(size_measurement, "ROWS_PER_READ", 20)
    found = measured(sizes)
    assert len(found.marks) <= 256
    assert found.measure(b"", None) == Contents(sum(sizes), len(sizes))
    median = found.median(b"", None)
    assert median is not None
    below = sum(sizes[: int(median)])
    assert abs(below - sum(sizes) / 2) <= sum(sizes) / 64 + max(sizes)
