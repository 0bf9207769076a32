"""The key ranges that a SELECT reads.

Conditions that OR joins select ranges of their own, and no row may lie in two of them (errors.md section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise

from faradisc.engine.tables.paging import KeyRange
from faradisc.language.expressions.key_condition import KeyCondition
from faradisc.language.partiql import errors
from faradisc.language.partiql.planner import Selection
from faradisc.model.codec.keyspace import Placement
from faradisc.operations.query import key_range_of


def key_ranges_of(
    placement: Placement, selections: Sequence[Selection], *, reverse: bool = False
) -> list[KeyRange]:
    """Returns the ranges by partition, in the order of the partitions; inside one in reading direction.

    Raises StatementError for ranges that overlap.
    """
    partitions: dict[bytes, list[KeyRange]] = {}
    for selection in selections:
        key_range = reduce(_common, [_range_of(placement, condition) for condition in selection])
        if len(selections) == 1:
            return [key_range]
        if key_range.high is None or _low(key_range) < key_range.high:
            prefix = placement.collection(selection[0].hash_values)
            partitions.setdefault(prefix, []).append(key_range)
    found: list[KeyRange] = []
    for key_ranges in partitions.values():
        key_ranges.sort(key=_low)
        for one, other in pairwise(key_ranges):
            if one.high is None or _low(other) < one.high:
                raise errors.StatementError(errors.OVERLAPPING)
        found += reversed(key_ranges) if reverse else key_ranges
    return found


def _range_of(placement: Placement, condition: KeyCondition) -> KeyRange:
    key_range = key_range_of(placement, condition)
    if condition.operator != "begins_with":
        return key_range
    # No key lies between a prefix and the key that equals it, which `<` of that key would share.
    return replace(key_range, low=key_range_of(placement, replace(condition, operator="=")).low)


def _low(key_range: KeyRange) -> bytes:
    return key_range.low or b""


def _common(one: KeyRange, other: KeyRange) -> KeyRange:
    """Returns the rows of two key ranges of one part; an empty range for none."""
    low = max(_low(one), _low(other))
    highs = [each.high for each in (one, other) if each.high is not None]
    return KeyRange(one.part, low, max(low, min(highs)) if highs else None)
