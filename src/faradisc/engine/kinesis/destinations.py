"""A destination as a table's state keeps it, and the states that clients see of it.

    arn          of the Kinesis stream
    precision    MILLISECOND or MICROSECOND
    enabled      changes are captured
    resource     of the captured log, given by the catalog; None once the destination was switched off and
                 everything captured was delivered
    changed_ns   when it was switched on or off, or its precision changed
    updating     the last change was one of precision
    changes_ns   changes of precision in the last 24 hours

A table has one that is on, or on its way out, and remembers those it had. Source: streams.md section 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from faradisc.engine.tables.catalog import HURRIED_TRANSITION_MS_MAX
from faradisc.errors import ValidationException

_ARN = re.compile(r"arn:aws[a-z-]*:kinesis:([a-z0-9-]+):([0-9]{12}):stream/([a-zA-Z0-9_.-]{1,128})")


def parse_arn(arn: str) -> tuple[str, str]:
    """Region and name of a Kinesis stream. Raises ValidationException; the text is ours."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise ValidationException(f"Invalid StreamArn: {arn}")
    return match[1], match[3]


def new_destination(arn: str, precision: str, now_ns: int) -> dict[str, Any]:
    return {
        "arn": arn,
        "precision": precision,
        "enabled": True,
        "resource": None,
        "changed_ns": now_ns,
        "updating": False,
        "changes_ns": [],
    }


def status(destination: Mapping[str, Any], now_ns: int, transition_ns: int) -> str:
    """The status now. Short transitions are over when somebody looks, as in the catalog."""
    hurried = transition_ns <= HURRIED_TRANSITION_MS_MAX * 1_000_000
    changing = not hurried and now_ns < destination["changed_ns"] + transition_ns
    if not destination["enabled"]:
        return "DISABLING" if changing or destination["resource"] is not None else "DISABLED"
    if not changing:
        return "ACTIVE"
    return "UPDATING" if destination["updating"] else "ENABLING"
