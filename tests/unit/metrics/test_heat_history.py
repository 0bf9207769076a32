"""The past of the heat map: what is warm is sampled, what is not stays unknown, memory is bounded."""

from __future__ import annotations

import pytest

from faradisc.capacity import inspect
from faradisc.capacity.config import SECOND_NS, profile
from faradisc.capacity.resource import Resource
from faradisc.metrics.heat_history import PARTITIONS_MAX, RESOURCES_MAX, SLOT_S, SLOTS, HeatHistory
from unit.capacity.worlds import START, TABLE, load, place, table


def small(name: str = "") -> Resource:
    """Four partitions of 30 reads and 10 writes a second."""
    config = profile("aws").with_partition_caps(30, 10)
    resource = Resource(TABLE + name, "Table", config, START, read_units=60, write_units=20)
    resource.set_partitions(4, START)
    return resource


def look(history: HeatHistory, at_s: int, resource: Resource) -> None:
    """Reads the history as the page does."""
    now_ns = START + at_s * SECOND_NS
    history.observe(now_ns, [inspect.describe(resource, now_ns)])


def watch(history: HeatHistory, at_s: int, *resources: Resource) -> None:
    inspect.observe_heat(history, START + at_s * SECOND_NS, resources)


def test_heat_without_samples_is_unknown() -> None:
    resource, history = small(), HeatHistory()
    look(history, 0, resource)
    look(history, 5 * SLOT_S, resource)
    pasts, slots = history.of(TABLE)
    assert slots == 6
    assert [past.used for past in pasts] == [[0, -1, -1, -1, -1, 0]] * 4


def test_throttles_are_counted_in_the_next_sample_only() -> None:
    resource, history = small(), HeatHistory()
    for step in range(4):
        if step == 2:
            load(resource, [(place("hot"), 60)], 1, start_s=step * SLOT_S - 1)
        look(history, step * SLOT_S, resource)
    refused = sorted(past.throttled for past in history.of(TABLE)[0])
    assert (refused[0], refused[-1]) == ([0, 0, 0, 0], [0, 0, 40, 0])


def test_throttles_of_a_new_table_are_in_its_first_sample() -> None:
    resource, new, old = small(), HeatHistory(), HeatHistory()
    load(resource, [(place("hot"), 60)], 1, start_s=1)
    look(new, SLOT_S, resource)
    look(old, 3 * SLOT_S, resource)
    first, late = ([past.throttled for past in history.of(TABLE)[0]] for history in (new, old))
    assert max(first) == [40]
    assert late == [[0]] * 4


def test_samples_of_one_slot_add_their_throttles() -> None:
    resource, history = small(), HeatHistory()
    look(history, 0, resource)
    for second in (1, 2):
        load(resource, [(place("hot"), 60)], 1, start_s=second)
        look(history, second + 1, resource)
    assert max(sum(past.throttled) for past in history.of(TABLE)[0]) > 60


def test_a_slot_shows_what_was_consumed_in_it_and_not_an_average() -> None:
    resource, history = small(), HeatHistory()
    load(resource, [(place("hot"), 12)], SLOT_S)
    watch(history, SLOT_S, resource)
    load(resource, [(place("hot"), 1)], SLOT_S, start_s=SLOT_S)
    watch(history, 2 * SLOT_S, resource)
    load(resource, [(place("hot"), 1)], 1, start_s=2 * SLOT_S)
    watch(history, 3 * SLOT_S, resource)
    [used] = [past.used for past in history.of(TABLE)[0] if max(past.used) > 0]
    assert used == [110, 9]  # the first second has the burst of a full bucket


def test_children_stand_where_their_parent_was() -> None:
    resource, history = small(), HeatHistory()
    look(history, 0, resource)
    resource.set_partitions(5, START + SECOND_NS)
    look(history, SLOT_S, resource)
    pasts, _ = history.of(TABLE)
    assert len(pasts) == 6
    parents = [past.parent for past in pasts if past.first == 1]
    [parent] = [past for past in pasts if past.first == 0 and len(past.used) == 1]
    assert parents == [parent.name] * 2
    places = [past.name for past in pasts]
    assert all(abs(places.index(parent.name) - places.index(past.name)) <= 2 for past in pasts if past.first)


