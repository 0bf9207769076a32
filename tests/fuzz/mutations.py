"""Alterations of a request: of the document, its expressions, the bytes, the headers.

Each function takes the random source and a part of a request, and returns the altered part. The result may be
a valid request.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

from .values import NAMES, ODD_NAMES, ODD_NUMBERS, ODD_STRINGS, STRINGS, deep, odd_value, value

Document = dict[str, Any]
Place = tuple[Any, Any]
"""A container and the key or index in it."""

# --- The document --------------------------------------------------------------------------------

_SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.5, -0.5, 1e308, 2**31, 2**63, -(2**63) - 1, 10**30, "", "a", [], {}),
    *([None], [[]], [{}], {"": None}, {"S": "a"}, "null", "0", " "),
)
_MEMBERS = (
    *("TableName", "Key", "Item", "Expected", "Limit", "Select", "Segment", "TotalSegments", "IndexName"),
    *("ReturnValues", "ConsistentRead", "KeyConditions", "ScanFilter", "QueryFilter", "AttributesToGet"),
    *("ConditionalOperator", "ExclusiveStartKey", "ExpressionAttributeNames", "ExpressionAttributeValues"),
    *("FilterExpression", "UpdateExpression", "ConditionExpression", "ProjectionExpression", "RequestItems"),
    *("AttributeUpdates", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "TransactItems", "Tags"),
)


def mutate_document(rng: Random, document: Document) -> Document:
    """One change somewhere in the tree. The document given may be changed and must not be used again."""
    places = list(_places(document))
    if not places or rng.random() < 0.1:
        document[rng.choice(_MEMBERS)] = _anything(rng)
        return document
    holder, key = rng.choice(places)
    rng.choice(_TREE_MUTATIONS)(rng, holder, key, places)
    return document


_LEVELS_MAX = 150
"""Of what is copied or made. Deeper nesting is written into the bytes, where it costs no recursion here."""


def _copied(node: Any, levels: int = _LEVELS_MAX) -> Any:
    """A copy to change apart from its original; beyond so many levels nothing is left of it."""
    if not levels:
        return None
    if isinstance(node, dict):
        return {name: _copied(member, levels - 1) for name, member in node.items()}
    if isinstance(node, list):
        return [_copied(element, levels - 1) for element in node]
    return node


def _places(node: Any, levels: int = 40) -> Any:
    """Every place in the tree, outermost first; deeper than 40 is enough of the same."""
    if not levels:
        return
    entries = list(node.items() if isinstance(node, dict) else enumerate(node))
    for key, child in entries:
        yield node, key
        if isinstance(child, dict | list):
            yield from _places(child, levels - 1)


def _anything(rng: Random) -> Any:
    match rng.randrange(5):
        case 0:
            return value(rng)
        case 1 | 2:
            return odd_value(rng)
        case 3:
            return _copied(rng.choice(_SCALARS))
        case _:
            return rng.choice((*STRINGS, *ODD_STRINGS[:4], *ODD_NUMBERS))


def _drop(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    del holder[key]


def _replace(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    holder[key] = _anything(rng)


def _replace_by_scalar(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    holder[key] = _copied(rng.choice(_SCALARS))


def _rename(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    if isinstance(holder, dict):
        new = rng.choice(
            (*NAMES, *ODD_NAMES, *_MEMBERS, "#n0", "#n9", ":v0", ":v9", "S", "N", "M", "L", "NS")
        )
        holder[new] = holder.pop(key)
    else:
        holder.append(_copied(holder[key]))


def _swap(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    """What stands somewhere else in the request stands here too."""
    other, other_key = rng.choice(places)
    present = other_key in other if isinstance(other, dict) else other_key < len(other)
    if present and _weight(other[other_key]) <= _WEIGHT_MAX // 10:
        holder[key] = _copied(other[other_key])


def _wrap(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    content = holder[key]
    holder[key] = rng.choice(
        ([content], {"M": content}, {"L": [content]}, {"S": content}, [content, content])
    )


def _repeat(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    """Many of the same: over the bounds of batches, sets, lists and maps."""
    content = holder[key]
    count = min(rng.choice((2, 26, 101, 300)), _WEIGHT_MAX // _weight(content))
    if isinstance(content, list) and content:
        holder[key] = [_copied(content[0]) for _ in range(count)]
    elif isinstance(content, dict) and content:
        first = next(iter(content.values()))
        holder[key] = content | {f"a{number}": _copied(first) for number in range(count)}
    elif isinstance(content, str):
        holder[key] = content * count


_WEIGHT_MAX = 500_000
"""Of what one repetition makes. A few in each other would otherwise fill the memory, not the database."""


def _weight(node: Any) -> int:
    """Roughly the bytes of a subtree, at least 1, counted until it is too much anyway."""
    weight = 1
    left = [node]
    while left and weight <= _WEIGHT_MAX:
        found = left.pop()
        if isinstance(found, dict):
            weight += sum(map(len, found)) + 5 * len(found)
            left += found.values()
        elif isinstance(found, list):
            weight += 2 * len(found)
            left += found
        else:
            weight += len(found) if isinstance(found, str) else 4
    return weight


def _deepen(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    holder[key] = deep(rng, rng.choice((30, 31, 32, 33, 120)))


def _edit_text(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    """Edit the string at the place, or the nearest string there is."""
    if not isinstance(holder[key], str):
        texts = [place for place in places if isinstance(_at(place), str)]
        if not texts:
            return
        holder, key = rng.choice(texts)
    holder[key] = mutate_text(rng, holder[key])


def _edit_expression(rng: Random, holder: Any, key: Any, places: list[Place]) -> None:
    """Edit an expression of the request, if it has one."""
    found = [
        place for place in places if str(place[1]).endswith("Expression") and isinstance(_at(place), str)
    ]
    if found:
        holder, key = rng.choice(found)
        holder[key] = mutate_text(rng, holder[key])


def _at(place: Place) -> Any:
    holder, key = place
    if isinstance(holder, dict):
        return holder.get(key)
    return holder[key] if key < len(holder) else None


_TREE_MUTATIONS: tuple[Callable[[Random, Any, Any, list[Place]], None], ...] = (
    *(_drop, _drop, _replace, _replace, _replace_by_scalar, _rename, _swap, _swap, _wrap, _repeat, _deepen),
    *(_edit_text, _edit_text, _edit_expression, _edit_expression, _edit_expression),
)

# --- Texts ---------------------------------------------------------------------------------------

_TOKENS = (
    *("(", ")", "((", "))", ",", ".", "..", "[", "]", "[0]", "[-1]", "[99999999999999999999]", "[01]", "[a]"),
    *("=", "<>", "<", ">=", "!=", "==", "+", "-", "*", "#", ":", "#n0", ":v0", "#missing", ":missing", "'a'"),
    *(
        " AND ",
        " OR ",
        " NOT ",
        " BETWEEN ",
        " IN ",
        " SET ",
        " REMOVE ",
        " ADD ",
        " DELETE ",
        "SET",
        "NOTNOT",
    ),
    *("size(", "size", "contains(a,", "attribute_exists(", "if_not_exists(", "list_append(", "begins_with("),
    *("attribute_type(", "unknown(", "0", "1.5", "name", "é", "\x00", "\n", "\t", "\u00a0", "𝄞", '"', "\\"),
)


def mutate_text(rng: Random, text: str) -> str:
    """Cut, insert, repeat or turn round somewhere in a text."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 3, 10)))
        match rng.randrange(8):
            case 0 | 1:
                text = text[:start] + text[end:]
            case 2 | 3:
                text = text[:start] + rng.choice(_TOKENS) + text[start:]
            case 4:
                text = text[:start] + rng.choice(_TOKENS) + text[end:]
            case 5:
                text = text[:start] + text[start:end] * rng.choice((2, 5, 400)) + text[end:]
            case 6:
                text = text.upper() if rng.random() < 0.5 else text[::-1]
            case _:
                opened = rng.choice((2, 50, 350, 2000))
                text = rng.choice(
                    ("(" * opened + text + ")" * opened, "NOT " * opened + text, text + " AND " + text)
                )
        text = text[:100_000]
    return text


