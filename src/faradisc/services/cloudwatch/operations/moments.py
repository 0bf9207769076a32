"""Times of requests: epoch seconds on the wire, nanoseconds inside."""

from __future__ import annotations

import math
from typing import Final

from faradisc.services.cloudwatch.errors import InvalidParameterValueException

SECONDS_MAX: Final = 253_402_300_799
"""The end of the year 9999."""


def moment_ns(seconds: float, member: str) -> int:
    """Returns nanoseconds since the epoch. Raises InvalidParameterValueException."""
    if not math.isfinite(seconds) or not 0 <= seconds <= SECONDS_MAX:
        raise InvalidParameterValueException(
            f"The parameter {member} must lie between the years 1970 and 9999."
        )
    return round(seconds * 1000) * 1_000_000
