"""The types of a plan file's members, run by pydantic, and what is said of a value that is wrong.

A mistake says what is wrong and what to write instead; pydantic knows where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from faradisc.limits import ITEM_SIZE_BYTES_MAX
from faradisc.records import dataclass
from faradisc.tools.planner.plan_file.document import Path
from faradisc.tools.traces.errors import nearest

UNITS_MAX = 10_000_000
"""Units per second of a table: far more than the quota, which the service raises on request."""
DIGITS_MAX = 40
"""Of a number. Python takes minutes to compute with much longer ones."""
_MEASURE = re.compile(r"(\d{1,40}(?:\.\d{1,40})?)\s*([A-Za-z%]*)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_BYTES = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}


def mistake(what: str, remedy: str, at: Path = ()) -> PydanticCustomError:
    """Returns the error of a value, or of what `at` leads to from there."""
    return PydanticCustomError("plan", "{what}", {"what": what, "remedy": remedy, "at": tuple(at)})


_WRITE_ONE = "Write one, for example 100."
_TOO_LONG = f"a number has at most {DIGITS_MAX} digits", _WRITE_ONE
_EXPLAINED = {
    "dict_type": ("here should be members, name: value", "Indent them below this line."),
    "list_type": ("here should be a list", 'Begin each entry with "- ".'),
    **dict.fromkeys(("decimal_max_digits", "int_parsing_size"), _TOO_LONG),
    **dict.fromkeys(("bool_parsing", "bool_type"), ("{} is neither true nor false", "Write true or false.")),
    **dict.fromkeys(("string_type", "string_too_short"), ("here should be a text", "Write one value.")),
    **dict.fromkeys(("int_parsing", "int_type"), ("{} is not a whole number", _WRITE_ONE)),
}


def explained(error: ErrorDetails) -> tuple[str, str]:
    """Returns what is wrong, and what to write instead, for an error of pydantic's own types."""
    context, given = error.get("ctx", {}), str(error["input"])
    text = repr(given if len(given) <= DIGITS_MAX else f"{given[:DIGITS_MAX]}...")
    if error["type"] == "greater_than_equal":
        return f"{given} is below {int(context['ge'])}", f"Write {int(context['ge'])} or more."
    if error["type"] == "less_than_equal":
        return f"{given} is above {int(context['le'])}", f"Write {int(context['le'])} or less."
    what, remedy = _EXPLAINED.get(error["type"], ("{} is not a number", _WRITE_ONE))
    return what.format(text), remedy


def reader(read: Callable[[str], Any]) -> BeforeValidator:
    """A text that a function reads."""

    def checked(value: object) -> Any:
        if not isinstance(value, str) or not value:
            raise mistake("here should be a text", "Write one value.")
        return read(value)

    return BeforeValidator(checked)


def choice(*known: str) -> BeforeValidator:
    """One of a few words, in any case."""

    def read(text: str) -> str:
        for word in known:
            if text.lower() == word.lower():
                return word
        raise mistake(f"{text!r} is not known here", nearest(text, known))

    return reader(read)


def _measured(text: str, units: dict[str, int], remedy: str) -> Fraction:
    match = _MEASURE.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise mistake(f"{text[:DIGITS_MAX]!r} cannot be read", remedy)
    return Fraction(match[1]) * units[match[2].lower()]


def _seconds(text: str) -> int:
    seconds = _measured(text, _SECONDS, "Write seconds, or 90s, 15m, 3h, 1d.")
    if seconds.denominator != 1:
        raise mistake(f"{text!r} is not a whole number of seconds", "Write 90s, not 1.51m.")
    return int(seconds)


_PERIODS = {"hour": 3600, "day": 86_400, "week": 7 * 86_400, "month": 730 * 3600}


def _period(text: str) -> int:
    seconds = _PERIODS.get(text.lower()) or _seconds(text)
    if not 60 <= seconds <= 366 * 86_400:
        raise mistake(f"{text!r} is no period of a minute to a year", "Write day, week, month, or 6h.")
    return seconds


def _bytes(text: str) -> int:
    return -int(-_measured(text, _BYTES, "Write bytes, or 500 B, 1.5 KB, 20 GB.") // 1)


def _share(text: str) -> Fraction:
    """Reads a part of 1: 0 to 1, or a percentage with its sign."""
    remedy = "Write 0 to 1, or a percentage: 0.9 or 90%."
    digits = text.removesuffix("%")
    share = _measured(digits.strip(), {"": 1}, remedy) / (1 if digits == text else 100)
    if share > 1:
        raise mistake(f"a share lies between 0 and 1, not at {text}", remedy)
    return share


Amount: TypeAlias = Annotated[Decimal, Field(ge=0, max_digits=DIGITS_MAX)]
"""An exact number."""
Count: TypeAlias = Annotated[int, Field(ge=0)]
Units: TypeAlias = Annotated[int, Field(ge=1, le=UNITS_MAX)]
Seconds: TypeAlias = Annotated[int, reader(_seconds)]
"""90, 90s, 15m, 3h, 1d, 2w."""
Period: TypeAlias = Annotated[int, reader(_period)]
"""hour, day, week, month (730 hours), or a time as above."""
Size: TypeAlias = Annotated[int, reader(_bytes)]
"""Bytes: 500, 500 B, 1.5 KB, 20 GB, in powers of 1,024; rounded up."""
ItemSize: TypeAlias = Annotated[Size, Field(le=ITEM_SIZE_BYTES_MAX)]
Share: TypeAlias = Annotated[Fraction, reader(_share)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]


def check_names(value: object, known: Iterable[str], noun: str = "member") -> dict[str, Any]:
    """Returns the mapping. Raises a mistake where it is none, or has an unknown or an empty member."""
    if not isinstance(value, dict):
        raise mistake("here should be members, name: value", "Indent them below this line.")
    for name, member in value.items():
        if name not in known:
            here = " here" if noun == "member" else ""
            raise mistake(f"there is no {noun} {name!r}{here}", nearest(name, known), [name])
        if member is None:
            raise mistake("here should be a value", "Write one, or leave the name out.", [name])
    return value


def members_of(known: Iterable[str]) -> BeforeValidator:
    """A mapping whose members are all `known`."""
    names = tuple(known)
    return BeforeValidator(lambda value: check_names(value, names))


@dataclass(frozen=True, slots=True)
class Example:
    """What to write for a member that must be there."""

    text: str


class Members(BaseModel):
    """A mapping of the plan file: its members are the fields."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)
    kind: ClassVar[str] = "member"
    """What a member is called."""
    alternatives: ClassVar[tuple[str, str] | None] = None
    """Where exactly one member is taken: the rule, and an example."""
    beside: ClassVar[str] = ""
    """The member that may stand beside that one."""

    @classmethod
    def written_out(cls, text: str) -> Any:
        """Returns the mapping for which one text stands."""
        return text

    @model_validator(mode="before")
    @classmethod
    def _check_members(cls, value: Any) -> Any:
        known = {field.alias or name: field for name, field in cls.model_fields.items()}
        members = check_names(cls.written_out(value) if isinstance(value, str) else value, known, cls.kind)
        if cls.alternatives and sum(name != cls.beside for name in members) != 1:
            rule, example = cls.alternatives
            raise mistake(rule, f"Write, for example, {example}")
        for name, field in known.items():
            if field.is_required() and name not in members:
                example = next(each.text for each in field.metadata if isinstance(each, Example))
                raise mistake(f"{name!r} is missing", f"Add it, for example: {example}")
        return members

    def has(self, name: str) -> bool:
        """Returns whether the file has this member."""
        return name in self.model_fields_set
