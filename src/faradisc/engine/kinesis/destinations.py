"""The status of a Kinesis destination. Source: streams.md section 7."""

from __future__ import annotations

import re

from faradisc.engine.tables.state import KinesisDestination
from faradisc.engine.tables.table_lifecycle import SHORT_TRANSITION_MS_MAX
from faradisc.errors import ValidationException

_ARN = re.compile(r"arn:aws[a-z-]*:kinesis:([a-z0-9-]+):([0-9]{12}):stream/([a-zA-Z0-9_.-]{1,128})")


def parse_arn(arn: str) -> tuple[str, str]:
    """Returns region and name of a Kinesis stream. Raises ValidationException with a text of our own."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise ValidationException(f"Invalid StreamArn: {arn}")
    return match[1], match[3]


def status(destination: KinesisDestination, now_ns: int, transition_ns: int) -> str:
    """Returns the present status. Short transitions count as ended, as in the catalog."""
    short = transition_ns <= SHORT_TRANSITION_MS_MAX * 1_000_000
    changing = not short and now_ns < destination.changed_ns + transition_ns
    if not destination.enabled:
        return "DISABLING" if changing or destination.resource is not None else "DISABLED"
    if not changing:
        return "ACTIVE"
    return "UPDATING" if destination.updating else "ENABLING"
