"""The parameters of one request, for the checks and expressions that need no more of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.checks import Wording, check_values
from faradisc.records import dataclass, field


@dataclass(slots=True)
class Parameters:
    """Parameters of a request, or of a record that stands for one. Their JSON types and declared constraints
    have been checked.

    values_ok: every AttributeValue was found valid and made canonical in place; otherwise values are checked
    at their place in the order of checks.
    """

    operation: str
    request: dict[str, Any]
    values_ok: bool
    wording: Wording = field(default=Wording.NEW, kw_only=True)
    """How the service words errors of values in this operation."""
    body_bytes: int | None = field(default=None, kw_only=True)
    """Length of the JSON text of the request, if there is one."""

    def may_exceed(self, size_bytes: int) -> bool:
        """Whether the values may have more than `size_bytes`; they never have more bytes than the text."""
        return self.body_bytes is None or self.body_bytes > size_bytes

    def check_values(self, values: Mapping[str, AttributeValue]) -> None:
        """Checks attribute values, unless all of the request were found valid before.

        Raises ValidationException.
        """
        if not self.values_ok:
            check_values(values, self.wording)
