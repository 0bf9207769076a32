"""Vectors V94 to V102a, V104 to V107, V110 and V111 of capacity.md section 4.6: loads on whole resources.

Where a vector's rates are large the test runs them for seconds, not minutes: what is asserted are rates.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from faradisc.capacity.admission import Charge, admit, take_all
from faradisc.capacity.config import MINUTE_NS, SECOND_NS, UNIT, CapacityConfig, profile
from faradisc.capacity.events import CapacityGrown, ShareBoosted, SplitRefused
from faradisc.capacity.heat import NoSplit
from faradisc.capacity.provisioning import ProvisioningState
from faradisc.capacity.resource import Resource
from faradisc.capacity.throttle import TABLE_ON_DEMAND, TABLE_PROVISIONED
from faradisc.capacity.units import write_units
from unit.capacity.worlds import INDEX, START, inside, load, place, read, table, write


def test_v91_idle_for_five_minutes_and_for_an_hour() -> None:
    """V91, D: 150 RCU accumulate 45,000 units in 300 s, and none afterwards."""
    for idle_s in (300, 3600):
        config = replace(profile("aws"), initial_burst_s=0).with_partition_caps(10**6, 10**6)
        resource = table(read_units=150, config=config)
        seen = sum(
            read(resource, place(f"k{n % 40}"), START + idle_s * SECOND_NS, 40) is None for n in range(2500)
        )
        assert seen == 45_000 // 20, "reads of 20 units, all at one moment"


def test_v93_without_burst_on_a_whole_resource() -> None:
    """V93, S3, X: 60 WCU in the pessimistic profile, 3,600 writes in one second, idle otherwise: 60 of
    3,600 provisioned in the minute are used, 1.7 %, yet throttled."""
    resource = table("pessimistic", write_units=60)
    where = place("k")
    passed = sum(write(resource, where, START + 59 * SECOND_NS) is None for _ in range(3600))
    assert passed == 60
    assert round(100 * passed / (60 * 60), 1) == 1.7


def uneven() -> list[tuple[bytes, int]]:
    """S4's adaptive example: 50, 50, 50 and 150 writes a second, one key in each of four partitions."""
    return [
        (bytes([high]) + b"\0" * 15 + b"k", rate) for high, rate in ((0, 50), (64, 50), (128, 50), (192, 150))
    ]


def four_partitions(name: str, **settings: object) -> Resource:
    resource = table(name, write_units=400, partitions=4, **settings)
    for bucket in resource.writes.buckets:
        if bucket.share is not None:
            bucket.share.set_balance(START, 30_000 * UNIT)
    return resource


def test_v94_v95_classic_adaptive_capacity() -> None:
    """V94, V95, S4: the hot partition lives 600 s on its burst balance, then passes 100/s of 150, until
    adaptive capacity lifts it to 150 some 5 to 30 minutes after the first throttle."""
    resource = four_partitions("classic-2017", chance=random.Random(7))
    hot = uneven()[3][0]
    # The three quiet streams never throttle; leaving them out would only make the test slower to read.
    first = load(resource, uneven(), 660)
    assert first.first_throttle_s == pytest.approx(600, abs=1)
    assert first.passed[hot] == pytest.approx(600 * 150 + 60 * 100, abs=3)
    assert first.throttled.keys() == {hot}
    assert first.reasons.keys() == {"TableWriteKeyRangeThroughputExceeded"}
    later = load(resource, uneven(), 1860, start_s=660)
    (boost,) = [event for event in later.events if isinstance(event, ShareBoosted)]
    assert boost.units == "150"
    assert 600 + 300 <= (boost.at_ns - START) / SECOND_NS <= 600 + 1800 + 60
    after = load(resource, uneven(), 10, start_s=2520)
    assert after.throttles == 0


def test_v95_modern_adaptive_capacity_is_instant() -> None:
    """V95, D: 300 of 400 in total and 150 of 1,000 on the hot partition: never throttled."""
    resource = four_partitions("aws")
    resource.writes.table_bucket.set_balance(START, 0)  # type: ignore[union-attr]
    assert load(resource, uneven(), 300, start_s=1).throttles == 0


