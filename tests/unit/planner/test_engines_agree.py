"""The two engines on the same random plans: what is served, admitted and lost agrees within 1 % of what was
asked for. Both run the same core; they differ in how a second is divided (fluid.py says what is left out).

Refused *attempts* are compared only where clients do not retry: how often a client is refused before it gets
through depends on what happens within a second, which the fluid engine does not look at.
"""

from __future__ import annotations

from random import Random
from textwrap import dedent

import pytest

from faradisc.planner.loading import load_plan
from faradisc.planner.outcome import Outcome
from faradisc.planner.run import run
from unit.planner.planned import outcome_of

KEYS = (
    "{uniform: 100000}",
    "{uniform: 50}",
    "{zipf: {keys: 10000, exponent: 1.1}}",
    "single",
    "{date: {period: day, suffixes: 20}}",
    "{sequential: {items_per_key: 400}}",
    "{weighted: {A: 97, B: 2, C: 1}}",
)
RATES = (
    "{a}",
    "{{ramp: {{from: 0, to: {a}, over: 100s}}}}",
    "{{steps: [{{at: 0s, rate: {b}}}, {{at: 60s, rate: {a}}}]}}",
    "{{spikes: {{base: {b}, high: {a}, every: 60s, lasting: 10s}}}}",
)


def random_plan(seed: int, retries: str) -> str:
    """A plan with one table, perhaps an index, one to three streams, now and then far too many requests."""
    random = Random(seed)
    pick = random.choice
    provisioned = random.random() < 0.6
    lines = [
        f"profile: {pick(['aws', 'documented', 'pessimistic', 'classic-2017'])}",
        f"partition_caps: {pick(['300/100', '600/200', '3000/1000'])}",
        f"duration: {pick([120, 240, 420])}s",
        f"retries: {retries}",
        "tables:",
        "  T:",
        f"    partitions: {pick([1, 2, 3, 5])}",
        "    sort_key: true",
    ]
    if provisioned:
        lines += [f"    read: {pick([20, 100, 300])}", f"    write: {pick([20, 100, 300])}"]
    if random.random() < 0.4:
        lines += ["    indexes:", "      g:", f"        share: {pick(['100%', '50%'])}"]
        lines += [f"        keys: {pick(KEYS[:3])}", f"        partitions: {pick([1, 3])}"]
        if provisioned:
            lines += ["        read: 50", f"        write: {pick([20, 60, 200])}"]
    lines.append("traffic:")
    for number in range(pick([1, 2, 3])):
        rate = pick([30, 100, 200])
        lines += [
            f"  - name: stream {number}",
            f"    operation: {pick(['PutItem', 'GetItem', 'UpdateItem', 'Query'])}",
            f"    rate: {pick(RATES).format(a=rate, b=rate // 4)}",
            f"    keys: {pick(KEYS)}",
            f"    item_size: {pick([300, 1500, 3000])}",
            f"    sort: {pick(['spread', 'rising', 'one'])}",
        ]
    return "\n".join(lines) + "\n"


def both(text: str) -> tuple[Outcome, Outcome]:
    by_events = run(load_plan(text, "plan.yaml"), engine="events")
    return by_events, run(load_plan(text, "plan.yaml"), engine="fluid")


def differences(one: Outcome, other: Outcome) -> dict[str, float]:
    """Percent of what was asked for, by what is compared."""
    asked = one.totals.offered or 1
    found = {
        "admitted": 100 * abs(one.totals.admitted - other.totals.admitted) / asked,
        "lost": 100 * abs(one.totals.lost - other.totals.lost) / asked,
    }
    for mine, theirs in zip(one.resources, other.resources, strict=True):
        for what in ("read", "write"):
            lane, twin = getattr(mine, what), getattr(theirs, what)
            offered = sum(lane.offered)
            if offered:
                served = abs(sum(lane.consumed) - sum(twin.consumed))
                found[f"{mine.name} {what} units"] = 100 * served / offered
    return found


@pytest.mark.parametrize("seed", range(24))
def test_without_retries(seed: int) -> None:
    text = random_plan(seed, "none")
    one, other = both(text)
    found = differences(one, other)
    found["throttled"] = 100 * abs(one.totals.throttled - other.totals.throttled) / (one.totals.offered or 1)
    assert max(found.values()) <= 1, f"{found}\n{text}"


