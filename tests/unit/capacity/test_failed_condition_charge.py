"""V48 and V49 of capacity.md section 4.3 where units.py alone decides: all three rules."""

from __future__ import annotations

import pytest

from faradisc.capacity.config import PROFILES
from faradisc.capacity.units import failed_condition_units

KB = 1024


def test_v48_the_existing_item_is_charged() -> None:
    """V48, S0: existing 1 KB, 2 KB; missing."""
    assert [failed_condition_units(size, 99) for size in (KB, 2 * KB, None)] == [1, 2, 1]


@pytest.mark.parametrize(("rule", "units"), [("existing", 300), ("new", 310), ("max", 310)])
def test_v49_three_rules(rule: str, units: int) -> None:
    """V49, M1 / S3 / D: existing 300 KB, new 310 KB."""
    assert failed_condition_units(300 * KB, 310 * KB, rule) == units  # type: ignore[arg-type]


def test_every_profile_has_a_rule() -> None:
    for config in PROFILES.values():
        assert failed_condition_units(KB, KB, config.failed_condition_charge) == 1
