"""What SearchVectors says of a body it cannot read: it goes through another deserialiser than the rest.

That one knows no null where a member is required, and tells an absent member by the place where the object
ends. Columns count bytes of the line, from 1, up to the end of what was read.

Source: errors.md section 7. Assumed: nulls of other members count as absent, and a member of a wrong JSON
type is told as by every other operation.
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
"""The required members in the order in which an absent one is told, and what each expects."""


def check(request: dict[str, Any], body: bytes) -> None:
    """`request` is what `body` holds. Raises: SerializationException, ValidationException."""
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
