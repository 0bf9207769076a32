"""Attribute values as the console shows and reads them: cells of a grid, rows of a form, JSON.

Everywhere a value is DynamoDB JSON, `{"S": "text"}`, with numbers as text and binary as base64, so nothing is
rounded. The client of boto3 wants bytes for binary: `to_client` and `from_client` convert.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Value = dict[str, Any]
Item = dict[str, Value]

TYPES: Final = {
    "S": "String",
    "N": "Number",
    "B": "Binary",
    "BOOL": "Boolean",
    "NULL": "Null",
    "M": "Map",
    "L": "List",
    "SS": "String set",
    "NS": "Number set",
    "BS": "Binary set",
}
"""Names of the types by their code."""
CELL_MAX: Final = 200
"""Most characters of a value in a cell."""
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200e\u200f]")


class ValueMistake(Exception):
    """Raised when typed text is no value; the text is a sentence for the user."""


def type_of(value: Value) -> str:
    return next(iter(value))


def text_of(value: Value) -> str:
    """Returns the text of a value as a form shows it: plain for scalars, JSON for the others."""
    kind, content = next(iter(value.items()))
    match kind:
        case "S" | "N" | "B":
            return str(content)
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return ""
        case _:
            return json.dumps(content, ensure_ascii=False, indent=2 if kind in ("M", "L") else None)


def cell(value: Value | None) -> str:
    """Returns the short text of a value in a grid.

    Characters that change the direction of text or are invisible are shown as escapes.
    """
    if value is None:
        return ""
    kind, content = next(iter(value.items()))
    match kind:
        case "M":
            text = (
                json.dumps(plain(value), ensure_ascii=False)
                if len(content) < 50
                else f"{{{len(content)} attributes}}"
            )
        case "L" | "SS" | "NS" | "BS":
            text = (
                json.dumps(plain(value), ensure_ascii=False)
                if len(content) < 50
                else f"[{len(content)} elements]"
            )
        case "NULL":
            text = "null"
        case _:
            text = text_of(value)
    return visible(text[: CELL_MAX + 1] if len(text) <= CELL_MAX else text[:CELL_MAX] + "…")


def is_inline(value: Value | None) -> bool:
    """Returns whether a value is edited in its cell, which shows it whole: short text, numbers, Booleans."""
    if value is None:
        return True
    kind, content = next(iter(value.items()))
    return kind in ("N", "BOOL") or (kind == "S" and len(content) <= CELL_MAX and visible(content) == content)


def visible(text: str) -> str:
    """Returns text without characters that hide or reorder others; each is shown by its number."""
    text = _SURROGATE.sub("\ufffd", text)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain(value: Value) -> Any:
    """Returns a value without its types, for reading only."""
    kind, content = next(iter(value.items()))
    match kind:
        case "M":
            return {name: plain(each) for name, each in content.items()}
        case "L":
            return [plain(each) for each in content]
        case "N":
            return json.loads(content) if re.fullmatch(r"-?[1-9]\d{0,14}|0", content) else content
        case "NULL":
            return None
        case _:
            return content


def value_of(kind: str, text: str) -> Value:
    """Returns the value that was typed into a form. Raises ValueMistake."""
    match kind:
        case "S":
            return {"S": _storable(text)}
        case "N":
            if not _NUMBER.fullmatch(text.strip()):
                raise ValueMistake(f"{text.strip()[:40]!r} is not a number.")
            return {"N": text.strip()}
        case "B":
            return {"B": _base64(text.strip())}
        case "BOOL":
            if text.strip().lower() not in ("true", "false"):
                raise ValueMistake("A Boolean is true or false.")
            return {"BOOL": text.strip().lower() == "true"}
        case "NULL":
            return {"NULL": True}
        case _:
            return checked({kind: parsed(text)})


def _storable(text: str) -> str:
    """Returns a text that has a form in UTF-8. Raises ValueMistake for half of a surrogate pair."""
    if _SURROGATE.search(text):
        raise ValueMistake("Text has half of a surrogate pair, which cannot be stored.")
    return text


def parsed(text: str) -> Any:
    """Returns the document of JSON text, its numbers as `Exact`. Raises ValueMistake."""
    try:
        return json.loads(text, parse_float=Exact, parse_int=Exact, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueMistake(f"This is not JSON: {error}.") from None


class Exact(str):
    """A number as it was written."""


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")


def _base64(text: str) -> str:
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except ValueError:
        raise ValueMistake("Binary is written as base64.") from None


def checked(value: Any, path: str = "the value") -> Value:
    """Returns a value of DynamoDB JSON whose structure is right. Raises ValueMistake."""
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueMistake(f'{path} is not a typed value such as {{"S": "text"}}.')
    kind: str = next(iter(value))
    content: Any = value[kind]
    if kind not in TYPES:
        raise ValueMistake(f"{path} has the unknown type {str(kind)[:20]!r}; types are {', '.join(TYPES)}.")
    wanted, words = _CONTENTS.get(kind, (str, "text in quotes"))
    is_wanted: bool = isinstance(content, wanted)
    if not is_wanted or (kind != "N" and isinstance(content, Exact)):
        raise ValueMistake(f"{path} is of type {kind} and needs {words}.")
    match kind:
        case "M":
            return {"M": {_storable(name): checked(each, f"{path}.{name}") for name, each in content.items()}}
        case "L":
            return {"L": [checked(each, f"{path}[{at}]") for at, each in enumerate(content)]}
        case "SS" | "NS" | "BS":
            return {kind: [value_of(kind[0], _text(each, path))[kind[0]] for each in content]}
        case "N" | "B":
            return value_of(kind, content)
        case "S":
            return {"S": _storable(str(content))}
        case _:
            return {kind: content}


_CONTENTS: Final[dict[str, tuple[type, str]]] = {
    "M": (dict, "an object"),
    **dict.fromkeys(("L", "SS", "NS", "BS"), (list, "a list")),
    **dict.fromkeys(("BOOL", "NULL"), (bool, "true or false")),
}


def _text(element: Any, path: str) -> str:
    if not isinstance(element, str) or isinstance(element, Exact):
        raise ValueMistake(f"Elements of the set {path} are text in quotes.")
    return element


def item_of(text: str) -> Item:
    """Returns the item of DynamoDB JSON text. Raises ValueMistake."""
    return checked_item(parsed(text))


def checked_item(document: Any) -> Item:
    """Returns an item of DynamoDB JSON whose structure is right. Raises ValueMistake."""
    if not isinstance(document, dict):
        raise ValueMistake('An item is an object of typed values, such as {"id": {"S": "1"}}.')
    if "" in document:
        raise ValueMistake("An attribute needs a name.")
    item = {}
    for name, value in document.items():
        try:
            item[_storable(name)] = checked(value, name)
        except ValueMistake as mistake:
            raise ValueMistake(f"{name}: {mistake}" if name not in str(mistake) else str(mistake)) from None
    return item


def item_text(item: Item) -> str:
    """Returns an item as DynamoDB JSON for an editor; half of a surrogate pair is written as its escape."""
    return _SURROGATE.sub(
        lambda half: f"\\u{ord(half[0]):04x}", json.dumps(item, ensure_ascii=False, indent=2)
    )


def to_client(value: Any) -> Any:
    """Returns a value, an item or anything that contains them with binary as bytes."""
    return _binary(value, base64.b64decode)


def from_client(value: Any) -> Any:
    """Returns what the client answered with binary as base64."""
    return _binary(value, lambda raw: base64.b64encode(raw).decode())


def _binary(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {
            name: convert(each)
            if name == "B" and isinstance(each, str | bytes)
            else [convert(one) for one in each]
            if name == "BS" and isinstance(each, list) and all(isinstance(one, str | bytes) for one in each)
            else _binary(each, convert)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_binary(each, convert) for each in value]
    return value


def size_text(number: float) -> str:
    """Returns a number of bytes as people read it."""
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1024 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1024
    raise AssertionError("unreachable")


def counted(number: float, word: str) -> str:
    """Returns a number with what it counts: "1 item", "2 items"."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {word}" if number == 1 else f"{shown} {word}s"
