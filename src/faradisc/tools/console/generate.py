"""Items made up like those that are there: the same entities and attributes, other keys and values. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from faradisc.tools.console.entities import entity_name
from faradisc.tools.console.values import Item, Value, type_of

GENERATED_MAX: Final = 1_000
_DIGITS: Final = re.compile(r"\d+")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRIES: Final = 20
"""Attempts at a key that is not there yet."""


def generated(
    like: Sequence[Item], keys: Sequence[str], types: dict[str, str], count: int, seed: int
) -> list[Item]:
    """Returns at most `count` items with new keys. like: items of the table; without any, only keys are made.

    A text keeps its shape: numbers in it are others, days others in the year before and after.
    """
    chance = random.Random(seed)
    examples = list(like) or [{name: _first(types[name]) for name in keys}]
    known = {tuple(str(item.get(name)) for name in keys) for item in like}
    values: dict[tuple[str, str], list[Value]] = {}
    for item in examples:
        for name, value in item.items():
            values.setdefault((entity_name(item, keys), name), []).append(value)
    made: list[Item] = []
    for _ in range(count * _TRIES):
        if len(made) == count:
            break
        example = chance.choice(examples)
        entity = entity_name(example, keys)
        item = {
            name: _other(value, values[entity, name], chance, is_key=name in keys)
            for name, value in example.items()
        }
        if not any(_varies(example[name]) for name in keys):
            item[keys[0]] = {"S": f"{example[keys[0]]['S']}-{chance.randrange(10**6):06d}"}
        key = tuple(str(item.get(name)) for name in keys)
        if key not in known:
            known.add(key)
            made.append(item)
    return made


def _varies(value: Value) -> bool:
    """Returns whether other values of a key have the same shape: a text without a number names something."""
    return type_of(value) != "S" or bool(_DIGITS.search(value["S"]))


def _first(kind: str) -> Value:
    return {"N": {"N": "1"}, "B": {"B": "AAAA"}}.get(kind, {"S": "item-00001"})


def _other(value: Value, seen: Sequence[Value], chance: random.Random, *, is_key: bool) -> Value:
    """Returns another value of the same shape. seen: values of the attribute, for those drawn from a list."""
    kind = type_of(value)
    same = [each for each in seen if type_of(each) == kind]
    distinct = {str(each) for each in same}
    is_choice = len(same) > len(distinct) and len(distinct) <= max(2, len(same) // 3)
    match kind:
        case "S" if is_key and not _varies(value):
            return value
        case "S" if not is_key and (is_choice or not _varies(value)):
            return chance.choice(same)
        case "S":
            return {"S": _text(value["S"], chance)}
        case "N" if is_key:
            return {"N": str(chance.randrange(1, 10**9))}
        case "N":
            numbers = [Decimal(each["N"]) for each in same]
            low, high = min(numbers), max(numbers)
            exponent = min(Decimal(value["N"]).as_tuple().exponent, 0)
            drawn = low + (high - low) * Decimal(chance.random())
            return {"N": str(drawn.quantize(Decimal(1).scaleb(int(exponent))))}
        case "BOOL":
            return {"BOOL": chance.random() < sum(each["BOOL"] for each in same) / len(same)}
        case "B" if is_key:
            return {"B": "".join(chance.choice("ABCDEFGH") for _ in range(8))}
        case _:
            return chance.choice(same)


def _text(text: str, chance: random.Random) -> str:
    """Returns a text whose days and numbers are others, each as long as before."""
    parts, end = [], 0
    for found in re.finditer(r"\d{4}-\d{2}-\d{2}|\d+", text):
        parts.append(text[end : found.start()])
        end = found.end()
        parts.append(_moved(found[0], chance) if _DAY.fullmatch(found[0]) else _number(found[0], chance))
    return "".join(parts) + text[end:]


def _moved(day: str, chance: random.Random) -> str:
    try:
        return f"{datetime.fromisoformat(day) + timedelta(days=chance.randrange(-180, 180)):%Y-%m-%d}"
    except (ValueError, OverflowError):
        return day


def _number(digits: str, chance: random.Random) -> str:
    if len(digits) <= 2:  # of a clock, most often
        return f"{chance.randrange(24):0{len(digits)}d}"[-len(digits) :]
    return f"{chance.randrange(10 ** len(digits)):0{len(digits)}d}"
