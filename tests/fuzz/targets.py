"""Functions of any bytes, for a coverage-guided fuzzer.

They raise only for bugs: the service's errors are caught, and properties of accepted input are asserted.
guided.py runs them under atheris; the fast tests replay the inputs in seeds/.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from typing import Any

from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import Policies, PolicyError, PolicyKind, Principal, Request
from faradisc.auth.sigv4 import lenient, parts_of
from faradisc.engine.streams.iterators import arn_of, read
from faradisc.errors import ApiError
from faradisc.language.expressions import (
    Placeholders,
    bind_condition,
    bind_key_clauses,
    bind_projection,
    bind_update,
    check_placeholders,
)
from faradisc.language.partiql.parser import parse_statement
from faradisc.language.partiql.token import decode_token
from faradisc.model.codec.sortkey import decode_component, encode_component
from faradisc.model.values import number
from faradisc.model.values.checks import canonicalise
from faradisc.model.values.size import item_size, value_size
from faradisc.operations.registry import OPERATIONS
from faradisc.protocol.body import BodyTooLarge, read_object, unpack
from faradisc.protocol.http import HttpRequest

from .requests import target_of
from .world import HEADERS, World

_NAMES = {"#a": "a", "#b": "b.c", "#s": "status"}
_VALUES: dict[str, Any] = {":n": {"N": "1"}, ":s": {"S": "x"}, ":l": {"L": []}, ":t": {"SS": ["x"]}}
_ITEM: dict[str, Any] = {"a": {"N": "1"}, "b.c": {"L": [{"S": "x"}]}, "m": {"M": {"n": {"N": "2"}}}}
_OPERATIONS = sorted(OPERATIONS)
_REQUESTS_PER_WORLD = 2000

_ACCOUNT = "111111111111"
_TABLE = f"arn:aws:dynamodb:us-east-1:{_ACCOUNT}:table/Games"
_CALLERS = (
    Principal(f"arn:aws:iam::{_ACCOUNT}:user/alice", _ACCOUNT, "user", "alice", "AIDAALICE", tags={"t": "*"}),
    Principal(
        f"arn:aws:sts::{_ACCOUNT}:assumed-role/R/S", _ACCOUNT, "session", user_id="AROAR:S", issued_s=0
    ),
    Principal("arn:aws:iam::222222222222:user/bob", "222222222222", "user", "bob", "AIDABOB"),
)
_CONTEXT = {
    "aws:sourceip": "10.0.0.1",
    "aws:currenttime": "2026-11-24T00:00:00Z",
    "aws:epochtime": "1764000000",
    "dynamodb:leadingkeys": ("alice", "*"),
    "dynamodb:attributes": (),
}
_POLICY_KINDS: tuple[PolicyKind, ...] = ("identity", "resource", "trust")
_ALL, _NOTHING = (
    compile_policy({"Statement": {"Effect": effect, "Action": "*", "Resource": "*"}}, "identity")
    for effect in ("Allow", "Deny")
)


def expression(data: bytes) -> None:
    """The first byte chooses the kind of expression."""
    text = data[1:].decode("utf-8", "surrogateescape")
    placeholders = Placeholders(_NAMES, _VALUES)
    try:
        kind = data[0] % 4 if data else 0
        if kind == 0:
            bind_condition(text, "ConditionExpression", placeholders).matches(_ITEM)
        elif kind == 1:
            item = bind_update(text, placeholders).apply(_ITEM).item
            assert item_size(item) >= 0
        elif kind == 2:
            bind_projection(text, placeholders)
        else:
            bind_key_clauses(text, placeholders)
        placeholders.check_all_used()
        check_placeholders({text[:300]: "x"}, {text[:300]: {"S": "x"}})
    except ApiError:
        pass


def partiql(data: bytes) -> None:
    with contextlib.suppress(ApiError):
        parse_statement(data.decode("utf-8", "surrogateescape"))


def numbers(data: bytes) -> None:
    """What is accepted has one form, and comes back from its order-preserving encoding."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        canonical = number.parse(text) if text else "0"
    except number.NumberError:
        return
    assert number.parse(canonical) == canonical
    assert number.decode_ordered(number.encode_ordered(canonical)) == canonical
    assert number.size_bytes(canonical) == len(number.encode_ordered(canonical)), canonical