@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.parametrize("retries", ["standard", "legacy"])
def test_with_retries(seed: int, retries: str) -> None:
    text = random_plan(seed, retries)
    one, other = both(text)
    found = differences(one, other)
    assert max(found.values()) <= 1, f"{found}\n{text}"


@pytest.mark.parametrize("seed", [1001, 1015, 1038, 1158])
def test_legacy_clients_whose_requests_are_few_or_come_in_bursts(seed: int) -> None:
    """These differed by 1 to 3 %: what integers could not divide was dropped whenever the keys changed,
    bursts were drawn out by each wait, and retries forgot their index's partition."""
    one, other = both(random_plan(seed, "legacy"))
    found = differences(one, other)
    assert max(found.values()) <= 1, f"{found}"


@pytest.mark.slow
@pytest.mark.parametrize("retries", ["none", "standard", "legacy"])
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_more_plans(seed: int, retries: str) -> None:
    text = random_plan(seed, retries)
    one, other = both(text)
    found = differences(one, other)
    assert max(found.values()) <= (2 if seed == IN_STEP else 1), f"{found}\n{text}"


IN_STEP = 1130
"""The one of these plans that differs by more than 1 %, see below."""


@pytest.mark.parametrize(("units", "limit"), [(19, 1), (20, 2), (21, 1)])
def test_two_buckets_that_refill_in_step(units: int, limit: int) -> None:
    """The partitions' shares of the table's rate are 20 units a second, and so is the index: both earn the 2
    units of a request in the same tenth of a second, begin with nothing at the same moment, and so open at
    the same moments for as long as the run lasts. Fluid takes them to be open independently of each other,
    and differs by 1.6 %. With one unit a second more or less they are not in step, and agree."""
    text = random_plan(IN_STEP, "legacy")
    assert text.count("        write: 20\n") == 1 and "partitions: 5\n" in text
    one, other = both(text.replace("        write: 20\n", f"        write: {units}\n"))
    assert max(differences(one, other).values()) <= limit


@pytest.mark.parametrize("retries", ["none", "standard", "legacy"])
@pytest.mark.parametrize(("status", "served"), [("{A: 90, B: 10}", 120), ("{A: 70, B: 30}", 160)])
def test_retries_do_not_change_what_they_are_for(retries: str, status: str, served: int) -> None:
    """200 writes a second, most of them under one key of an index, which takes 100 a second: the retries of
    those that are refused have the same key, and find no room at the other one."""
    text = f"""
        duration: 2m
        retries: {retries}
        partition_caps: 300/100
        tables:
          T:
            mode: on-demand
            partitions: 4
            indexes: {{by-status: {{keys: {{weighted: {status}}}, partitions: 8}}}}
        traffic: [{{operation: PutItem, rate: 200, keys: {{uniform: 100000}}}}]
    """
    one, other = both(dedent(text))
    assert max(differences(one, other).values()) <= 1
    assert one.resources[1].write.consumed[-1] == pytest.approx(served, rel=0.01)


@pytest.mark.parametrize("retries", ["standard", "legacy"])
@pytest.mark.parametrize("seed", range(40))
def test_every_request_is_accounted_for_in_steps(seed: int, retries: str) -> None:
    found = run(load_plan(random_plan(seed, retries), "plan.yaml"), engine="fluid")
    for total in (*found.flows, found.totals):
        assert total.offered == total.admitted + total.lost
        assert total.attempts == total.admitted + total.throttled
        assert sum(total.waits.attempts) == total.admitted


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_request_is_accounted_for(seed: int) -> None:
    for found in both(random_plan(seed, "standard")):
        for total in (*found.flows, found.totals):
            assert total.offered == total.admitted + total.lost
            assert total.attempts == total.admitted + total.throttled
            assert sum(total.waits.attempts) == total.admitted


def test_splits_for_heat_happen_in_both() -> None:
    """A partition with many warm keys splits for heat; afterwards everything passes, in both engines."""
    text = """
        duration: 20m
        partition_caps: 60/20
        tables: {T: {mode: on-demand, partitions: 1}}
        traffic: [{operation: PutItem, rate: 30, keys: {uniform: 500}}]
    """
    for engine in ("events", "fluid"):
        found = outcome_of(text, engine)  # type: ignore[arg-type]
        assert [event.reason for event in found.events if event.kind == "split"] == ["heat"]
        assert found.resources[0].partition_count[-1] == 2
        writes = found.resources[0].write
        assert (writes.throttled["KeyRangeThroughputExceeded"][-1], writes.consumed[-1]) == (0, 30)
