"""Of several portions of a second's requests: how many come through."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faradisc.tools.planner.loads import Loads
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.portions import admitted_at_last, admitted_at_once, attempts_of, held_at_once
from faradisc.tools.planner.run import run
from faradisc.tools.planner.workload.retries import NO_RETRIES, Retries, legacy, standard

COUNTS = [40.0, 7.0, 900.0, 5.0]
RATIOS = [0.0, 0.03, 0.6, 1.0]


@pytest.mark.parametrize("retries", [NO_RETRIES, standard(), legacy(), standard(7)])
def test_all_attempts_at_once_or_each_as_it_comes(retries: Retries) -> None:
    """A step in which everybody is tried to the last is a polynomial too, and has a shorter form."""
    rest = [0.0] * (retries.attempts - 1)
    polynomials = [attempts_of([count, *rest], retries.whole_chains) for count in COUNTS]
    assert {len(polynomial) for polynomial in polynomials} == {retries.attempts}
    found = admitted_at_last(COUNTS, RATIOS, retries.attempts)
    assert found == pytest.approx(admitted_at_once(polynomials, RATIOS))
    assert found[0] == 0 and found[3] == 5
    assert found[1] == pytest.approx(7 * (1 - 0.97**retries.attempts))


SHORT = """
    duration: 90s
    partition_caps: 300/100
    tables:
      T:
        read: 100
        write: 800
        partitions: 4
        indexes: {I: {read: 1, write: 200, partitions: 3, keys: {zipf: {keys: 9, exponent: 1.1}}}}
    traffic:
      - {name: a, operation: PutItem, rate: 900, keys: {zipf: {keys: 20, exponent: 0.9}}, retries: standard}
      - {name: b, operation: PutItem, rate: 450, keys: {weighted: {A: 3, B: 1}}, retries: none}
      - {name: c, operation: GetItem, rate: 500, keys: {weighted: {A: 1, C: 1}}, consistent: true}
"""


def test_all_demands_at_once_or_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of clients that try again differently often: some polynomials are longer than others."""
    looked = set()
    at_once = Loads._at_once

    def both(loads: Loads, bases: list[float]) -> list[float]:
        gates = [bound.gate for bound in loads._bounds]
        totals = at_once(loads, bases)
        found = [gate.load for gate in gates]
        for gate in gates:
            gate.load = 0.0
        assert totals == pytest.approx(loads._by_steps(bases))
        assert found == pytest.approx([gate.load for gate in gates])
        looked.update(len(bound.attempts) for bound in loads._bounds)
        return totals

    monkeypatch.setattr(Loads, "_at_once", both)
    run(load_plan(dedent(SHORT), "plan.yaml"), engine="fluid")
    assert len(looked) == 2


@pytest.mark.parametrize("retries", [NO_RETRIES, standard(), legacy()])
@pytest.mark.parametrize("ratio", [0.02, 0.3, 0.9])
def test_how_a_load_answers_to_its_ratio(retries: Retries, ratio: float) -> None:
    """A tenth more of the attempts let through is less than a tenth more load where the refused come back."""
    back = [3.0] * (retries.attempts - 1)
    polynomials = [attempts_of([count, *back], retries.chains) for count in COUNTS]
    before = admitted_at_once(polynomials, [ratio] * len(COUNTS))
    step = 1e-6
    after = admitted_at_once(polynomials, [ratio * (1 + step)] * len(COUNTS))
    slopes = [(more - less) / step for less, more in zip(before, after, strict=True)]
    held = held_at_once(polynomials, [ratio] * len(COUNTS))
    assert [through - less for through, less in zip(before, held, strict=True)] == pytest.approx(
        slopes, rel=1e-3
    )
    assert all(less > 0 for less in held) == bool(retries.waits)