def test_v96_one_hot_key_on_demand() -> None:
    """V96, S2, S3, D: 2,400 W/s on one key: 1,000/s pass, the rest is throttled by KeyRange in a
    ThrottlingException; no split helps a single item, and the event says so."""
    resource = table(on_demand=True, composite=False, config=replace(profile("aws"), heat_cooldown_s=10))
    where = place("hot")
    load(resource, [(where, 2400)], 2)
    seen = load(resource, [(where, 2400)], 5, start_s=2)
    assert seen.passes == pytest.approx(5 * 1000, abs=10)
    assert seen.reasons.keys() == {"TableWriteKeyRangeThroughputExceeded"}
    refused = resource.writes.refuse(where, START + 7 * SECOND_NS)
    assert refused.partition == resource.partitions.find(where).id
    body = refused.as_api_error().body()
    assert body["__type"].endswith("#ThrottlingException")
    assert body["message"] == TABLE_ON_DEMAND
    assert [entry["reason"] for entry in body["throttlingReasons"]] == [
        "TableWriteKeyRangeThroughputExceeded"
    ]


def test_v96_no_heat_split_helps_a_single_item() -> None:
    """V96 over 25 minutes at a hundredth of the scale (partition caps 30/10): the key is isolated, the
    isolated partition is refused a split, and its throughput never rises."""
    config = profile("aws").with_partition_caps(30, 10)
    resource = table(on_demand=True, composite=False, config=config)
    where = place("hot")
    seen = load(resource, [(where, 24)], 1500)
    alone = resource.partitions.find(where)
    assert alone.low == where[:16]
    assert alone.not_split_because == NoSplit.SINGLE_ITEM.value
    rejected = [event for event in seen.events if isinstance(event, SplitRefused)]
    assert [event.key for event in rejected] == [where.hex()]
    assert seen.passes == pytest.approx(1500 * 10, rel=0.01)


@pytest.mark.parametrize(("name", "queries"), [("documented", 6000), ("aws", 9000)])
def test_v96a_eventual_queries_of_one_partition(name: str, queries: int) -> None:
    """V96a, D, M3: 6,000 EC queries a second as documented, 9,000 as observed."""
    resource = table(name, on_demand=True)
    where = place("hot")

    def query(res: Resource, at: bytes, now: int) -> str | None:
        return read(res, at, now, 1, eventual=True)

    load(resource, [(where, 12_000)], 4, request=query)
    seen = load(resource, [(where, 12_000)], 2, start_s=4, request=query)
    assert seen.passes == pytest.approx(2 * queries, abs=10)


def test_v96b_partition_caps_of_one_table() -> None:
    """V96b, X: caps of 30/10 on a 100-WCU table: one key at 50 W/s passes 10/s."""
    resource = table(config=profile("aws").with_partition_caps(30, 10), write_units=100, read_units=100)
    where = place("hot")
    load(resource, [(where, 50)], 2)
    seen = load(resource, [(where, 50)], 10, start_s=2)
    assert (seen.passes, seen.throttles) == (pytest.approx(100, abs=2), pytest.approx(400, abs=2))
    assert seen.reasons.keys() == {"TableWriteKeyRangeThroughputExceeded"}
    assert (
        resource.writes.refuse(where, START + 12 * SECOND_NS).as_api_error().body()["message"]
        == TABLE_PROVISIONED
    )


def test_v97_a_million_units_and_one_item() -> None:
    """V97, S0: whatever the table has, one item is served by one partition: 3,000 SC reads a second."""
    resource = table(read_units=1_000_000)
    where = place("only")
    load(resource, [(where, 6000)], 1, request=read)
    seen = load(resource, [(where, 6000)], 2, start_s=1, request=read)
    assert seen.passes == pytest.approx(2 * 3000, abs=6)


def test_v98_date_key_and_sharded_suffix() -> None:
    """V98, S4, S2: 4,000 W/s over 5 partitions: one date key passes 1,000/s, suffixes 1..200 about all,
    whether random or calculated; the calculated one is found again by one GetItem."""
    dated = table(read_units=1, write_units=4999, partitions=5)
    assert len(dated.partitions) == 5
    one = [(place("2014-07-09"), 4000)]
    load(dated, one, 2)
    assert load(dated, one, 2, start_s=2).passes == pytest.approx(2000, abs=6)
    for suffix in (
        lambda order: (order * 7919) % 200 + 1,
        lambda order: sum(map(ord, f"o{order}")) % 200 + 1,
    ):
        sharded = table(read_units=1, write_units=4999, partitions=5)
        passes = 0
        for order in range(8000):
            now = START + order * SECOND_NS // 4000
            passes += write(sharded, place(f"2014-07-09.{suffix(order)}"), now) is None
        assert passes == pytest.approx(8000, rel=0.03)


