"""Vectors V117 to V119 of capacity.md section 4.6: decreases, switches of mode, quotas."""

from __future__ import annotations

from faradisc.capacity.config import DAY_NS, SECOND_NS
from faradisc.capacity.controlplane import (
    DecreaseLog,
    Durations,
    Quotas,
    SwitchLog,
    ThroughputChange,
    check_changes,
)
from unit.capacity.worlds import START


def after(seconds: int) -> int:
    return START + seconds * SECOND_NS


def test_v117_four_switches_to_on_demand_in_24_hours() -> None:
    """V117, M1: the fifth is refused until the oldest is 24 hours old."""
    log = SwitchLog()
    for hour in range(4):
        assert log.allowed(after(hour * 3600))
        log.accept(after(hour * 3600))
    assert not log.allowed(after(4 * 3600))
    assert not log.allowed(after(86_399))
    assert log.next_allowed(after(4 * 3600)) == START + DAY_NS
    assert log.allowed(START + DAY_NS)
    assert log.text(after(4 * 3600)).startswith(
        "Subscriber limit exceeded: Update to PayPerRequest mode are limited to 4 in 1 day(s). "
        "Last update at "
    )


def test_v117_a_creation_on_demand_uses_one() -> None:
    """V117, M1: then the fourth switch after it is refused."""
    log = SwitchLog([START])
    for minute in range(1, 4):
        assert log.allowed(after(60 * minute))
        log.accept(after(60 * minute))
    assert not log.allowed(after(240))


def test_v118_decreases_of_a_day() -> None:
    """V118, M2, M1, D: four at once, then one per hour since the last accepted one; a new day is new."""
    log = DecreaseLog()
    for second in (0, 10, 20, 30):
        assert log.allowed(after(second))
        log.accept(after(second))
    assert not log.allowed(after(40))
    assert not log.allowed(after(3629))
    assert log.allowed(after(3630))
    assert log.allowed(START + DAY_NS)
    assert log.text(after(40)).startswith(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day."
    )


def test_v118_at_most_27_a_day() -> None:
    log = DecreaseLog()
    accepted = 0
    moment = START
    while moment < START + DAY_NS:
        if log.allowed(moment):
            log.accept(moment)
            accepted += 1
        moment += SECOND_NS if log.allowed(moment) else log.next_allowed(moment) - moment
    assert accepted == 27


def test_v119_lowering_one_and_raising_the_other_is_a_decrease() -> None:
    """V119, M2: with the budget spent nothing changes."""
    spent = DecreaseLog([after(second) for second in range(4)])
    change = ThroughputChange("table", (10, 10), (5, 20), spent)
    assert check_changes([change], after(60)) is not None
    assert spent.accepted_ns == [after(second) for second in range(4)]


def test_a_call_is_atomic() -> None:
    """Section 2.12, M1: one refused part refuses all, and a refused call counts nothing."""
    spent, fresh = DecreaseLog([START] * 4), DecreaseLog()
    changes = [
        ThroughputChange("table", (10, 10), (5, 5), fresh),
        ThroughputChange("index g1", (10, 10), (5, 10), spent),
    ]
    refused = check_changes(changes, after(60))
    assert refused is not None and refused.endswith(
        "Last decrease at Monday, September 21, 2026 at 12:00:00 AM Coordinated Universal Time. "
        "Next decrease can be made at Monday, September 21, 2026 at 1:00:00 AM Coordinated Universal Time"
    )
    assert fresh.accepted_ns == []
    assert check_changes(changes[:1], after(60)) is None
    assert fresh.accepted_ns == [after(60)], "both directions lowered: one decrease"
    raised = ThroughputChange("index g1", (10, 10), (11, 10), spent)
    assert check_changes([raised], after(60)) is None, "increases are always allowed"


def test_an_index_going_on_demand_counts_a_decrease_even_when_none_is_left() -> None:
    """Section 2.12, M1."""
    spent = DecreaseLog([START] * 4)
    change = ThroughputChange("index g1", (10, 10), (0, 0), spent)
    assert check_changes([change], after(60), leaves_provisioned=True) is None
    assert len(spent.accepted_ns) == 5


def test_quotas() -> None:
    """Section 2.12: the sentence on the table maximum."""
    quotas = Quotas()
    assert quotas.table_text((40_000, 40_000), "us-east-1") is None
    text = quotas.table_text((40_001, 1), "us-east-1")
    assert text is not None and text.startswith(
        "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in "
        "us-east-1. Per table maximum: 40000"
    )
    assert quotas.account_text((40_000, 0), (40_000, 1), "us-east-1") is None
    assert quotas.account_text((40_001, 0), (40_000, 1), "us-east-1") is not None


def test_the_first_switch_takes_longest() -> None:
    """Section 2.8, M2: 129 to 172 s the first time, 4 to 5 s afterwards."""
    durations = Durations()
    assert 129 <= durations.ns(durations.to_on_demand, before=False) / SECOND_NS <= 172
    assert 4 <= durations.ns(durations.to_on_demand, before=True) / SECOND_NS <= 5
