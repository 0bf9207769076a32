"""Which partitions a second's requests are for (tools/planner/placing.py)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from statistics import variance

import pytest

from faradisc.tools.planner import openings, singly
from faradisc.tools.planner.doors import Group, GroupedFlow
from faradisc.tools.planner.placing import DRAWN_MAX, PLACED_PER_GROUP, place
from faradisc.tools.planner.run import run
from faradisc.tools.planner.shares import Spans
from faradisc.tools.planner.workload.key_distributions import ONE
from unit.planner.planned import planned

SECONDS = 120
PLAN = """
    duration: {seconds}s
    retries: none
    partition_caps: 300/100
    tables: {{T: {{mode: on-demand, partitions: {partitions}, sort_key: true{index}}}}}
    traffic:
      - {{name: large, operation: PutItem, rate: {rate}, item_size: 39 KB, keys: {keys}}}
"""
ZIPF = "{zipf: {keys: 100000, exponent: 1.0}}"
INDEX = ", indexes: {g: {share: 40%, partitions: 2, keys: {zipf: {keys: 10000, exponent: 0.8}}}}"


@dataclass
class Placed:
    flow: GroupedFlow
    of_streams: list[int]
    found: dict[Group, int]
    known: list[tuple[int, int]]
    """Per group: whose keys are known, and who may be admitted."""


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[Placed]:
    """The requests of each second of a run."""
    seconds: list[Placed] = []

    def told(flow: GroupedFlow, of_streams: list[int], random: Random, now: int) -> dict[Group, int]:
        found = place(flow, of_streams, random, now)
        known = [(len(group.drawn), count + group.returns.waiting) for group, count in found.items()]
        seconds.append(Placed(flow, of_streams, found, known))
        return found

    monkeypatch.setattr(singly, "SINGLE_MAX", 0)
    monkeypatch.setattr(openings, "place", told)
    return seconds


def place_all(text: str) -> None:
    run(planned(text), engine="fluid")


@pytest.mark.parametrize("index", ["", INDEX])
@pytest.mark.parametrize("rate", [DRAWN_MAX, 16.3, 43, 4 * PLACED_PER_GROUP, 24 * PLACED_PER_GROUP + 1])
@pytest.mark.parametrize(
    "keys", [ZIPF, "{uniform: 100000}", "{uniform: 20}", "{sequential: {items_per_key: 7}}"]
)
def test_each_request_is_placed_once(keys: str, rate: float, index: str, placed: list[Placed]) -> None:
    place_all(PLAN.format(seconds=SECONDS, partitions=4, rate=rate, keys=keys, index=index))
    assert len(placed) == SECONDS
    for second in placed:
        assert all(second.found.values())
        assert second.of_streams == [
            sum([second.found.get(group, 0) for group in stream.groups.values()])
            for stream in second.flow.streams
        ]


@pytest.mark.parametrize("keys", [ZIPF, "{uniform: 100000}", "{uniform: 300}"])
@pytest.mark.parametrize("index", ["", INDEX])
def test_in_the_end_each_partition_has_what_its_weight_gives_it(
    keys: str, index: str, placed: list[Placed]
) -> None:
    place_all(PLAN.format(seconds=SECONDS, partitions=4, rate=50, keys=keys, index=index))
    total: dict[Group, int] = {}
    for second in placed:
        for group, count in second.found.items():
            total[group] = total.get(group, 0) + count
    flow = placed[-1].flow
    for stream in flow.streams:
        groups = list(stream.groups.values())
        mine = sum([total[group] for group in groups])
        for group in groups:
            expected = mine * group.weight / ONE
            assert abs(total[group] - expected) < 4 * expected**0.5, (total[group], expected)


def test_numbers_vary_as_those_of_single_requests_do(placed: list[Placed]) -> None:
    """Of 16 requests by Zipf's law half a table has 8 in most seconds if only weights count, and 4 or
    12 now and then if each has a key. A plan of such halves was 0.7 % off."""
    place_all(PLAN.format(seconds=SECONDS, partitions=2, rate=16, keys=ZIPF, index=""))
    flow = placed[-1].flow
    (stream,) = flow.streams
    group = next(iter(stream.groups.values()))
    (shape,) = stream.shapes
    cell = group.passages[0].cell
    random = Random(1)
    drawn = [
        sum(
            [
                stream.notes[0].lane.bucket_of(shape.draw(point, 0)[1]) is cell
                for point in flow.points.take(16)
            ]
        )
        for _ in range(1000)
    ]
    numbers = [second.found.get(group, 0) for second in placed]
    assert variance(numbers) == pytest.approx(variance(drawn), rel=0.5)
    by_weight = [int(16 * group.weight / ONE + random.random()) for _ in range(1000)]
    assert variance(by_weight) < 0.2 * variance(drawn)


@pytest.mark.parametrize("retries", ["none", "standard"])
def test_only_those_who_may_still_be_admitted_are_known_by_their_keys(
    retries: str, placed: list[Placed]
) -> None:
    """Where a partition is cut hangs on the keys that were admitted. They were chosen among those of the last
    minutes, which lie more evenly: partitions were cut better, and 6 % more were served."""
    text = PLAN.format(seconds=SECONDS, partitions=2, rate=4, keys=ZIPF, index="")
    place_all(text.replace("retries: none", f"retries: {retries}"))
    known = [pair for second in placed for pair in second.known]
    assert any(drawn for drawn, _ in known)
    assert all(drawn <= candidates for drawn, candidates in known)


def test_keys_of_a_quiet_time_are_forgotten(placed: list[Placed]) -> None:
    """Requests that are many are not known by their keys, and whoever is admitted then is none of the few
    that were."""
    rates = "{steps: [{at: 0s, rate: 2}, {at: 30s, rate: 200}]}"
    place_all(
        PLAN.format(seconds=60, partitions=2, index="", rate=rates, keys=ZIPF).replace("none", "legacy")
    )
    drawn = [sum([known for known, _ in second.known]) for second in placed]
    assert any(drawn[:30])
    assert not any(drawn[30:])


@pytest.mark.parametrize("sort", ["one", "spread"])
@pytest.mark.parametrize("keys", [ZIPF, "{uniform: 100000}", "{uniform: 30}"])
def test_a_point_is_where_its_key_lies(keys: str, sort: str, placed: list[Placed]) -> None:
    text = PLAN.format(seconds=1, partitions=7, rate=40, keys=keys, index="")
    place_all(text if sort == "spread" else text.replace(", sort_key: true", ""))
    (stream,) = placed[-1].flow.streams
    (shape,), (shares,), (record,) = stream.shapes, stream.shares, stream.notes
    assert shape.sort == sort or not shape.keys
    random = Random(7)
    points = [0, ONE - 1, *(random.randrange(ONE) for _ in range(2000))]
    cells = [shares[number].cell for number in Spans(shape, shares).owners(points)]
    assert cells == [record.lane.bucket_of(shape.draw(point, ONE // 2)[1]) for point in points]
