"""Reads Ion, text and binary, into the documents of DynamoDB JSON lines. The library `amazon.ion` parses it.

The text of an export has one value per line, each after a version marker. Such content is split at its lines,
so a syntax error affects one record. In other content parsing cannot continue after a syntax error: the rest
of the object is one error, which the service's guide says of malformed objects.
"""

from __future__ import annotations

import io
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from faradisc.engine.formats.compression import Unavailable
from faradisc.engine.formats.ion_text import LINE_START
from faradisc.engine.formats.json_lines import RECORD_BYTES_MAX, TOO_LONG, Malformed, lines
from faradisc.model.values.attribute import AttributeValue

_MARKER = LINE_START.encode()
_BATCH_BYTES = 64 * 1024
"""Size of the lines parsed in one call. Measured: 24 MB/s, and 12 MB/s line by line."""
_PAUSE_BYTES = RECORD_BYTES_MAX // 64
"""Counted for each pause in a value."""
_SET_ANNOTATIONS = {"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}
_LEVELS_MAX = 64
"""Above the limit of items, whose checks reject deeper values with the service's text."""


class _NotAnItem(Exception):
    """A value that is no attribute value."""


Parse = Callable[[Any], Iterator[Any]]


def library() -> tuple[Parse, type[Exception]]:
    """Returns a function that yields the values of a stream lazily, and its exception. Raises Unavailable."""
    try:
        from amazon.ion import simpleion  # noqa: PLC0415 - an extra, and slow to import
        from amazon.ion.exceptions import IonException  # noqa: PLC0415
    except ImportError:
        raise Unavailable("Ion needs a library: pip install 'faradisc[exchange]'") from None
    model = simpleion.IonPyValueModel
    bare = model.MAY_BE_BARE | model.SYMBOL_AS_TEXT | model.STRUCT_AS_STD_DICT

    def parse(stream: Any) -> Iterator[Any]:
        values: Iterator[Any] = simpleion.load(
            stream, single_value=False, parse_eagerly=False, value_model=bare
        )
        return values

    return parse, IonException


def records(pieces: Iterable[bytes]) -> Iterator[dict[str, Any] | Malformed | None]:
    """Yields the top-level structs of an Ion content as documents, and None as a pause. Raises
    Unavailable."""
    parse, failure = library()
    waiting = iter(pieces)
    first = b""
    for first in waiting:
        if first.strip():
            break
        yield None
    content = _Chained(first, waiting)
    if first.lstrip().startswith(_MARKER):
        yield from _marked(lines(content), parse, failure)
    else:
        yield from _streamed(content, parse, failure)


class _Chained:
    """Pieces as an iterator and as a file; counts the bytes read since the last record."""

    def __init__(self, first: bytes, rest: Iterator[bytes]) -> None:
        self._waiting = first
        self._rest = rest
        self.since_record = 0

    def __iter__(self) -> Iterator[bytes]:
        yield self._waiting
        yield from self._rest

    def read(self, size: int = -1) -> bytes:
        while not self._waiting and (piece := next(self._rest, None)) is not None:
            self._waiting = piece
            self._pause()
        size = size if size > 0 else len(self._waiting)
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        self.since_record += len(taken)
        if self.since_record > RECORD_BYTES_MAX:
            raise _TooLong
        return taken

    def _pause(self) -> None:
        """Counts an empty piece like content: the library cannot pause within a value."""
        if not self._waiting:
            self.since_record += _PAUSE_BYTES
            if self.since_record > RECORD_BYTES_MAX:
                raise _TooLong


class _TooLong(Exception):
    pass


def _streamed(
    content: _Chained, parse: Parse, failure: type[Exception]
) -> Iterator[dict[str, Any] | Malformed]:
    try:
        for value in parse(content):
            content.since_record = 0
            yield _document(value)
    except _TooLong:
        yield TOO_LONG
    except (failure, ValueError, OverflowError) as error:
        yield Malformed(f"The rest of the object is no Ion: {error}")


def _marked(
    found: Iterator[bytes | Malformed | None], parse: Parse, failure: type[Exception]
) -> Iterator[dict[str, Any] | Malformed | None]:
    """Yields the records of a content in which each starts with a line that starts with a version marker."""
    batch: list[list[bytes]] = []
    size = 0
    for line in found:
        if line is None:
            yield None
            continue
        if type(line) is Malformed:
            yield from _parsed(batch, parse, failure)
            batch, size = [], 0
            yield line
            continue
        if line.startswith(_MARKER):
            if size > _BATCH_BYTES:
                yield from _parsed(batch, parse, failure)
                batch, size = [], 0
            batch.append([line])
        elif size > RECORD_BYTES_MAX:
            yield TOO_LONG
            batch, size = [], 0
        elif batch:
            batch[-1].append(line)
        elif line.strip():
            batch.append([line])
        size += len(line) + 1
    yield from _parsed(batch, parse, failure)


def _parsed(
    batch: list[list[bytes]], parse: Parse, failure: type[Exception]
) -> Iterator[dict[str, Any] | Malformed]:
    """Yields the records of a batch, each given as its lines."""
    if not batch:
        return
    texts = [b"\n".join(record) for record in batch]
    try:
        values = list(parse(io.BytesIO(b"\n".join(texts))))
        whole = len(values) == len(texts)
    except (failure, ValueError, OverflowError):
        whole = False
    if whole:
        yield from map(_document, values)
        return
    for text in texts:
        try:
            values = list(parse(io.BytesIO(text)))
        except (failure, ValueError, OverflowError) as error:
            yield Malformed(f"The record is no valid Ion: {error}", True)
            continue
        yield from map(_document, values)


# --- Values --------------------------------------------------------------------------------------

_TEXTS = frozenset({"ConditionExpression"})
_TEXT_MAPS = frozenset({"ExpressionAttributeNames"})


def _document(value: Any) -> dict[str, Any] | Malformed:
    if not isinstance(value, dict):
        return Malformed("The record is no Ion struct")
    if set(value) == {"Record"} and isinstance(value["Record"], dict):
        value = value["Record"]
    try:
        return {name: _member(name, content) for name, content in value.items()}
    except (_NotAnItem, ValueError) as error:
        return Malformed(f"The record contains something that is no attribute value: {error}")


def _member(name: str, content: Any) -> Any:
    if name in _TEXTS or name in _TEXT_MAPS:
        return content
    if not isinstance(content, dict):
        raise _NotAnItem(f"{name} is no struct")
    return _attributes(content, _LEVELS_MAX)


def _attributes(struct: dict[Any, Any], levels: int) -> dict[str, AttributeValue]:
    """Returns the fields of a struct as attributes. The name of the symbol `$0` is None."""
    if None in struct:
        raise _NotAnItem("a field has no name")
    return {str(name): _attribute(each, levels) for name, each in struct.items()}


def _attribute(value: Any, levels: int) -> AttributeValue:
    kind = type(value)
    if kind is str:
        return {"S": value}
    if kind is Decimal or kind is int:
        return {"N": str(value)}
    if kind is bool:
        return {"BOOL": value}
    if kind is bytes:
        return {"B": b2a_base64(value, newline=False).decode()}
    if value is None:
        return {"NULL": True}
    if not levels:
        raise _NotAnItem("it is nested too deeply")
    if kind is dict:
        return {"M": _attributes(value, levels - 1)}
    if kind is list:
        return {"L": [_attribute(each, levels - 1) for each in value]}
    return _annotated(value, levels)


def _annotated(value: Any, levels: int) -> AttributeValue:
    """Converts values in wrappers of the library: annotated ones, typed nulls, and types without an
    attribute."""
    name = value.ion_type.name if hasattr(value, "ion_type") else type(value).__name__
    annotations = [each.text for each in getattr(value, "ion_annotations", ())]
    if isinstance(value, list) and name == "LIST":
        members = [_attribute(each, levels - 1) for each in value]
        kind = _SET_ANNOTATIONS.get(annotations[0]) if len(annotations) == 1 else None
        if kind is None:
            return {"L": members}
        try:
            return {kind: [member[kind[0]] for member in members]}
        except KeyError:
            raise _NotAnItem(f"a member of a {kind} set has another type") from None
    if name == "NULL" or type(value).__name__ == "IonPyNull":
        return {"NULL": True}
    if name in ("STRING", "SYMBOL") and isinstance(value, str):
        return {"S": str(value)}
    if name == "BLOB":
        return {"B": b2a_base64(bytes(value), newline=False).decode()}
    if name in ("DECIMAL", "INT"):
        return {"N": str(value)}
    if name == "BOOL":
        return {"BOOL": bool(value)}
    if name == "STRUCT":
        return {"M": _attributes(value, levels - 1)}
    raise _NotAnItem(f"an Ion {name.lower()}")
