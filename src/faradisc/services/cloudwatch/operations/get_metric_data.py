"""GetMetricData: many series at once, and expressions over them.

An answer has at most MaxDatapoints values. It has every query; while values of one are missing, its
StatusCode is PartialData.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

from faradisc.capacity.config import DAY_NS, MINUTE_NS, SECOND_NS
from faradisc.clock import epoch_seconds
from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.custom import POINTS_MAX
from faradisc.services.cloudwatch.errors import InvalidNextToken
from faradisc.services.cloudwatch.operations.moments import moment_ns
from faradisc.services.cloudwatch.queries import Query, evaluate, queries_of
from faradisc.services.cloudwatch.series_math import Array, Series
from faradisc.services.cloudwatch.service import CloudWatch

DATAPOINTS_MAX: Final = 100_800
KEPT_NS: Final = POINTS_MAX * MINUTE_NS
"""No point is older, so a longer range is cut."""
AHEAD_NS: Final = DAY_NS
"""No point is newer."""
PERIODS_MAX: Final = 1_000_000
"""Of all metrics of a request together, empty periods included."""

Row = tuple[str, str, Series]
"""Id, label and points of one result."""


async def get_metric_data(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    request = call.request
    start_ns, end_ns = moment_ns(request["StartTime"], "StartTime"), moment_ns(request["EndTime"], "EndTime")
    if start_ns >= end_ns:
        raise ValidationException("The parameter EndTime must be greater than StartTime")
    size = request.get("MaxDatapoints", DATAPOINTS_MAX)
    if not 1 <= size <= DATAPOINTS_MAX:
        raise ValidationException(f"MaxDatapoints must be between 1 and {DATAPOINTS_MAX}, not {size}")
    if "LabelOptions" in request:
        raise ValidationException("LabelOptions are not offered by this version of Faradisc.")
    scope = cloudwatch.scope(call)
    queries = queries_of(request["MetricDataQueries"], scope)
    now_ns = cloudwatch.clock.now_ns()
    end_ns = min(end_ns, now_ns + AHEAD_NS)
    start_ns = min(max(start_ns, now_ns - KEPT_NS), end_ns)
    periods_s = [query.period_s for query in queries if query.metric is not None]
    asked = sum((end_ns - start_ns) // (period_s * SECOND_NS) for period_s in periods_s)
    if asked > PERIODS_MAX:
        raise ValidationException(
            f"You have requested up to {asked:,} datapoints, which exceeds the limit of {PERIODS_MAX:,}."
        )
    found = evaluate(cloudwatch.sources, queries, start_ns, end_ns)
    newest_first = request.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    listed = {query["Id"]: scope for scope, query in enumerate(request["MetricDataQueries"])}
    returned = sorted((query for query in queries if query.returned), key=lambda query: listed[query.id])
    paged = [row for query in returned for row in _rows(query, found[query.id])]
    return _page(paged, newest_first, size, request.get("NextToken"))


def _rows(query: Query, value: Series | Array) -> list[Row]:
    """Returns the results of a query. Each member of an array is one, with its label after the query's."""
    if not isinstance(value, Array):
        return [(query.id, query.label, value)]
    return [
        (query.id, f"{query.label} {label}".strip() if query.labelled or not label else label, member)
        for label, member in zip(value.labels, value.members, strict=True)
    ]


def _page(rows: list[Row], newest_first: bool, size: int, token: str | None) -> dict[str, Any]:
    """Returns a page of values, counted over all series in sequence. The token is the number of the first."""
    skipped = 0 if token is None else _read(token)
    room, before, results = size, 0, []
    for id_, label, series in rows:
        points = sorted(series.items(), reverse=newest_first)
        begin = min(max(skipped - before, 0), len(points))
        part = points[begin : begin + room]
        room -= len(part)
        before += len(points)
        whole = begin + len(part) == len(points)
        results.append(
            {
                "Id": id_,
                "Label": label,
                "Timestamps": [epoch_seconds(at) for at, _ in part],
                "Values": [value for _, value in part],
                "StatusCode": "Complete" if whole else "PartialData",
            }
        )
    answer: dict[str, Any] = {"MetricDataResults": results, "Messages": []}
    if skipped + size < before:
        answer["NextToken"] = urlsafe_b64encode(str(skipped + size).encode()).decode()
    return answer


def _read(token: str) -> int:
    try:
        text = urlsafe_b64decode(token).decode()
    except ValueError:
        raise InvalidNextToken from None
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise InvalidNextToken
    return int(text)