def test_v99_upload_order() -> None:
    """V99, S4: 4,000 W/s user by user go through one partition at a time, interleaved through all four."""
    resource = table(write_units=4000, partitions=4)
    users = [inside(part) for part in resource.partitions.partitions]
    by_user = sum(load(resource, [(user, 4000)], 2, start_s=2 * i).passes for i, user in enumerate(users))
    assert by_user == pytest.approx(4 * (1000 + 2 * 1000), rel=0.01), "a second's burst in each partition"
    resource = table(write_units=4000, partitions=4)
    assert load(resource, [(user, 1000) for user in users], 8).passes == 8 * 4000


def test_v100_old_items_deleted_or_dropped_with_their_table() -> None:
    """V100, S4: deleting 10 million items of 1 KB costs 10 million units, deleting their table none."""
    assert 10_000_000 * write_units(1024, 0) == 10_000_000


def test_v101_a_cache_in_front_of_a_popular_item() -> None:
    """V101, S4: 5,000 SC reads a second pass 3,000; with half of them cached, all 2,500 pass."""
    for reads, expected in ((5000, 3000), (2500, 2500)):
        resource = table(read_units=10_000)
        where = place("popular")
        load(resource, [(where, reads)], 2, request=read)
        assert load(resource, [(where, reads)], 1, start_s=2, request=read).passes == pytest.approx(
            expected, abs=3
        )


@pytest.mark.parametrize("name", ["classic-2017", "aws"])
def test_v102_a_lowered_table_keeps_its_thin_partitions(name: str) -> None:
    """V102, S4: 11,000 WCU lowered to 200; one key at 100 W/s is throttled above 18.18/s once the balance of
    5,454 is spent after about 67 s; modern tables pass it."""
    resource = table(name, write_units=11_000)
    resource.set_provisioned(0, 200, START)
    where = place("key")
    bucket = resource.writes.bucket_of(where)
    if bucket.share is not None:
        bucket.share.set_balance(START, 1 << 80)
        assert bucket.share.balance(START) // UNIT == 5454
    seen = load(resource, [(where, 100)], 100)
    if name == "aws":
        assert seen.throttles == 0
    else:
        assert seen.first_throttle_s == pytest.approx(67, abs=1)
        rest = load(resource, [(where, 100)], 50, start_s=100)
        assert rest.passes == pytest.approx(50 * 18.18, abs=2)


@pytest.mark.parametrize(("name", "per_second"), [("classic-2017", 55.6), ("aws", 300)])
def test_v102a_data_growth_divides_a_classic_table(name: str, per_second: float) -> None:
    """V102a, S4, X: 500 WCU, one key takes 300 W/s: passes with 1 partition; with 9, the classic key gets
    55.6/s after its burst, the modern one everything."""
    where = place("key")
    assert load(table(name, write_units=500), [(where, 300)], 5, start_s=1).throttles == 0
    grown = table(name, write_units=500, partitions=9)
    seen = load(grown, [(where, 300)], 10, start_s=1)
    assert seen.passes == pytest.approx(10 * per_second, rel=0.12 if name == "classic-2017" else 0)


def on_demand_state(config: CapacityConfig) -> ProvisioningState:
    return ProvisioningState.new(config, (0, 0), on_demand=True, maximum=(None, None))


def test_v104_an_on_demand_table_under_full_load() -> None:
    """V104, S3, D: 4,000; 8,000 at 30 minutes; 16,000; 32,000; 40,000 at 120 minutes."""
    state = on_demand_state(profile("aws"))
    served = []
    for minute in range(151):
        now = minute * MINUTE_NS
        _, units = state.capacity(now)
        state.end_minute(1, now, units * UNIT, now)
        if minute % 30 == 0:
            served.append(units)
    assert served == [4000, 8000, 16_000, 32_000, 40_000, 40_000]


def test_v104_growth_adds_partitions() -> None:
    """V104 on a whole resource: the first doubling of its load brings 8 partitions."""
    resource = table(on_demand=True)
    where = [inside(part) for part in resource.partitions.partitions]
    events = []
    for second in range(32 * 60):
        now = START + second * SECOND_NS
        events += resource.advance(now)
        resource.writes.tally[2000] += len(where)  # 1,000 units in one line instead of a thousand
    (grown,) = [event for event in events if isinstance(event, CapacityGrown)]
    assert (grown.direction, grown.units) == ("W", 8000)
    assert grown.at_ns - START == 30 * MINUTE_NS
    resource.advance(START + 33 * MINUTE_NS)
    assert len(resource.partitions) == 8


