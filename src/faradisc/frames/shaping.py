"""The Arrow types of all columns of a table, and the conversion of a page to them."""

from __future__ import annotations

import warnings
from base64 import b64encode
from decimal import Decimal
from typing import Any, Final, Literal

import orjson

from faradisc.records import dataclass, field

Numbers = Literal["decimal", "double"]
Nested = Literal["dynamodb", "plain"]
MIXED: Final = "mixed"
_DIGITS_128, _DIGITS_256 = 38, 76
_DIGITS_EXACT = 15
"""Every number of so many digits is exact as a double, within its range."""


class FrameWarning(UserWarning):
    """A column is not what its values look like, or its numbers have lost digits."""


@dataclass(slots=True)
class ColumnContents:
    """What occurs in one attribute."""

    kinds: set[str] = field(default_factory=set)
    """Type names of DynamoDB, without NULL."""
    whole: int = 0
    """Most digits before the point of any number."""
    fraction: int = 0


class Shaping:
    """The types of all columns, and the conversion of a page to them."""

    def __init__(self, pa: Any, columns: dict[str, ColumnContents], numbers: Numbers, nested: Nested) -> None:
        self._pa = pa
        self._numbers = numbers
        self._nested = nested
        self._texts: list[str] = []
        self._lost: dict[str, int] = {}
        self._kinds = {name: self._kind(name, column) for name, column in columns.items()}
        self.types = {name: self._type(self._kinds[name], column) for name, column in columns.items()}

    def _kind(self, name: str, column: ColumnContents) -> str:
        """Returns the type of all values of a column: MIXED for several, `text` for numbers without one."""
        if len(column.kinds) != 1:
            if column.kinds:
                self._texts.append(f"{name} has values of {', '.join(sorted(column.kinds))}")
            return MIXED if column.kinds else "NULL"
        (kind,) = column.kinds
        if (
            kind in ("N", "NS")
            and self._numbers == "decimal"
            and column.whole + column.fraction > _DIGITS_256
        ):
            self._texts.append(f"{name} has numbers of {column.whole + column.fraction} digits")
            return "text" if kind == "N" else "texts"
        return kind

    def _type(self, kind: str, column: ColumnContents) -> Any:
        pa = self._pa
        digits = column.whole + column.fraction
        if self._numbers == "double":
            number = pa.float64()
        elif digits <= _DIGITS_128:
            number = pa.decimal128(_DIGITS_128, column.fraction)
        else:
            number = pa.decimal256(_DIGITS_256, column.fraction) if digits <= _DIGITS_256 else pa.string()
        types = {
            "N": number,
            "NS": pa.list_(number),
            "BOOL": pa.bool_(),
            "B": pa.binary(),
            "SS": pa.list_(pa.string()),
            "texts": pa.list_(pa.string()),
            "BS": pa.list_(pa.binary()),
            "NULL": pa.null(),
        }
        return types.get(kind, pa.string())

    def batch(self, page: Any, schema: Any) -> Any:
        pa = self._pa
        there = {each.name: (page.column(at), each.metadata or {}) for at, each in enumerate(page.schema)}
        arrays = []
        for name, type_ in self.types.items():
            array, metadata = there.get(name, (None, {}))
            if array is None or pa.types.is_null(array.type):
                arrays.append(pa.nulls(page.num_rows, type_))
            else:
                arrays.append(self._shaped(name, array, metadata[b"kind"].decode(), type_))
        return pa.record_batch(arrays, schema=schema)

    def _shaped(self, name: str, array: Any, kind: str, type_: Any) -> Any:
        pa, wanted = self._pa, self._kinds[name]
        if wanted == MIXED:
            if kind != MIXED:
                array = pa.array([_typed(kind, each) for each in array.to_pylist()], pa.string())
            if self._nested == "plain":
                array = pa.array([_plain_text(each) for each in array.to_pylist()], pa.string())
        elif wanted in ("L", "M") and self._nested == "plain":
            texts = [each if each is None else f'{{"{kind}":{each}}}' for each in array.to_pylist()]
            array = pa.array([_plain_text(each) for each in texts], pa.string())
        if array.type == type_:
            return array
        converted = array.cast(type_)
        if self._numbers == "double":
            self._count_lost(name, array, converted)
        return converted

    def _count_lost(self, name: str, texts: Any, doubles: Any) -> None:
        """Counts the numbers of which a double has not all digits: those of more than 15."""
        pa, pc = self._pa, self._pa.compute
        if pa.types.is_list(texts.type):
            texts, doubles = texts.flatten(), doubles.flatten()
        digits = pc.utf8_length(pc.replace_substring_regex(texts, r"^-?0*|\.", ""))
        long = pc.greater(digits, _DIGITS_EXACT)
        lost = 0
        for text, value in zip(texts.filter(long).to_pylist(), doubles.filter(long).to_pylist(), strict=True):
            lost += Decimal(value) != Decimal(text)
        if lost:
            self._lost[name] = self._lost.get(name, 0) + lost

    def warn(self) -> None:
        for text in self._texts:
            warnings.warn(f"{text}: the column is text.", FrameWarning, stacklevel=3)
        for name, count in self._lost.items():
            text = f"{count:,} numbers of {name} have more digits than a double; numbers='decimal' has all."
            warnings.warn(text, FrameWarning, stacklevel=3)


def _typed(kind: str, value: Any) -> str | None:
    """Returns DynamoDB JSON of a value of one type."""
    if value is None:
        return None
    return f'{{"{kind}":{value}}}' if kind in ("L", "M") else json_text({kind: value})


def _plain_text(text: str | None) -> str | None:
    """Returns DynamoDB JSON without its types. Numbers keep their digits."""
    return None if text is None else _plain(orjson.loads(text))


def _plain(value: dict[str, Any]) -> str:
    ((kind, content),) = value.items()
    if kind == "N":
        return str(content)
    if kind == "NS":
        return f"[{','.join(content)}]"
    if kind == "L":
        return f"[{','.join(map(_plain, content))}]"
    if kind == "M":
        return "{" + ",".join(f"{json_text(name)}:{_plain(each)}" for name, each in content.items()) + "}"
    return "null" if kind == "NULL" else json_text(content)


def json_text(value: Any) -> str:
    """Returns DynamoDB JSON, of what a client of Python or the wire has."""
    return orjson.dumps(value, default=_base64).decode()


def _base64(value: Any) -> Any:
    """Returns what a client of Python has for a B or a set, as it is on the wire."""
    return list(value) if isinstance(value, set | frozenset) else b64encode(bytes(value)).decode()