def keys(data: bytes) -> None:
    """Two components in a row come apart again, and sort as their values do."""
    half = len(data) // 2
    texts = [data[:half].decode("utf-8", "replace"), data[half:].decode("utf-8", "replace")]
    first, second = ({"S": text} for text in texts)
    encoded = encode_component(first) + encode_component(second)
    found, end = decode_component(encoded, 0, "S")
    assert (found, decode_component(encoded, end, "S")) == (first, (second, len(encoded)))
    ordered = encode_component(first) < encode_component(second)
    assert ordered == (texts[0].encode() < texts[1].encode())


def values(data: bytes) -> None:
    """One attribute value in JSON: canonical after one walk, and measurable."""
    try:
        document = read_object(data)
    except ApiError:
        return
    if canonicalise(document):
        again = {**document}
        assert canonicalise(again)
        assert again == document
        assert 0 <= value_size(document) <= len(data) * 3


def bodies(data: bytes) -> None:
    """Plain and as if it were compressed. The bound on what comes out of gzip is the memory's."""
    for unpacked in (lambda: data, lambda: unpack(data, b"gzip")):
        with contextlib.suppress(ApiError, BodyTooLarge):
            read_object(unpacked())


def signatures(data: bytes) -> None:
    """An Authorization header, a date and a query string, divided by zero bytes."""
    header, date, query, *_ = [*data.split(b"\0"), b"", b"", b""]
    for headers, target in (
        ({b"authorization": header, b"x-amz-date": date}, b"/?" + query),
        ({b"host": b"localhost"}, b"/?" + header),
    ):
        with contextlib.suppress(ApiError):
            lenient(HttpRequest("POST", target, headers, b""))
        with contextlib.suppress(ApiError):
            parts_of(headers, target)


def policies(data: bytes) -> None:
    """A policy document: the first byte chooses its kind and the caller.

    A policy that was accepted is evaluated without a failure, and allows nothing beside a Deny of everything.
    """
    choice = data[0] if data else 0
    kind = _POLICY_KINDS[choice % 3]
    caller = _CALLERS[choice // 3 % len(_CALLERS)]
    try:
        policy = compile_policy(data[1:].decode("utf-8", "surrogateescape"), kind)
    except PolicyError as error:
        assert str(error)
        return
    request = Request(caller, "dynamodb:GetItem", _TABLE, _ACCOUNT, _CONTEXT)
    if kind == "identity":
        asked = [Policies([policy]), Policies([_ALL], boundary=policy, session=[policy])]
        denied = [Policies([policy, _NOTHING]), Policies([policy], boundary=_NOTHING)]
    else:
        asked = [Policies([_ALL], resource=policy)]
        denied = [Policies([_NOTHING], resource=policy), Policies([_ALL], _NOTHING, resource=policy)]
    for given in asked:
        decision = evaluate(request, given)
        assert not decision.error, decision.error
    for given in denied:
        decision = evaluate(request, given)
        assert not decision.allowed and not decision.error


def iterators(data: bytes) -> None:
    """Tokens that a server gave out once, as far as the client is to be believed."""
    text = data.decode("utf-8", "replace")
    for take in (
        lambda: read(text, arn_of(text), "00" * 16, 0),
        lambda: decode_token(text, "SELECT * FROM t", ()),
    ):
        try:
            take()
        except ApiError:
            continue
        raise AssertionError("a forged token was accepted")


def requests(data: bytes) -> None:
    """A whole request in process: the first byte chooses the operation, the rest is the body.

    The world checks the answer: no 500, a shape the service model allows, the canary alive.
    """
    name = _OPERATIONS[data[0] % len(_OPERATIONS)] if data else "ListTables"
    headers = {**HEADERS, b"x-amz-target": target_of(name)}
    world = _worlds.world()
    world.send(HttpRequest("POST", b"/", headers, data[1:]))


class _Worlds:
    """A fresh world now and then, so that inputs do not build on thousands of others."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._sent = 0

    def world(self) -> World:
        self._sent += 1
        if self._world is None or self._sent % _REQUESTS_PER_WORLD == 0:
            if self._world is not None:
                self._world.check()
                self._world.close()
            self._world = World()
        return self._world


_worlds = _Worlds()

Target = Callable[[bytes], None]
TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        expression,
        partiql,
        numbers,
        keys,
        values,
        bodies,
        signatures,
        policies,
        iterators,
        requests,
    )
}


@cache
def operation_byte(name: str) -> bytes:
    """The first byte of an input of `requests` that chooses this operation."""
    return bytes([_OPERATIONS.index(name)])