# --- The bytes -----------------------------------------------------------------------------------


def encode(rng: Random, document: Document) -> bytes:
    """The document as JSON: compact, spaced, or in ASCII."""
    match rng.randrange(4):
        case 0:
            return json.dumps(document).encode()
        case 1:
            return json.dumps(document, indent=1).encode()
        case _:
            return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(
                "utf-8", "surrogatepass"
            )


_FRAGMENTS = (
    *(
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\x00",
        b'"',
        b"\\",
        b"\\u",
        b"\\ud800",
        b"\\udc00\\ud800",
        b"\xef\xbb\xbf",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"null",
        b"NaN",
        b"Infinity",
        b"-",
        b"1e400",
        b"-1e-400",
        b"9" * 400,
    ),
    *(
        b"1" * 5000 + b".0",
        b"//",
        b"/* */",
        b"'",
        b"\r\n",
        b"\xe2\x80\xa8",
        b"[" * 2000,
        b'{"a":' * 2000,
        b"true",
    ),
)


def mutate_bytes(rng: Random, body: bytes) -> bytes:
    start = rng.randrange(len(body) + 1)
    end = min(len(body), start + rng.choice((1, 1, 2, 16)))
    match rng.randrange(11):
        case 0 | 1:
            return body[:start]
        case 2:
            return body[start:]
        case 3 | 4:
            return body[:start] + rng.choice(_FRAGMENTS) + body[start:]
        case 5:
            return body[:start] + rng.choice(_FRAGMENTS) + body[end:]
        case 6:
            return body[:start] + bytes([rng.randrange(256)]) + body[end:]
        case 7:
            return _double_member(rng, body)
        case 8 | 9:
            return _deepen_bytes(rng, body)
        case _:
            return rng.choice((b"", b"{}", b"[]", b"null", b'"a"', b"1", b" ", body + body, body + b"\x00"))


