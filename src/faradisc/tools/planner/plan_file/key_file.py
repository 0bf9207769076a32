"""A file of partition keys with weights, which a plan names under `keys: {file: ...}`.

docs/formats/rates.md describes it for users: one key per line, after a comma its weight.
The caller (cli/plan.py) opens the file.

Source: capacity.md section 3.3 names the model; how the file is written is Faradisc's own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from faradisc.limits import PARTITION_KEY_BYTES_MAX
from faradisc.tools.traces.errors import PlanError

LinesOf = Callable[[str], Iterable[bytes]]
"""Returns the lines of a file by the name a plan gives it. Raises OSError and PlanError."""
KEYS_MAX = 1_000_000
"""Different keys of one file, which are held in memory."""
DIGITS_MAX = 40
_HEADING = ["key", "weight"]
_WEIGHT = re.compile(r"\d+(\.\d+)?")


def no_files(name: str) -> Iterable[bytes]:
    """Raises OSError: a plan that is not a file has no files beside it."""
    raise FileNotFoundError(2, "there are no files beside this plan", name)


def read_keys(file: str, lines: Iterable[bytes]) -> list[tuple[str, Fraction]]:
    """Returns keys and weights, the heaviest first, equal ones by name. Repeated keys are added up, keys
    without weight are left out.

    Raises PlanError for the first bad line, and for a file in which no key has any weight.
    """
    weights: dict[str, Fraction | int] = {}
    for number, line in enumerate(lines, 1):
        fields = _fields(file, number, line)
        if not fields or (number == 1 and fields == _HEADING):
            continue
        key = fields[0]
        weights[key] = weights.get(key, 0) + _weight(file, number, fields)
        if len(weights) > KEYS_MAX:
            remedy = "Keep the heaviest; light ones are spread evenly anyway."
            raise PlanError(file, number, f"more than {KEYS_MAX:,} different keys", remedy)
    found = [(key, Fraction(weight)) for key, weight in weights.items() if weight]
    if not found:
        raise PlanError(file, None, "no key has any weight", "Write one key per line, or key,weight.")
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _fields(file: str, number: int, line: bytes) -> list[str]:
    """Returns key and weight as written; nothing for an empty line."""
    try:
        text = line.decode()
        rows = list(csv.reader([text.rstrip("\r\n")], strict=True))
    except UnicodeDecodeError:
        raise PlanError(file, number, "this is not UTF-8", "Save the file as UTF-8 text.") from None
    except csv.Error as error:
        what = f"this is no line of a CSV file: {error}"
        raise PlanError(file, number, what, 'Write "a key",5 with quotes closed.') from None
    fields = rows[0] if rows else []
    if len(fields) > 2:
        what = f"here are {len(fields)} fields"
        raise PlanError(file, number, what, 'Write key,weight; quote a key with commas: "a,b",5.')
    if fields and not 1 <= len(fields[0].encode()) <= PARTITION_KEY_BYTES_MAX:
        what = f"a partition key has 1 to {PARTITION_KEY_BYTES_MAX:,} bytes"
        raise PlanError(file, number, what, "Write the key before the comma.")
    return fields


def _weight(file: str, number: int, fields: list[str]) -> Fraction | int:
    if len(fields) == 1:
        return 1
    text = fields[1].strip()
    if len(text) > DIGITS_MAX or not _WEIGHT.fullmatch(text):
        what = f"{text[:DIGITS_MAX]!r} cannot be a weight"
        raise PlanError(file, number, what, 'Write a number, or quote a key with commas: "a,b",5.')
    return int(text) if text.isdecimal() else Fraction(text)
