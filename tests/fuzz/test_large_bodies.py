"""Bodies that are large in one respect: many members, long texts, deep nesting, full batches.

What it proves: neither answers nor work grow faster than the request, and none is a 500. A request of 16 MB
has a million members, so a loop over pairs would exceed the world's time limit.
"""

from __future__ import annotations

import gzip

import pytest

from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.protocol.http import HttpRequest, HttpResponse

from .large import BODIES, bomb
from .world import HEADERS, World

QUICK_BYTES = 160 * 1024
ANSWER_BYTES_MAX = 128 * 1024
"""Of a rejection: it may repeat a refused value, but not all of any value."""
UNBOUNDED = frozenset({"names", "values"})
"""The service lists every unused placeholder, and so do we; a request is the bound."""


def _send(world: World, operation: str, body: bytes, **headers: bytes) -> HttpResponse:
    target = {b"x-amz-target": f"DynamoDB_20120810.{operation}".encode()}
    more = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return world.send(HttpRequest("POST", b"/", HEADERS | target | more, body))


def _check(name: str, size: int, *, compressed: bool = False) -> None:
    world = World()
    operation, body = BODIES[name](size)
    assert len(body) <= size + 64, "the frame of the item is not counted"
    if compressed:
        answer = _send(world, operation, gzip.compress(body, mtime=0), content_encoding=b"gzip")
        plain = _send(world, operation, body)
        assert answer.status == 413 or (answer.status, answer.body) == (plain.status, plain.body)
    else:
        answer = _send(world, operation, body)
    bound = size if name in UNBOUNDED else ANSWER_BYTES_MAX
    assert answer.status == 200 or len(answer.body) <= bound
    world.check()
    world.close()


@pytest.mark.parametrize("name", BODIES)
def test_a_large_body_is_answered(name: str) -> None:
    _check(name, QUICK_BYTES)


@pytest.mark.parametrize(
    "name",
    [
        "nothings_of_an_unknown_member",
        "nothings_of_a_list",
        "strings_of_a_set",
        "attributes",
        "unknown_members",
        "open_brackets",
        "closed_maps",
    ],
)
def test_compressed_body_is_answered_as_the_plain_one_or_refused(name: str) -> None:
    _check(name, QUICK_BYTES, compressed=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_largest_body_is_answered(name: str) -> None:
    _check(name, REQUEST_BODY_BYTES_MAX)


def test_body_over_the_limit_gets_413() -> None:
    world = World()
    answer = _send(world, "ListTables", b"{" + b" " * (REQUEST_BODY_BYTES_MAX - 1) + b"}")
    assert (answer.status, answer.body) == (413, b"")


@pytest.mark.parametrize("size", [REQUEST_BODY_BYTES_MAX, 10 * REQUEST_BODY_BYTES_MAX])
def test_body_that_decompresses_over_the_limit_gets_413(size: int) -> None:
    world = World()
    packed = bomb(size)
    assert len(packed) < size // 500
    answer = _send(world, "DescribeTable", packed, content_encoding=b"gzip")
    assert (answer.status, answer.body) == (413, b"")
    world.check()
