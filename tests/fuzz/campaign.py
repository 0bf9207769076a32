"""Rounds of hostile requests from one seed; reduces and stores failing requests.

A round is a new world and a few hundred requests. The campaign's seed and the round's number determine its
requests, so these two numbers repeat any failure.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from faradisc.protocol.http import HttpRequest

from .corpus import save
from .model_requests import model_request
from .mutations import (
    encode,
    mutate_bytes,
    mutate_document,
    mutate_headers,
    other_method,
    other_target,
    packed,
)
from .requests import any_request, target_of
from .world import HEADERS, World, document_of

REQUESTS_PER_ROUND = 400
_SLOWEST_KEPT = 5


@dataclass
class Count:
    """Counts of the rounds."""

    requests: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """By error, or "ok"."""
    taken: Counter[str] = field(default_factory=Counter)
    """Answered with 200, by target."""
    slowest: list[tuple[float, str]] = field(default_factory=list)
    """Seconds, and where: for people, never asserted."""

    def add(self, other: Count) -> None:
        self.requests += other.requests
        self.outcomes += other.outcomes
        self.taken += other.taken
        self.slowest = sorted(self.slowest + other.slowest, reverse=True)[:_SLOWEST_KEPT]


class Failure(AssertionError):
    """Raised for a wrong answer. The text says how to repeat the request."""


def requests_of(seed: int, number: int) -> Iterator[HttpRequest]:
    """Yields the requests of one round."""
    rng = Random(f"{seed}/{number}")
    request = hostile(rng)
    for _ in range(REQUESTS_PER_ROUND):
        if rng.random() < 0.97:  # otherwise the last one again, as a client does that saw no answer
            request = hostile(rng)
        yield request


def hostile(rng: Random) -> HttpRequest:
    """Returns one request: valid, or altered once or several times."""
    if rng.random() < 0.1:
        operation, document = model_request(rng)
        target = operation.target
    else:
        name, document = any_request(rng)
        target = target_of(name)
    document = json.loads(json.dumps(document))
    while rng.random() < 0.55:
        document = mutate_document(rng, document)
    headers = {**HEADERS, b"x-amz-target": target}
    body = encode(rng, document)
    method, path = "POST", b"/"
    chance = rng.random()
    if chance < 0.08:
        body = mutate_bytes(rng, body)
    elif chance < 0.12:
        body = packed(rng, body)
        headers[b"content-encoding"] = b"gzip"
    elif chance < 0.17:
        headers = mutate_headers(rng, headers)
    elif chance < 0.18:
        path = other_target(rng)
    elif chance < 0.19:
        method = other_method(rng)
    return HttpRequest(method, path, headers, body)


def run_round(seed: int, number: int) -> Count:
    """Runs one round in a new world. Raises Failure after storing the reduced requests."""
    count = Count()
    world = World()
    sent: list[HttpRequest] = []
    pauses = Random(number)
    for request in requests_of(seed, number):
        world.let_time_pass(pauses.choice((0, 0, 0.001, 0.01)))
        sent.append(request)
        started = time.perf_counter()
        try:
            answer = world.send(request)
        except Exception as error:
            raise Failure(_described(seed, number, sent, error)) from error
        taken = time.perf_counter() - started
        count.requests += 1
        target = request.headers.get(b"x-amz-target", b"").decode("latin-1")[:60]
        count.slowest.append((taken, f"{target} of round {number}, request {len(sent) - 1}"))
        if answer.status == 200:
            count.outcomes["ok"] += 1
            count.taken[target] += request.method == "POST"
        else:
            named = answer.status == 400
            count.outcomes[
                document_of(answer)["__type"].rpartition("#")[2] if named else str(answer.status)
            ] += 1
    try:
        world.check()
    except Exception as error:
        raise Failure(_described(seed, number, sent, error)) from error
    world.close()
    count.slowest = sorted(count.slowest, reverse=True)[:_SLOWEST_KEPT]
    return count


def run_rounds(seed: int, numbers: Sequence[int]) -> Count:
    """Raises Failure at the first round that fails."""
    total = Count()
    for number in numbers:
        total.add(run_round(seed, number))
    return total


# --- After a failure -----------------------------------------------------------------------------


def _described(seed: int, number: int, sent: list[HttpRequest], error: Exception) -> str:
    smallest = reduce(sent)
    path = save(f"found-{seed}-{number}", smallest, why=f"{type(error).__name__}: {str(error)[:300]}")
    last = smallest[-1]
    return (
        f"{type(error).__name__}: {str(error)[:1000]}\n"
        f"seed {seed}, round {number}, request {len(sent) - 1}; "
        f"{len(smallest)} requests kept in {path.name}\n"
        f"again: PYTHONPATH=tests python -m fuzz --seed {seed} --round {number}\n"
        f"or:    PYTHONPATH=tests python -m fuzz --replay {path.name}\n"
        f"last:  {last.method} {last.headers.get(b'x-amz-target')!r} {last.body[:2000]!r}"
    )


def fails(requests: Sequence[HttpRequest]) -> bool:
    """Whether these requests fail in a new world."""
    world = World()
    try:
        for request in requests:
            world.send(request)
        world.check()
    except Exception:
        return True
    world.close()
    return False


def reduce(requests: list[HttpRequest]) -> list[HttpRequest]:
    """Returns few requests that still fail: the last one alone, or those left after dropping parts.

    Returns all if they do not fail without the pauses of the round.
    """
    if fails(requests[-1:]):
        return requests[-1:]
    if not fails(requests):
        return requests
    step = len(requests) // 2
    while step:
        start = 0
        while start < len(requests) - 1:
            shorter = requests[:start] + requests[min(start + step, len(requests) - 1) :]
            if fails(shorter):
                requests = shorter
            else:
                start += step
        step //= 2
    return requests
