"""Hostile requests in process: no 500, no traceback, and every request ends.

What it proves: every answer is one that the service could give, every invariant of the store holds
afterwards, and another client's table is unchanged. Why random: no list of bad inputs is complete.
Why seeded: a failure names the two numbers that repeat it, and stores the request in corpus/.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from faradisc.operations.registry import OPERATIONS
from faradisc.protocol.http import HttpRequest
from fixtures.searching import seeds

from .campaign import REQUESTS_PER_ROUND, run_round, run_rounds
from .corpus import cases, load
from .requests import MAKERS, target_of
from .world import HEADERS, World, document_of

SEED = 1
QUICK_ROUNDS = 6
"""2,400 requests, half of them in the gate."""
SLOW_REQUESTS = 1_000_000
SLOW_PARTS = 10


@pytest.mark.parametrize("number", seeds(QUICK_ROUNDS, 3))
def test_round_of_hostile_requests_is_answered(number: int) -> None:
    assert run_round(SEED, number).requests == REQUESTS_PER_ROUND


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SLOW_PARTS))
def test_million_hostile_requests_are_answered(part: int) -> None:
    """Other rounds than the fast test's, in parts that can run in parallel."""
    rounds = SLOW_REQUESTS // SLOW_PARTS // REQUESTS_PER_ROUND
    first = 1000 + part * rounds
    count = run_rounds(SEED, range(first, first + rounds))
    print(f"seed {SEED}, rounds {first} to {first + rounds - 1}: {count.requests:,} requests")
    print(*count.outcomes.most_common(), *count.slowest, sep="\n")
    assert count.requests == rounds * REQUESTS_PER_ROUND


@pytest.mark.parametrize("path", cases(), ids=lambda path: path.stem)
def test_requests_that_once_failed_are_answered(path: Path) -> None:
    world = World()
    for request in load(path):
        world.send(request)
    world.check()


def test_unaltered_requests_are_accepted() -> None:
    """Tests the generator: altering requests that are rejected anyway would test little."""
    taken: Counter[str] = Counter()
    rng = Random(SEED)
    world = World()
    for _ in range(60):
        for name, make in MAKERS.items():
            world.let_time_pass(0.01)
            body = json.dumps(make(rng)).encode()
            headers = {**HEADERS, b"x-amz-target": target_of(name)}
            answer = world.send(HttpRequest("POST", b"/", headers, body))
            assert answer.status == 200 or document_of(answer)["__type"]
            taken[name] += answer.status == 200
    world.check()
    assert {name for name in OPERATIONS if name in MAKERS and taken[name] < 3} == set()
