"""Items as JSON without types, there and back: the types come from the item as it was. Pure.

Numbers keep all their digits. A list is a set, and a text is binary, where that stood there before.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final

from faradisc.tools.console.values import Exact, Item, Value, ValueMistake, parsed, value_of

_JSON_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def plain_text(item: Item, indent: int | None = 2) -> str:
    """Returns an item as JSON without types."""
    return _text({"M": item}, indent, 0)


def _text(value: Value, indent: int | None, depth: int) -> str:
    kind, content = next(iter(value.items()))
    match kind:
        case "N":
            return content if _JSON_NUMBER.fullmatch(content) else str(Decimal(content))
        case "NULL":
            return "null"
        case "M":
            inner = [f"{json.dumps(n)}: {_text(v, indent, depth + 1)}" for n, v in content.items()]
            return _wrapped("{", inner, "}", indent, depth)
        case "L":
            return _wrapped("[", [_text(v, indent, depth + 1) for v in content], "]", indent, depth)
        case "SS" | "NS" | "BS":
            return f"[{', '.join(_text({kind[0]: each}, None, 0) for each in content)}]"
        case _:
            return json.dumps(content, ensure_ascii=False)


def _wrapped(begin: str, inner: list[str], end: str, indent: int | None, depth: int) -> str:
    if indent is None or not inner:
        return f"{begin}{', '.join(inner)}{end}"
    margin = "\n" + " " * indent * (depth + 1)
    return f"{begin}{margin}{f',{margin}'.join(inner)}\n{' ' * indent * depth}{end}"


def item_of_plain(text: str, like: Item | None = None) -> Item:
    """Returns the item of JSON without types. like: has the types of what stands at the same place.

    Raises ValueMistake.
    """
    document = parsed(text)
    if not isinstance(document, dict):
        raise ValueMistake('An item is an object, such as {"id": "1"}.')
    return {name: value_of_plain(each, (like or {}).get(name), name) for name, each in document.items()}


def value_of_plain(found: Any, like: Value | None = None, path: str = "the value") -> Value:
    """Returns the typed value of parsed JSON. Raises ValueMistake."""
    old: str = ""
    held: Any = None
    if like:
        old, held = next(iter(like.items()))
    match found:
        case Exact():
            return value_of("N", found)
        case bool():
            return {"BOOL": found}
        case None:
            return {"NULL": True}
        case str():
            return value_of("B" if old == "B" else "S", found)
        case dict():
            inner = held if old == "M" else {}
            return {"M": {n: value_of_plain(v, inner.get(n), f"{path}.{n}") for n, v in found.items()}}
        case list():
            wanted = Exact if old == "NS" else str
            if old in ("SS", "NS", "BS") and found and all(type(each) is wanted for each in found):
                return {old: [value_of(old[0], each)[old[0]] for each in found]}
            known = held if old == "L" else []
            return {
                "L": [
                    value_of_plain(v, known[at] if at < len(known) else None, f"{path}[{at}]")
                    for at, v in enumerate(found)
                ]
            }
    raise ValueMistake(f"{path} is no value.")