def _double_member(rng: Random, body: bytes) -> bytes:
    """A member twice in one object: the name stands, something else is said of it."""
    marks = [position for position in range(len(body)) if body[position] == 0x22][:400]
    if len(marks) < 2:
        return body
    start = rng.choice(marks[:-1])
    end = body.find(b'"', start + 1)
    other = rng.choice((b"null", b"1", b'"a"', b"{}", b"[]", b'{"S":"a"}'))
    return body[:start] + body[start : end + 1] + b":" + other + b"," + body[start:]


_VALUE = re.compile(rb':\s*"[^"\\]*"')


def _deepen_bytes(rng: Random, body: bytes) -> bytes:
    """A string of the document becomes nested containers around a string: JSON, but very deep."""
    places = list(_VALUE.finditer(body))
    if not places:
        return body
    place = rng.choice(places)
    left, right = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"L":[', b"]}"), (b'{"M":{"a":', b"}}")))
    levels = rng.choice((31, 200, 340, 500, 509, 511, 1000, 1020, 1023, 1024, 5000))
    return body[: place.start()] + b":" + left * levels + b'"a"' + right * levels + body[place.end() :]


# --- The headers ---------------------------------------------------------------------------------

_HEADER_VALUES: dict[bytes, tuple[bytes | None, ...]] = {
    b"content-type": (
        *(None, b"", b"text/plain", b"application/json", b"application/x-amz-json-1.1", b"\xff", b";"),
        *(b"application/x-amz-json-1.0; charset=utf-8", b"APPLICATION/X-AMZ-JSON-1.0", b"application/cbor"),
        *(b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x"),
    ),
    b"x-amz-target": (
        *(None, b"", b"DynamoDB_20120810", b"DynamoDB_20120810.", b"DynamoDB_20120810.putitem", b"PutItem"),
        *(b"DynamoDB_20111205.PutItem", b"\xff\xfe", b"DynamoDBStreams_20120810.GetRecords", b"." * 5000),
        *(b"DynamoDB_20120810.ExecuteStatement", b"DynamoDB_20120810.ExportTableToPointInTime"),
    ),
    b"authorization": (
        *(None, b"", b"AWS4-HMAC-SHA256", b"AWS4-HMAC-SHA256 Credential=", b"Basic YTph", b"\xff" * 40),
        b"AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=, Signature=",
        b"AWS4-HMAC-SHA256 Credential=AKID/1/\xff/x/aws4_request, SignedHeaders=host, Signature=0",
        b"AWS4-HMAC-SHA256 Credential=" + b"/" * 3000 + b", SignedHeaders=host, Signature=0",
        b"AWS4-HMAC-SHA256 Credential=AKID/20261120/"
        + b"r" * 70_000
        + b"/x/aws4_request, SignedHeaders=h, Signature=0",
    ),
    b"x-amz-date": (None, b"", b"yesterday", b"\xff"),
    b"host": (None, b"", b"\xff", b"h" * 5000, b"[::1", b"evil.example", b"localhost.evil.example:8000"),
    b"origin": (
        b"http://a.example",
        b"",
        b"\xff",
        b"null",
        b"http://localhost:3000",
        b"https://evil.example",
    ),
    b"sec-fetch-site": (b"cross-site", b"none", b"\xff"),
    b"x-amz-content-sha256": (b"UNSIGNED-PAYLOAD", b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", b"\xff"),
    b"accept-encoding": (b"gzip", b"gzip;q=0", b"gzip;q=" + b"9" * 4000, b"*", b"\xff", b"," * 4000),
    b"content-encoding": (b"gzip", b"x-gzip", b"deflate", b"br", b"", b"\xff", b"gzip, gzip"),
    b"access-control-request-headers": (b"x-amz-target", b"\r\nEvil: 1", b"a" * 9000, b"\xff"),
    b"x-amz-security-token": (b"", b"\xff", b"t" * 9000),
    b"content-length": (b"-1", b"abc", b"99999999999999999999"),
}
_TARGETS = (
    *(b"/", b"", b"*", b"/health", b"//", b"/?", b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256", b"/\xff", b"/%00"),
    b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%ff/1/2/3/4&X-Amz-Signature=0"
    b"&X-Amz-SignedHeaders=host&X-Amz-Date=1",
    b"/?" + b"a=b&" * 3000,
)
_METHODS = ("GET", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "post", "", "PROPFIND")


def mutate_headers(rng: Random, headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    changed = dict(headers)
    name = rng.choice(tuple(_HEADER_VALUES))
    new = rng.choice(_HEADER_VALUES[name])
    changed.pop(name, None)
    if new is not None:
        changed[name] = new
    return changed


def other_target(rng: Random) -> bytes:
    return rng.choice(_TARGETS)


def other_method(rng: Random) -> str:
    return rng.choice(_METHODS)


def packed(rng: Random, body: bytes) -> bytes:
    """The body compressed, whole or broken, or one that is large when it is unpacked."""
    compressed = gzip.compress(body, mtime=0)
    match rng.randrange(7):
        case 0:
            return compressed[: rng.randrange(len(compressed))]
        case 1:
            return compressed * rng.choice((2, 20))
        case 2:
            return gzip.compress(compressed, mtime=0)
        case 3:
            return mutate_bytes(rng, compressed)
        case 4:
            opened, element = rng.choice(((b'{"a":[{}', b",{}"), (b'{"a":[', b"["), (b'{"a":0', b',"a":0')))
            return gzip.compress(opened + element * rng.choice((30, 300, 20_000)), mtime=0)
        case _:
            return compressed
