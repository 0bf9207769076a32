"""Writes of several partition keys take turns."""

from __future__ import annotations

import random

from faradisc.tools.transfer import turns
from faradisc.tools.transfer.turns import KeyTurns


def test_groups_take_turns_and_keep_their_order() -> None:
    given: KeyTurns[str] = KeyTurns()
    for group in "abc":
        for number in range(3):
            assert list(given.add(group.encode(), f"{group}{number}", 1)) == []
    assert list(given.rest()) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]
    assert list(given.rest()) == []


def test_what_is_held_back_is_bounded() -> None:
    chance = random.Random(1)
    given: KeyTurns[tuple[int, int]] = KeyTurns()
    out: list[tuple[int, int]] = []
    numbers = dict.fromkeys(range(50), 0)
    for total in range(1, 20_001):
        group = min(int(chance.paretovariate(1)), 49)
        numbers[group] += 1
        out += given.add(b"%d" % group, (group, numbers[group]), 10_000)
        assert (total - len(out)) * 10_000 <= turns.BYTES_MAX
    out += given.rest()
    assert len(out) == 20_000
    for group, count in numbers.items():
        assert [number for found, number in out if found == group] == list(range(1, count + 1))
