"""The status of a Kinesis destination. Source: streams.md section 7."""

from __future__ import annotations

import re
from typing import Final

from faradisc.engine.tables.state import KinesisDestination
from faradisc.engine.tables.table_lifecycle import SHORT_TRANSITION_MS_MAX
from faradisc.errors import ValidationException

_ARN = re.compile(r"arn:aws[a-z-]*:kinesis:([a-z0-9-]+):([0-9]{12}):stream/([a-zA-Z0-9_.-]{1,128})")


DEFAULT_PRECISION: Final = "MILLISECOND"
ENABLE_FAILED_TEXT: Final = "User does not have a permission to use kinesis stream"
"""The description of a destination whose stream does not exist (errors.md section 6.10)."""


def check_stream(arn: str, region: str, account: str) -> None:
    """Raises ValidationException unless an ARN is that of a Kinesis stream of the table's Region and account.

    Source: errors.md section 6.10.
    """
    match = _ARN.fullmatch(arn)
    if match is not None and match[1] != region:
        where = "is not in the current region"
    elif match is None or match[2] != account:
        where = "is not in Active state"
    else:
        return
    raise ValidationException(
        f"The kinesis Arn used to enable kinesis replication belongs to a stream which {where}"
    )


def parse_arn(arn: str) -> tuple[str, str]:
    """Returns region and name of a Kinesis stream."""
    match = _ARN.fullmatch(arn)
    assert match is not None, "it was checked when the destination was enabled"
    return match[1], match[3]


def status(destination: KinesisDestination, now_ns: int, transition_ns: int) -> str:
    """Returns the present status. Short transitions count as ended, as in the catalog."""
    if destination.failed:
        return "ENABLE_FAILED"
    short = transition_ns <= SHORT_TRANSITION_MS_MAX * 1_000_000
    changing = not short and now_ns < destination.changed_ns + transition_ns
    if not destination.enabled:
        return "DISABLING" if changing or destination.resource is not None else "DISABLED"
    if not changing and destination.asked:
        return "ACTIVE"
    return "UPDATING" if destination.updating else "ENABLING"
