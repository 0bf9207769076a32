"""The cost of requests to the throttled table: write units by independent rules, read units as reported.

write            the larger of the old and the new item, in kilobytes rounded up; at least one
transaction      twice that for each action
false condition  at least the cost of the stored item, at most the cost of the write
rejection        nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faradisc.model.values.size import item_size
from simulation.model import Model
from simulation.requests import THROTTLED, Batch, Request, Single, Transaction, Window, throttles_among
from simulation.writes import Item, Write

Span = tuple[int, int]
"""At least, and at most."""
NOTHING: Span = (0, 0)


def write_units(*images: Item | None) -> int:
    """Returns the write units of a change from one item to the other."""
    largest = max(item_size(image) if image is not None else 0 for image in images)
    return max(1, -(-largest // 1024))


def write_cost(request: Request, model: Model, window: Window, code: str, answer: dict[str, Any]) -> Span:
    """Returns the write units of an answered request in the throttled table, without its indexes."""
    reasons = answer.get("CancellationReasons", ())
    if throttles_among(code, answer) or any(reason["Code"] == "ResourceNotFound" for reason in reasons):
        return NOTHING  # a transaction whose tables are not all there is not begun
    match request:
        case Single():
            return _sum(model, window, [request.write], request.commits)
        case Batch():
            tried = [write for write in request.writes if not request.was_refused(write, answer)]
            return _sum(model, window, tried, request.commits)
        case Transaction():
            least, most = _sum(model, window, request.writes, request.commits)
            was_reported_again = not code and request.token is not None and not request.commits
            return (0 if was_reported_again else 2 * least), 2 * most
    return NOTHING


def _sum(model: Model, window: Window, writes: Sequence[Write], commits: Sequence[int]) -> Span:
    spans = [_one(model, window, write, commits) for write in writes if write.table == THROTTLED]
    return sum(least for least, _ in spans), sum(most for _, most in spans)


def _one(model: Model, window: Window, write: Write, commits: Sequence[int]) -> Span:
    for version in commits:
        old, new = (model.at(each, write.table, write.key) for each in (version - 1, version))
        if old != new:
            return write_units(old, new), write_units(old, new)
    states = model.states(write.table, write.key, window.low, window.high)
    most = max(write_units(old, write.become(old)) for old in states)
    return min(write_units(old) for old in states), most


def reported(answer: dict[str, Any], reads: bool) -> dict[str, tuple[float, float]]:
    """Returns the read and write units that an answer reports for the throttled table ("") and its index.

    reads: whether units that name no direction are read units.
    """
    found: dict[str, tuple[float, float]] = {}
    consumed = answer.get("ConsumedCapacity", [])
    for entry in consumed if isinstance(consumed, list) else [consumed]:
        if entry["TableName"] != THROTTLED:
            continue
        for name, part in {"": entry.get("Table", {}), **entry.get("GlobalSecondaryIndexes", {})}.items():
            units = part.get("CapacityUnits", 0.0)
            given = (part.get("ReadCapacityUnits"), part.get("WriteCapacityUnits"))
            if given == (None, None):
                given = (units, 0.0) if reads else (0.0, units)
            before = found.get(name, (0.0, 0.0))
            found[name] = (before[0] + (given[0] or 0.0), before[1] + (given[1] or 0.0))
    return found
