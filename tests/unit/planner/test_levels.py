"""What gates let through, found directly: held against what they are charged, worked out as for indexes."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faradisc.tools.planner import balance, levels
from faradisc.tools.planner.demands import Demand
from faradisc.tools.planner.gates import Gate
from faradisc.tools.planner.loads import Loads
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.run import run

SHORT = """
    duration: 60s
    profile: pessimistic
    retries: {retries}
    partition_caps: 300/100
    tables: {{T: {{read: {write}, write: {write}, sort_key: true, partitions: 6}}}}
    traffic:
      - {{name: a, operation: PutItem, rate: 600, keys: {{zipf: {{keys: 40}}}}, item_size: 1 KB}}
      - {{name: b, operation: PutItem, rate: 40, keys: {{sequential: {{items_per_key: 30}}}}, item_size: 5KB}}
      - {{name: c, operation: GetItem, rate: 700, keys: {{weighted: {{A: 3, B: 1}}}}, item_size: 4 KB}}
      - {{name: d, operation: GetItem, rate: 500, keys: {{weighted: {{A: 1, C: 1}}}}, consistent: true}}
"""


@pytest.mark.parametrize("retries", ["none", "standard", "legacy"])
@pytest.mark.parametrize(("write", "what"), [(150, "table"), (400, "both"), (4000, "partition")])
def test_every_gate_is_charged_what_it_has_or_lets_everything_through(
    retries: str, write: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retries, several costs, flows that meet in one partition, tables that are short and that are not."""
    looked = {"table": 0, "partition": 0, "both": 0}

    def check(demands: list[Demand]) -> None:
        levels.set_ratios(demands)
        lanes: dict[Gate, None] = {demand.gate: None for demand in demands if demand.gate.tight}
        cells: dict[Gate, None] = {bound.gate: None for demand in demands for bound in demand.bound}
        gates = [*lanes, *cells]
        told = [gate.load for gate in gates]
        Loads(demands, gates).set()
        for gate, load in zip(gates, told, strict=True):
            assert gate.load == pytest.approx(load, rel=1e-6, abs=1.0)
            assert 0.0 <= gate.ratio <= 1.0
            if gate.ratio < 1.0:
                assert gate.load == pytest.approx(gate.available, rel=1e-6, abs=1.0)
            else:
                assert gate.load <= gate.available * (1 + 1e-6) + 1.0
        short = any(gate.ratio < 1.0 for gate in lanes), any(gate.ratio < 1.0 for gate in cells)
        looked["table"] += short == (True, False)
        looked["partition"] += short == (False, True)
        looked["both"] += short == (True, True)

    monkeypatch.setattr(balance, "set_ratios", check)
    run(load_plan(dedent(SHORT.format(retries=retries, write=write)), "plan.yaml"), engine="fluid")
    assert looked[what] > 10


def test_a_level_of_those_who_never_come_back_is_the_part_there_is_for() -> None:
    assert levels._level([200.0], 50) == pytest.approx(0.25)
    assert levels._level([200.0], 0) == 0.0
    assert levels._level([200.0], 300) == 1.0


def test_who_comes_back_lowers_the_level() -> None:
    """100 come, and half of those who are refused come again: at a ratio of 0.4 that are 100 + 0.6 x 50."""
    assert levels._level([50.0, 100.0], 52) == pytest.approx(0.4)


def test_a_table_lets_the_same_part_through_to_partitions_that_could_do_with_more() -> None:
    hot, cool = [400.0], [100.0]
    part, charged = levels._part_of_lane(150, [(0.25, 100.0, hot), (0.9, 90.0, cool)], [0.0])
    assert part == pytest.approx(0.5)
    assert charged == pytest.approx(150)
