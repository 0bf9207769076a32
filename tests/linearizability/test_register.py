"""The checker itself: histories it must reject or accept, and an exhaustive search it must agree with."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from linearizability.register import ABSENT, Operation, is_linearizable, load, save

FOUND = Path(__file__).with_name("found")


def get(start: int, end: int | None, seen: int = ABSENT) -> Operation:
    return Operation("k", "get", start, end, seen=seen)


def put(start: int, end: int | None, value: int, seen: int = ABSENT) -> Operation:
    return Operation("k", "put", start, end, value=value, seen=seen)


def put_if(start: int, end: int | None, expected: int, value: int) -> Operation:
    return Operation("k", "put if", start, end, value=value, expected=expected)


def refused(start: int, end: int, expected: int, value: int, seen: int) -> Operation:
    return Operation("k", "put if", start, end, value=value, expected=expected, seen=seen, refused=True)


def delete(start: int, end: int | None, seen: int = ABSENT) -> Operation:
    return Operation("k", "delete", start, end, seen=seen)


BAD: dict[str, list[Operation]] = {
    "a stale read": [put(0, 1, 1), get(2, 3)],
    "a stale read behind another read": [put(0, 99, 1), get(1, 2, 1), get(3, 4)],
    "a read of the future": [get(0, 1, 1), put(2, 3, 1)],
    "a read of a value that was never written": [get(0, 1, 7)],
    "a lost update": [put(0, 1, 1), put(2, 3, 2, seen=1), get(4, 5, 1)],
    "two that replaced the same": [put(0, 9, 1), put(0, 9, 2), get(10, 11, 2)],
    "two that won the same race": [put_if(0, 9, ABSENT, 1), put_if(0, 9, ABSENT, 2)],
    "a rejection without a reason": [put(0, 1, 1), refused(2, 3, expected=1, value=2, seen=1)],
    "a refused write that took effect": [put(0, 1, 1), refused(2, 3, 5, value=2, seen=1), get(4, 5, 2)],
    "a deletion undone": [put(0, 1, 1), delete(2, 3, 1), get(4, 5, 1)],
    "a deletion of what was not there": [delete(0, 1, 1)],
    "a lost answer that took effect before its call": [get(0, 1, 1), put(2, None, 1)],
    "a lost answer that took effect, and then had not": [put(0, None, 1), get(1, 2, 1), get(3, 4)],
    "a lost answer that took effect twice": [
        put(0, None, 1),
        get(1, 2, 1),
        delete(3, 4, 1),
        get(5, 6, 1),
    ],
    "a lost condition that did not hold": [put(0, 1, 1), put_if(2, None, 5, 2), get(3, 4, 2)],
    "two readers, two orders": [
        put(0, None, 1),
        put(0, None, 2),
        get(1, 2, 1),
        get(3, 4, 2),
        get(5, 6, 1),
    ],
}

GOOD: dict[str, list[Operation]] = {
    "nothing": [],
    "one after the other": [put(0, 1, 1), put_if(2, 3, 1, 2), delete(4, 5, 2), get(6, 7)],
    "a read during a write sees either": [put(0, 9, 1), get(1, 2), get(3, 4, 1)],
    "concurrent writes, one order": [put(0, 9, 1, seen=2), put(0, 9, 2), get(10, 11, 1)],
    "a lost answer that never took effect": [put(0, None, 1), get(1, 2), get(3, 4)],
    "a lost answer that took effect late": [put(0, None, 1), get(1, 2), get(3, 4, 1)],
    "a rejection by a write in between": [put(0, 9, 1), refused(1, 8, 5, value=2, seen=1)],
    "a lost deletion": [put(0, 1, 1), delete(2, None), get(3, 4, 1), get(5, 6)],
    "the same instant says nothing": [put(0, 5, 1), get(5, 9)],
}


@pytest.mark.parametrize("name", BAD)
def test_checker_rejects_bad_histories(name: str) -> None:
    assert not is_linearizable(BAD[name])


@pytest.mark.parametrize("name", GOOD)
def test_checker_accepts_good_histories(name: str) -> None:
    assert is_linearizable(GOOD[name])


def slowly(operations: Sequence[Operation]) -> bool:
    """Every order of every choice of the unanswered ones."""
    lost = [each for each in operations if each.end_ns is None]
    answered = [each for each in operations if each.end_ns is not None]
    for count in range(len(lost) + 1):
        for chosen in itertools.combinations(lost, count):
            if any(_fits(order) for order in itertools.permutations([*answered, *chosen])):
                return True
    return False


def _fits(order: Sequence[Operation]) -> bool:
    state: int | None = ABSENT
    for place, each in enumerate(order):
        if any(late.end_ns is not None and late.end_ns < each.start_ns for late in order[place + 1 :]):
            return False
        assert state is not None
        state = each.after(state)
        if state is None:
            return False
    return True


def drawn(chance: random.Random) -> list[Operation]:
    """A short history with random results; about half of them are possible."""
    operations = []
    for number in range(chance.randint(1, 6)):
        start = chance.randint(0, 12)
        end = None if chance.random() < 0.2 else start + chance.randint(0, 8)
        kind = chance.choice(("get", "put", "put", "put if", "delete"))
        seen, expected = chance.choice((ABSENT, ABSENT, 1, 2, 3)), chance.choice((ABSENT, 1, 2))
        is_refused = kind == "put if" and end is not None and chance.random() < 0.3
        operations.append(Operation("k", kind, start, end, number + 1, expected, seen, is_refused))
    return operations


def test_checker_agrees_with_an_exhaustive_search() -> None:
    verdicts = []
    for seed in range(1_500):
        history = drawn(random.Random(seed))
        verdicts.append(is_linearizable(history))
        assert verdicts[-1] == slowly(history), f"seed {seed}: {history}"
    assert 150 < sum(verdicts) < 1_350


def test_a_long_history_with_much_concurrency_is_checked() -> None:
    """Ten clients at a time, two thousand operations, every fiftieth answer lost, and then one wrong read."""
    chance = random.Random(1)
    state, history = ABSENT, []
    for moment in range(2_000):
        start, end = moment * 10 - chance.randint(0, 50), moment * 10 + chance.randint(0, 50)
        if chance.random() < 0.5:
            history.append(get(start, end, state))
        elif chance.random() < 0.04:
            took_effect = chance.random() < 0.5
            history.append(put(start, None, moment + 1))
            state = moment + 1 if took_effect else state
        else:
            history.append(put(start, end, moment + 1, seen=state))
            state = moment + 1
    assert is_linearizable(history)
    assert not is_linearizable([*history, get(30_000, 30_001, history[0].value + 1)])


def test_histories_can_be_written_and_read_again(tmp_path: Path) -> None:
    history = [put(0, 1, 1), refused(2, 3, 5, value=2, seen=1), get(4, None)]
    save(history, tmp_path / "found" / "history.jsonl")
    assert load(tmp_path / "found" / "history.jsonl") == history


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.jsonl")), ids=lambda path: path.stem)
def test_stored_bad_histories_are_still_rejected(path: Path) -> None:
    assert not is_linearizable(load(path))
