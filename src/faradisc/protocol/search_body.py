"""Errors of a SearchVectors body, for which the service has another deserialiser.

It rejects a null for a required member, and reports an absent member at the end of the object. Columns
count bytes of the line, from 1, up to the end of the text read.

Source: errors.md section 7. Assumed: nulls of other members count as absent, and a member of a wrong JSON
type is reported as by every other operation.
"""

from __future__ import annotations

import re
from typing import Any, Final

from faradisc.errors import SerializationException, ValidationException

REQUIRED: Final = {
    "TableName": "a string",
    "IndexName": "a string",
    "SearchVector": "a sequence",
    "TopK": "i32",
}
"""The required members in the order of their errors, and their expected types."""


def check(request: dict[str, Any], body: bytes) -> None:
    """request: parsed from `body`. Raises SerializationException, ValidationException."""
    for name, value in request.items():
        if name in REQUIRED and value is None:
            found = re.search(rb'"%s"\s*:\s*null' % name.encode(), body)
            end = found.end() if found is not None else len(body)
            raise SerializationException(f"invalid type: null, expected {REQUIRED[name]} {_at(body, end)}")
    for name in REQUIRED:
        if name not in request:
            raise ValidationException(f"missing field `{name}` {_at(body, len(body.rstrip()))}")


def _at(body: bytes, end: int) -> str:
    line = body.count(b"\n", 0, end) + 1
    before = body.rfind(b"\n", 0, end) + 1
    return f"at line {line} column {end - before}"
