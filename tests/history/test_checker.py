"""The checker itself: hand-made histories it must reject or accept, and an exhaustive search it must agree
with."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from history.checker import anomalies
from history.record import Transaction, load, save

FOUND = Path(__file__).with_name("found")


def t(name: int, when: tuple[int, int | None], outcome: str = "ok", **more: Any) -> Transaction:
    return Transaction(name, when[0], when[1], outcome, **more)


BAD: dict[str, tuple[list[Transaction], dict[str, list[int]]]] = {
    "a lost update: acknowledged and gone": (
        [t(1, (0, 1), appends={"x": 1}), t(2, (2, 3), appends={"x": 2})],
        {"x": [2]},
    ),
    "a lost update: two that saw the same list": (
        [
            t(1, (0, 5), appends={"x": 1}, reads={"x": []}),
            t(2, (0, 5), appends={"x": 2}, reads={"x": []}),
        ],
        {"x": [1, 2]},
    ),
    "a dirty read: of a refused write": (
        [t(1, (0, 9), "refused", appends={"x": 1}), t(2, (1, 2), reads={"x": [1]})],
        {"x": []},
    ),
    "a refused write that took effect": ([t(1, (0, 1), "refused", appends={"x": 1})], {"x": [1]}),
    "a read of a value that was never written": ([t(1, (0, 1), reads={"x": [7]})], {"x": [7]}),
    "a torn transaction: half of it stays away": (
        [t(1, (0, None), "unknown", appends={"x": 1, "y": 1})],
        {"x": [1], "y": []},
    ),
    "a torn transaction: a reader sees half of it": (
        [t(1, (0, 9), appends={"x": 1, "y": 2}), t(2, (1, 8), reads={"x": [1], "y": []})],
        {"x": [1], "y": [2]},
    ),
    "a torn transaction whose answer was lost": (
        [t(1, (0, None), "unknown", appends={"x": 1, "y": 2}), t(2, (1, 8), reads={"x": [], "y": [2]})],
        {"x": [1], "y": [2]},
    ),
    "a stale read": ([t(1, (0, 1), appends={"x": 1}), t(2, (2, 3), reads={"x": []})], {"x": [1]}),
    "a stale read behind another read": (
        [t(1, (0, 99), appends={"x": 1}), t(2, (1, 2), reads={"x": [1]}), t(3, (3, 4), reads={"x": []})],
        {"x": [1]},
    ),
    "a read of the future": ([t(1, (0, 1), reads={"x": [1]}), t(2, (2, 3), appends={"x": 1})], {"x": [1]}),
    "writes in another order than time's": (
        [t(1, (0, 1), appends={"x": 1}), t(2, (2, 3), appends={"x": 2})],
        {"x": [2, 1]},
    ),
    "two orders of the same writes": (
        [
            t(1, (0, 9), appends={"x": 1}),
            t(2, (0, 9), appends={"x": 2}),
            t(3, (0, 9), reads={"x": [2]}),
            t(4, (0, 9), reads={"x": [1, 2]}),
        ],
        {"x": [1, 2]},
    ),
    "one write done twice": ([t(1, (0, 1), appends={"x": 1})], {"x": [1, 1]}),
    "write skew": (
        [
            t(1, (0, 9), reads={"x": [], "y": []}, appends={"x": 1}),
            t(2, (0, 9), reads={"x": [], "y": []}, appends={"y": 2}),
        ],
        {"x": [1], "y": [2]},
    ),
    "a long fork: two readers, two orders": (
        [
            t(1, (0, 9), appends={"x": 1}),
            t(2, (0, 9), appends={"y": 2}),
            t(3, (0, 9), reads={"x": [1], "y": []}),
            t(4, (0, 9), reads={"x": [], "y": [2]}),
        ],
        {"x": [1], "y": [2]},
    ),
    "a condition that held for an older list": (
        [t(1, (0, 1), appends={"x": 1}), t(2, (2, 3), lengths={"x": 0}, appends={"y": 2})],
        {"x": [1], "y": [2]},
    ),
    "a condition that held for a longer list than there was": (
        [t(1, (0, 1), lengths={"x": 1}, appends={"y": 2})],
        {"x": [], "y": [2]},
    ),
    "a conditional append at another place": (
        [
            t(1, (0, 9), appends={"x": 1}),
            t(2, (0, 9), appends={"x": 2}, lengths={"x": 0}),
        ],
        {"x": [1, 2]},
    ),
    "a refused transaction that saw the past": (
        [t(1, (0, 1), appends={"x": 1}), t(2, (2, 3), "refused", reads={"x": []})],
        {"x": [1]},
    ),
}

GOOD: dict[str, tuple[list[Transaction], dict[str, list[int]]]] = {
    "nothing": ([], {}),
    "one after the other": (
        [
            t(1, (0, 1), appends={"x": 1}),
            t(2, (2, 3), reads={"x": [1]}),
            t(3, (4, 5), appends={"x": 3}, reads={"x": [1]}),
        ],
        {"x": [1, 3]},
    ),
    "overlapping writes in either order": (
        [t(1, (0, 9), appends={"x": 1}), t(2, (0, 9), appends={"x": 2}), t(3, (1, 2), reads={"x": [2]})],
        {"x": [2, 1]},
    ),
    "an overlapping read of the old state": (
        [t(1, (0, 9), appends={"x": 1}), t(2, (1, 8), reads={"x": []})],
        {"x": [1]},
    ),
    "a lost answer that took effect much later": (
        [t(1, (0, None), "unknown", appends={"x": 1}), t(2, (5, 6), reads={"x": []})],
        {"x": [1]},
    ),
    "a lost answer that never took effect": (
        [t(1, (0, None), "unknown", appends={"x": 1, "y": 1}), t(2, (5, 6), reads={"x": []})],
        {"x": [], "y": []},
    ),
    "a refused write that is nowhere": (
        [t(1, (0, 1), "refused", appends={"x": 1}, reads={"x": []}), t(2, (2, 3), reads={"x": []})],
        {"x": []},
    ),
    "a whole transaction, seen whole": (
        [
            t(1, (0, 9), appends={"x": 1, "y": 2}),
            t(2, (1, 2), reads={"x": [], "y": []}),
            t(3, (3, 4), reads={"x": [1], "y": [2]}),
        ],
        {"x": [1], "y": [2]},
    ),
    "an end and a beginning at the same instant": (
        [t(1, (0, 5), appends={"x": 1}), t(2, (5, 6), reads={"x": []})],
        {"x": [1]},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_is_rejected(name: str) -> None:
    history, final = BAD[name]
    assert anomalies(history, final) != []


@pytest.mark.parametrize("name", GOOD)
def test_a_good_history_is_accepted(name: str) -> None:
    history, final = GOOD[name]
    assert anomalies(history, final) == []


def test_a_history_can_be_written_and_read_again(tmp_path: Path) -> None:
    history, _ = BAD["a torn transaction whose answer was lost"]
    save(history, tmp_path / "found" / "1.jsonl")
    assert load(tmp_path / "found" / "1.jsonl") == history


# --- Against a judge that tries every order ------------------------------------------------------


def possible(history: list[Transaction], final: dict[str, list[int]]) -> bool:
    """Whether some order of some of the transactions explains everything (Wing and Gong's search)."""
    certain = [each for each in history if each.outcome != "unknown"]
    unknown = [each for each in history if each.outcome == "unknown"]
    for count in range(len(unknown) + 1):
        for done in itertools.combinations(unknown, count):
            if _explains([*certain, *done], {key: [] for key in final}, final):
                return True
    return False


def _explains(left: list[Transaction], state: dict[str, list[int]], final: dict[str, list[int]]) -> bool:
    if not left:
        return state == final
    for each in left:
        if any(o.end_ns is not None and o.end_ns < each.start_ns for o in left if o is not each):
            continue
        if any(state[key] != seen for key, seen in each.reads.items()):
            continue
        if any(len(state[key]) != length for key, length in each.lengths.items()):
            continue
        after = dict(state)
        if each.outcome != "refused":
            for key, element in each.appends.items():
                after[key] = [*state[key], element]
        if _explains([o for o in left if o is not each], after, final):
            return True
    return False


def _random_history(chance: random.Random) -> tuple[list[Transaction], dict[str, list[int]]]:
    """A run of a real serial database, with times stretched, and now and then something made wrong."""
    keys = ["x", "y", "z"][: chance.randint(1, 3)]
    state: dict[str, list[int]] = {key: [] for key in keys}
    history: list[Transaction] = []
    for name in range(chance.randint(2, 6)):
        outcome = chance.choice(["ok", "ok", "ok", "refused", "unknown"])
        moment = 10 * name
        each = t(name, (moment - chance.randint(0, 25), moment + chance.randint(1, 25)), outcome)
        chosen = chance.sample(keys, chance.randint(1, len(keys)))
        each.appends = {key: name for key in chosen if chance.random() < 0.6}
        seen = {key: list(state[key]) for key in chosen if chance.random() < 0.6}
        if outcome == "unknown":
            each.end_ns = None
        elif chance.random() < 0.7:
            each.reads = seen
        elif outcome == "ok":
            each.lengths = {key: len(elements) for key, elements in seen.items()}
        if outcome == "ok" or (outcome == "unknown" and chance.random() < 0.5):
            for key, element in each.appends.items():
                state[key] = [*state[key], element]
        history.append(each)
    if chance.random() < 0.7:
        _spoil(chance, history, state)
    return history, state


def _spoil(chance: random.Random, history: list[Transaction], final: dict[str, list[int]]) -> None:
    each = chance.choice(history)
    match chance.randrange(5):
        case 0:
            for key, seen in each.reads.items():
                each.reads[key] = final[key][: chance.randint(0, len(final[key]))] if seen else seen
        case 1:
            each.start_ns += 15
            each.end_ns = None if each.end_ns is None else each.end_ns + 15
        case 2:
            chance.shuffle(final[chance.choice(sorted(final))])
        case 3:
            elements = final[chance.choice(sorted(final))]
            del elements[-1:]
        case _:
            each.reads = {
                key: elements[: chance.randint(0, len(elements))] for key, elements in final.items()
            }


def test_the_checker_agrees_with_a_search_of_every_order() -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(3000):
        history, final = _random_history(random.Random(seed))
        verdict = possible(history, final)
        verdicts[verdict] += 1
        assert (anomalies(history, final) == []) == verdict, f"seed {seed}: {history} {final}"
    assert min(verdicts.values()) > 500, "both kinds are met"


# --- Histories that runs have left behind --------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_history_that_failed_once_fails_again(path: Path) -> None:
    """The last line is the final read of all keys."""
    *history, last = load(path)
    assert anomalies(history, last.reads) != []
