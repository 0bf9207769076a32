"""One request on its way to an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Call:
    """A request whose JSON types and declared constraints have been checked.

    `values_ok` says that every AttributeValue in it was found valid and has been made canonical in
    place; otherwise the operation runs the slow checks at their place in its order.
    """

    operation: str
    request: dict[str, Any]
    values_ok: bool
    region: str
    account: str