def test_the_count_of_throttled_requests_goes_on_at_a_split() -> None:
    resource = small()
    load(resource, [(place("hot"), 60)], 3)
    before = [part["write"]["throttled"] for part in inspect.heat(resource)["partitions"]]
    assert max(before) > 0
    resource.set_partitions(12, START + 4 * SECOND_NS)
    after = [part["write"]["throttled"] for part in inspect.heat(resource)["partitions"]]
    assert (len(after), sum(after), max(after)) == (12, sum(before), max(before))


def test_warm_partitions_are_sampled_without_readers() -> None:
    busy, idle, history = small(), small("/index/idle"), HeatHistory()
    for step in range(6):
        load(busy, [(place("hot"), 30)], SLOT_S, start_s=step * SLOT_S)
        watch(history, (step + 1) * SLOT_S, busy, idle)
    pasts, slots = history.of(TABLE)
    assert slots == 5  # heat is known of ten seconds when the next ones begin
    [hot] = [past for past in pasts if any(past.throttled)]
    assert min(hot.used) == 100
    assert history.of(idle.arn) == ([], 0)
    look(history, 6 * SLOT_S, idle)
    assert history.of(idle.arn)[1] == 1


def test_of_too_many_the_hottest_are_kept_and_those_that_are_known_stay() -> None:
    resources = [small(f"-{number:02}") for number in range(RESOURCES_MAX + 8)]
    for number, resource in enumerate(resources):
        load(resource, [(place("hot"), 1 + number % 8)], 60)
    history = HeatHistory()
    watch(history, 60, *resources)
    coolest = [each for each in resources if history.of(each.arn)[1] == 0]
    assert len(coolest) == 8
    assert max(map(inspect.busiest_percent, coolest)) <= min(
        inspect.busiest_percent(each) for each in resources if each not in coolest
    )
    load(coolest[0], [(place("hot"), 9)], 60, start_s=60)
    watch(history, 120, *resources)
    assert history.of(coolest[0].arn)[1] == 0
    # As soon as one of the known has cooled down, there is room.
    known = [each for each in resources if each not in coolest]
    watch(history, 180, coolest[0], *known[1:])
    assert history.of(coolest[0].arn)[1] == 1
    assert history.of(known[0].arn)[1] == 0


def test_the_past_is_bounded_in_slots_in_tables_and_in_partitions() -> None:
    history, resource = HeatHistory(), small()
    for number in range(SLOTS + 50):
        look(history, number * SLOT_S, resource)
    pasts, slots = history.of(TABLE)
    assert slots == SLOTS
    assert {len(past.used) for past in pasts} == {SLOTS}
    for number in range(RESOURCES_MAX):
        look(history, 1, small(str(number)))
    assert history.of(TABLE) == ([], 0)
    look(history, 1, table(read_units=3000 * (PARTITIONS_MAX + 1), write_units=1))
    assert history.of(TABLE) == ([], 0)


@pytest.mark.parametrize(("first_s", "then_s"), [(0, 10 * SLOTS * SLOT_S), (1000, 10)])
def test_a_long_pause_and_a_clock_that_was_set_back_begin_a_new_past(first_s: int, then_s: int) -> None:
    resource, history = small(), HeatHistory()
    look(history, first_s, resource)
    look(history, then_s, resource)
    assert history.of(TABLE)[1] == 1


def test_a_table_that_was_made_again_under_its_name_has_no_past() -> None:
    history, config = HeatHistory(), profile("aws")
    for born_s in (0, 5 * SLOT_S):
        born_ns = START + born_s * SECOND_NS
        again = Resource(TABLE, "Table", config, born_ns, read_units=60, write_units=20)
        look(history, born_s, again)
        look(history, born_s + SLOT_S, again)
    assert history.of(TABLE)[1] == 2
