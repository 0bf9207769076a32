"""Where a hot partition is cut, and every reason why one is not: capacity.md section 2.7."""

from __future__ import annotations

from faradisc.capacity import heat
from faradisc.capacity.config import SECOND_NS, profile
from faradisc.capacity.events import Split, SplitStarted
from faradisc.capacity.heat import Cut, NoCut, NoSplit, choose_cut
from faradisc.capacity.key_watch import KeyWatch
from faradisc.capacity.partitions import Partition, PartitionMap
from faradisc.capacity.resource import Resource
from faradisc.capacity.topology import after_key, collection_edges
from unit.capacity.worlds import START, load, place, table

CONFIG = profile("aws")


def hot(*weights: tuple[bytes, int]) -> Partition:
    """A partition over the whole key space whose writes were seen with these weights."""
    part = PartitionMap(CONFIG, 1, START).partitions[0]
    part.writes.watch = KeyWatch(CONFIG)
    for where, weight in weights:
        part.writes.watch.add(where, weight)
    part.writes.heat = 1
    return part


def cut(part: Partition, *, composite: bool = True, local_indexes: bool = False) -> Cut | NoCut:
    return choose_cut(part, CONFIG, composite=composite, local_indexes=local_indexes)


def test_a_key_with_half_of_the_heat_is_isolated() -> None:
    """Rule 2: cut just before and just behind it."""
    key = place("u1", "s5")
    part = hot((key, 60), (place("u2"), 20), (place("u3"), 20))
    assert cut(part) == Cut((key, after_key(key)), "isolate a key", key)


def test_without_a_sort_key_the_hash_value_is_isolated() -> None:
    key = place("u1")
    assert cut(hot((key, 60), (place("u2"), 40)), composite=False) == Cut(
        tuple(edge for edge in collection_edges(key) if edge), "isolate a key", key
    )


def test_with_a_local_index_a_collection_is_isolated_and_never_cut() -> None:
    key = place("u1", "s5")
    found = cut(hot((key, 60), (place("u2"), 40)), local_indexes=True)
    assert isinstance(found, Cut)
    assert all(len(edge) == 16 for edge in found.keys)


def test_a_single_item_alone_cannot_be_split() -> None:
    """Rule 1."""
    key = place("u1", "s5")
    part = hot((key, 100))
    part.low, part.high = key, after_key(key)
    assert cut(part) == NoCut(NoSplit.SINGLE_ITEM, key)


def test_one_collection_is_cut_at_its_sort_key_median() -> None:
    """Rule 3."""
    rows = [place("u1", f"s{n}") for n in (3, 0, 2, 1)]
    assert cut(hot(*((row, 25) for row in rows))) == Cut((place("u1", "s2"),), "sort key median")


def test_one_collection_of_a_table_with_a_local_index_is_not_cut() -> None:
    """Rule 3; documented exclusion."""
    rows = [(place("u1", f"s{n}"), 25) for n in range(4)]
    assert cut(hot(*rows), local_indexes=True) == NoCut(NoSplit.LOCAL_INDEX, rows[0][0][:16])


def test_an_ever_increasing_sort_key_is_not_cut() -> None:
    """Rule 3; documented exclusion."""
    rows = [(place("log", f"{n:04d}"), 1) for n in range(100)]
    assert cut(hot(*rows)) == NoCut(NoSplit.RISING_KEY, rows[0][0][:16])


def test_a_shuffled_sort_key_is_cut() -> None:
    rows = [(place("log", f"{n * 37 % 100:04d}"), 1) for n in range(100)]
    assert isinstance(cut(hot(*rows)), Cut)


def test_spread_heat_is_cut_at_its_median() -> None:
    """Rule 4: between hash values where that divides as well."""
    rows = sorted(place(f"u{n}") for n in range(10))
    assert cut(hot(*((row, 10) for row in rows))) == Cut((rows[5][:16],), "key median")


def test_nothing_seen_nothing_cut() -> None:
    part = PartitionMap(CONFIG, 1, START).partitions[0]
    assert cut(part) == NoCut(NoSplit.NOTHING_SEEN)


def test_two_keys_of_one_hash_value_with_a_local_index() -> None:
    """Neither has 80 % and no edge lies between them."""
    part = hot((place("u1", "a"), 45), (place("u1", "b"), 45), (place("u2"), 10))
    assert cut(part, local_indexes=True) == NoCut(NoSplit.LOCAL_INDEX, place("u1")[:16])


def two_hot_keys(config_name: str = "aws") -> Resource:
    config = profile(config_name).with_partition_caps(30, 10)
    return table(config=config, read_units=100, write_units=100, partitions=1)


def test_relief_after_about_ten_minutes() -> None:
    """Section 2.7, M3: flat for about ten minutes, then the split relieves two hot keys."""
    resource = two_hot_keys()
    streams = [(place("left"), 10), (place("right"), 10)]
    seen = load(resource, streams, 720)
    (started,) = [event for event in seen.events if isinstance(event, SplitStarted)]
    assert 290 <= (started.at_ns - START) / SECOND_NS <= 330
    (split,) = [event for event in seen.events if isinstance(event, Split)]
    assert 590 <= (split.at_ns - START) / SECOND_NS <= 630
    assert load(resource, streams, 30, start_s=720).throttles == 0
    assert [entry["event"] for entry in resource.splitting.log] == ["SplitStarted", "Split"]


def test_no_heat_splits_where_the_profile_has_none() -> None:
    resource = two_hot_keys("pessimistic")
    assert load(resource, [(place("left"), 10), (place("right"), 10)], 400).events == []
    assert all(bucket.watch is None for bucket in resource.writes.buckets)


def test_a_cold_partition_is_not_watched() -> None:
    resource = two_hot_keys()
    load(resource, [(place("left"), 5)], 300)
    assert resource.writes.buckets[0].watch is None
    assert 40 <= heat.utilisation_percent(resource.writes.buckets[0]) < 60


def test_a_collection_that_comes_late_is_still_seen_to_rise() -> None:
    """The watch knows a bounded number of collections and makes room for heavy ones."""
    watch = KeyWatch(CONFIG)
    for n in range(200):
        watch.add(place(f"early{n}"), 1)
    for n in range(2000):
        watch.add(place("log", f"{n:04d}"), 10)
    assert len(watch.collections) <= CONFIG.sketch_keys
    part = hot()
    part.writes.watch = watch
    assert cut(part) == NoCut(NoSplit.RISING_KEY, place("log")[:16])
