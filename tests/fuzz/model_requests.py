"""Requests from the service model alone: any operation of either service, any members.

They reach members that `requests.py` never writes, and operations that are not offered.
"""

from __future__ import annotations

from random import Random
from typing import Any

from faradisc.protocol.service_model import SERVICES, ModelOperation, Shape, load

from .tables import BY_NAME
from .values import NAMES, STRINGS, value

OPERATIONS: tuple[ModelOperation, ...] = tuple(
    operation for service in SERVICES for operation in load(service).operations.values()
)

_EXPRESSIONS = ("pk = :v0", "attribute_exists(a.b[0])", "SET a = :v0", "#n0", "size(a) > :v0", "a, b.c")
_INTEGERS = (0, 1, 2, 10, 100, 25, -1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 1_000_000)
_STRING_POOLS = {"IndexName": ("ByRank", "ByKind", "Multi", "Inverted"), "TableName": tuple(BY_NAME)}


def model_request(rng: Random) -> tuple[ModelOperation, dict[str, Any]]:
    operation = rng.choice(OPERATIONS)
    return operation, _structure(rng, operation.input, 6)


def _structure(rng: Random, shape: Shape, levels: int) -> dict[str, Any]:
    made = {}
    for name, member in shape.members.items():
        wanted = name in shape.required and rng.random() < 0.97
        if wanted or rng.random() < (0.25 if levels > 3 else 0.1):
            made[name] = _any(rng, member, levels - 1, name)
    return made


def _any(rng: Random, shape: Shape, levels: int, name: str = "") -> Any:
    if shape.name == "AttributeValue":
        return value(rng, 2)
    match shape.type:
        case "structure":
            return _structure(rng, shape, levels) if levels > 0 else {}
        case "list":
            count = rng.choice((0, 1, 1, 2, 30)) if levels > 0 else 0
            assert shape.element is not None
            return [_any(rng, shape.element, levels - 1, name) for _ in range(count)]
        case "map":
            assert shape.element is not None
            keys = rng.sample((*NAMES, *BY_NAME, "#n0", ":v0"), rng.choice((0, 1, 2))) if levels > 0 else ()
            return {key: _any(rng, shape.element, levels - 1, name) for key in keys}
        case "string":
            return _string(rng, shape, name)
        case "boolean":
            return rng.random() < 0.5
        case "integer" | "long":
            return rng.choice(_INTEGERS)
        case "blob":
            return rng.choice(("", "AA==", "AAAA"))
        case _:
            return rng.choice((0, 0.5, -1.5, 1e300, 1_700_000_000))


def _string(rng: Random, shape: Shape, name: str) -> str:
    if shape.enum and rng.random() < 0.9:
        return rng.choice(shape.enum)
    if name in _STRING_POOLS and rng.random() < 0.9:
        return rng.choice(_STRING_POOLS[name])
    if "Expression" in name or "Statement" in name:
        return rng.choice(_EXPRESSIONS)
    if "Arn" in name:
        return f"arn:aws:dynamodb:us-east-1:000000000000:table/{rng.choice(tuple(BY_NAME))}"
    return rng.choice((*NAMES, *STRINGS))
