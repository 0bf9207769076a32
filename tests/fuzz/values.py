"""Attribute values of all ten types, often at the limits."""

from __future__ import annotations

from base64 import b64encode
from random import Random
from typing import Any

NAMES = ("pk", "sk", "id", "h", "r", "kind", "when", "rank", "a", "b", "c", "d", "title", "tags", "doc", "n")
"""Attribute names: keys of the standing tables and of their indexes, and some that are no keys."""

ODD_NAMES = (
    *("", "name", "Status", "größe", "a.b", "#", ":v", "a b", "0", "𝄞", "\x00", "size", "x" * 255, "x" * 256),
    "y" * 65_535,
    "z" * 65_536,
)

STRINGS = (
    "",
    "a",
    "b",
    "ab",
    "x#1",
    "é",
    "𝄞𝄞",
    "\x00",
    "\U0010ffff",
    "ﷺ",
    "2026-11-20",
    "a" * 100,
    "k" * 1024,
)
ODD_STRINGS = ("q" * 2048, "q" * 2049, "é" * 1025, "\ud7ff\ue000", "a" * 70_000, "b" * 409_600)

NUMBERS = (
    *("0", "1", "-1", "2", "10", "0.5", "-0.25", "123456789", "1e3", "1E-5", "00012", "1.500", "+7", "-0"),
    *("9.9999999999999999999999999999999999999E+125", "1E-130", "-9.9E125", "1e-131", "1e126"),
    "12345678901234567890123456789012345678",
)
ODD_NUMBERS = (
    *("", " ", "NaN", "Infinity", "-Infinity", "0x10", "1_000", "1,5", "--1", "1e", "e5", ".", "+", "1.2.3"),
    *(
        "٣",
        "１",
        "1 ",
        " 1",
        "1\n",
        "²",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "0e126",
        "0e-131",
    ),
    *("9" * 39, "1" + "0" * 200, "0." + "0" * 200 + "1", "1" * 5000, "1e" + "9" * 5000, "0" * 100_000),
)

BINARIES = (b"", b"\x00", b"\xff", b"a", b"ab", b"\x00\xff", bytes(range(256)))
ODD_BASE64 = ("=", "A", "A===", "AB==", "AA==\n", "A A=", "_-8=", "é", "AAAA=", "====", "////AB==")


def scalar(rng: Random, kind: str) -> dict[str, Any]:
    """A valid value of type S, N or B."""
    if kind == "S":
        return {"S": rng.choice(STRINGS)}
    if kind == "N":
        return {"N": rng.choice(NUMBERS[:14])}
    return {"B": _base64(rng.choice(BINARIES))}


def key_scalar(rng: Random, kind: str) -> dict[str, Any]:
    """A valid key value: not empty, and from few, so that requests meet the same items."""
    if kind == "S":
        return {"S": rng.choice(STRINGS[1:5])}
    if kind == "N":
        return {"N": rng.choice(NUMBERS[:6])}
    return {"B": _base64(rng.choice(BINARIES[1:4]))}


def value(rng: Random, levels: int = 4) -> dict[str, Any]:
    """A value of any type, valid."""
    kind = rng.choice(("S", "S", "N", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M", "M"))
    if kind in ("S", "N", "B"):
        return scalar(rng, kind)
    if kind == "BOOL":
        return {"BOOL": rng.random() < 0.5}
    if kind == "NULL":
        return {"NULL": True}
    if kind in ("SS", "NS", "BS"):
        return {kind: _set(rng, kind)}
    count = rng.randrange(4) if levels else 0
    if kind == "L":
        return {"L": [value(rng, levels - 1) for _ in range(count)]}
    return {"M": {rng.choice(NAMES): value(rng, levels - 1) for _ in range(count)}}


def _set(rng: Random, kind: str) -> list[str]:
    count = rng.randrange(1, 5)
    if kind == "SS":
        return rng.sample(STRINGS, count)
    if kind == "NS":
        return rng.sample(("1", "2", "-3", "0.5", "1e2", "77"), count)
    return [_base64(binary) for binary in rng.sample(BINARIES, count)]


def odd_value(rng: Random) -> Any:
    """What stands where an AttributeValue should, and is none, or one that is refused."""
    match rng.randrange(12):
        case 0:
            return {"S": rng.choice(ODD_STRINGS)}
        case 1:
            return {"N": rng.choice(ODD_NUMBERS)}
        case 2:
            return {"B": rng.choice(ODD_BASE64)}
        case 3:
            return {
                rng.choice(("SS", "NS", "BS")): rng.choice(([], ["a", "a"], [""], ["1", "1.0"], [None], None))
            }
        case 4:
            return {"NS": [rng.choice(ODD_NUMBERS), rng.choice(NUMBERS)]}
        case 5:
            return {
                rng.choice(("BOOL", "NULL")): rng.choice((False, "true", "false", 1, 0, None, "", [], {}))
            }
        case 6:
            return {}
        case 7:
            return {**value(rng), **value(rng)}
        case 8:
            return deep(rng, rng.choice((29, 30, 31, 32, 33, 100)))
        case 9:
            return {rng.choice(("X", "s", "", "Item")): rng.choice(("a", 1, None, {}))}
        case 10:
            return {
                rng.choice(("S", "N", "B", "SS", "L", "M")): rng.choice(
                    (1, 1.5, True, None, [], {}, [[]], "x")
                )
            }
        case _:
            return rng.choice((None, 1, "a", True, [], [{"S": "a"}], 1e308))


def deep(rng: Random, levels: int) -> dict[str, Any]:
    """Lists or maps in each other."""
    nested = value(rng, 0)
    for _ in range(levels):
        nested = {"L": [nested]} if rng.random() < 0.5 else {"M": {"a": nested}}
    return nested


def _base64(raw: bytes) -> str:
    return b64encode(raw).decode()
