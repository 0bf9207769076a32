"""Of several portions of a second's requests: how many come through."""

from __future__ import annotations

import pytest

from faradisc.planner.portions import admitted_at_last, admitted_at_once, attempts_of
from faradisc.planner.retries import NO_RETRIES, Retries, legacy, standard

COUNTS = (40.0, 7.0, 900.0, 5.0)
RATIOS = [0.0, 0.03, 0.6, 1.0]


@pytest.mark.parametrize("retries", [NO_RETRIES, standard(), legacy(), standard(7)])
def test_all_attempts_at_once_or_each_as_it_comes(retries: Retries) -> None:
    """A step in which everybody is tried to the last is a polynomial too, and has a shorter form."""
    rest = [0.0] * (retries.attempts - 1)
    polynomials = [attempts_of([count, *rest], retries.whole_chains) for count in COUNTS]
    powers = list(zip(*polynomials, strict=True))
    assert len(powers) == retries.attempts
    found = admitted_at_last(COUNTS, RATIOS, retries.attempts)
    assert found == pytest.approx(admitted_at_once(powers, RATIOS))
    assert found[0] == 0 and found[3] == 5
    assert found[1] == pytest.approx(7 * (1 - 0.97**retries.attempts))