def test_v105_a_previous_peak_of_50_000() -> None:
    """V105, D: 100,000 at once, 200,000 once those are a peak of half an hour ago."""
    state = on_demand_state(replace(profile("aws"), table_read_units=10**9))
    state.end_minute(0, START, 50_000 * UNIT, START)
    assert state.capacity(START + 29 * MINUTE_NS)[0] == 12_000
    half_an_hour = START + 30 * MINUTE_NS
    assert state.capacity(half_an_hour)[0] == 100_000
    assert state.end_minute(0, half_an_hour, 100_000 * UNIT, half_an_hour) == 100_000
    assert state.capacity(START + 60 * MINUTE_NS)[0] == 200_000


@pytest.mark.parametrize(
    ("rates", "served"), [((1000, 500), (12_000, 4_000)), ((24_000, 8_000), (24_000, 8_000))]
)
def test_v106_switch_to_on_demand(rates: tuple[int, int], served: tuple[int, int]) -> None:
    """V106, D."""
    resource = table(read_units=rates[0], write_units=rates[1])
    resource.set_on_demand(START)
    assert resource.capacity(START) == served
    resource.advance(START + 3600 * SECOND_NS)
    assert len(resource.partitions) >= served[1] // 1000


def test_v107_configured_maximum() -> None:
    """V107, M1: a maximum of 17 reads a second."""
    resource = table(on_demand=True, max_read=17, config=replace(profile("aws"), initial_burst_s=0))
    where = place("k")
    load(resource, [(where, 40)], 2, request=read)
    seen = load(resource, [(where, 40)], 10, start_s=2, request=read)
    assert seen.passes == pytest.approx(170, abs=2)
    body = resource.reads.refuse(where, START + 12 * SECOND_NS).as_api_error().body()
    assert body["__type"].endswith("#ThrottlingException")
    assert body["message"] == "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
    assert body["throttlingReasons"] == [
        {"reason": "TableReadMaxOnDemandThroughputExceeded", "resource": resource.arn}
    ]


def base_and_index(base_units: int, index_units: int, balance: int) -> tuple[Resource, Resource]:
    base = table(read_units=1, write_units=base_units)
    index = Resource(INDEX, "Index", profile("aws"), START, read_units=1, write_units=index_units)
    assert index.writes.table_bucket is not None
    index.writes.table_bucket.set_balance(START, balance * UNIT)
    return base, index


def test_v109_a_small_index_holds_back_its_table() -> None:
    """V109, X: base 1,000 WCU, index 100 with a balance of 30,000, 500 indexed writes a second: 75 s, then
    100/s; the rest is refused in the index's name and takes nothing from the table."""
    base, index = base_and_index(1000, 100, 30_000)
    reasons: dict[str, int] = {}
    passed = [0] * 90
    for request in range(90 * 500):
        now = START + request * SECOND_NS // 500
        charges = [
            Charge(base.writes, place(f"b{request % 97}"), 2),
            Charge(index.writes, place(f"i{request % 89}"), 2),
        ]
        refused = admit(charges, now)
        if refused is None:
            take_all(charges, now)
            passed[request // 500] += 1
        else:
            reasons[f"{refused.reason} {refused.arn}"] = reasons.get(f"{refused.reason} {refused.arn}", 0) + 1
    assert passed[:74] == [500] * 74
    assert passed[76:] == pytest.approx([100] * 14, abs=1)
    assert list(reasons) == [f"IndexWriteProvisionedThroughputExceeded {INDEX}"]


def test_v110_rates_change_when_the_update_settles() -> None:
    """V110, S0, M2 (the part of capacity): the burst balance is kept, cut to the new cap."""
    resource = table(read_units=5, write_units=5)
    assert write(resource, place("k"), START) is None
    resource.set_provisioned(10, 10, START + SECOND_NS)
    assert resource.writes.table_bucket is not None
    assert resource.writes.table_bucket.rate == 10
    assert resource.writes.table_bucket.balance(START + SECOND_NS) == 1500 * UNIT


def test_v111_an_index_without_units_refuses_even_what_it_does_not_project() -> None:
    """V111, M1: the index is asked although the write would cost it nothing."""
    base, index = base_and_index(32, 1, 0)
    charges = [Charge(base.writes, place("k"), 2), Charge(index.writes, place("g"), 0)]
    refused = admit(charges, START)
    assert refused is not None
    assert (refused.reason, refused.arn) == ("IndexWriteProvisionedThroughputExceeded", INDEX)
    assert admit(charges, START + 1) is None
    take_all(charges, START + 1)
    assert index.writes.table_bucket is not None and index.writes.table_bucket.balance(START + 1) == 1
