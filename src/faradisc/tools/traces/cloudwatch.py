"""Rates from CloudWatch: the sums of consumed units of a table by the minute, or a longer period.

The file is what `aws cloudwatch get-metric-data` prints, a GetMetricData response whose series are labelled
with table and metric (docs/formats/rates.md has the command); or what `get-metric-statistics` prints, in a
file that is called like its table. CloudWatch has units and no requests, sums and
no seconds: both are assumed, and the report says so.

Sources: capacity.md section 3.3 (the import, flagged, with an optional peak factor); the response's shape is
that of CloudWatch's own model, service-2.json of version 2010-08-01 (GetMetricDataOutput).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import gcd, isfinite
from pathlib import Path
from typing import Any

import orjson

from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.rate_file import MICRO, RateKind, RateTrace
from faradisc.tools.traces.trace_format import (
    SECONDS_MAX,
    STARTS_MAX_S,
    TraceLineError,
    epoch_seconds,
)

PERIOD_S = 60
"""Of the sums, where the points do not show it."""
PERIOD_MAX_S = 86_400
EXPORT_BYTES_MAX = 1 << 28
METRICS = {"ConsumedReadCapacityUnits": "reads", "ConsumedWriteCapacityUnits": "writes"}
_MEMBERS = (b'"MetricDataResults"', b'"Datapoints"')
LABEL = "Orders ConsumedReadCapacityUnits"
"""An example."""
_REMEDY = "Save what aws cloudwatch get-metric-data --output json prints; see docs/formats/rates.md."
Points = dict[int, Fraction]
"""Units by the moment, epoch seconds, at which their period began."""


def begins_export(line: bytes) -> bool:
    """Returns whether a file with this first line is an export. That of a recorded trace is a document."""
    return line.strip() == b"{" or any(name in line[:200] for name in _MEMBERS)


def read_export(file: str, text: bytes, *, period_s: int | None = None, peak_factor: Fraction) -> RateTrace:
    """Returns the rates of an export. `period_s`: of each sum; None: what the points are apart.
    `peak_factor`: how many times the mean of a period its busiest seconds have, 1 to `period_s`. Unusable
    points are skipped and counted.

    Raises PlanError for a file that is no export, for sums of another period, and for too large a factor.
    """
    trace = RateTrace(file)
    series: dict[tuple[str, str | None, str], Points] = {}
    for at, result in enumerate(_results(file, text)):
        where = f"MetricDataResults[{at}]"
        try:
            target = _target(result)
            times, values = _points(result)
        except TraceLineError as mistake:
            trace.skip(where, str(mistake), _count(result))
            continue
        mine = series.setdefault(target, {})
        for time, value in zip(times, values, strict=True):
            try:
                _note(mine, time, value)
            except TraceLineError as mistake:
                trace.skip(where, str(mistake))
    apart_s, stated = _apart(series.values()), period_s is not None
    if period_s is None:
        period_s = apart_s if 0 < apart_s <= PERIOD_MAX_S else PERIOD_S
    if peak_factor > period_s:
        what = f"a peak factor is at most the seconds of a period, {period_s}"
        raise PlanError(file, None, what, "Write a smaller one.")
    if apart_s and apart_s < period_s:
        what = f"points are {apart_s} s apart, which cannot be sums of {period_s} s"
        raise PlanError(file, None, what, f"Say --period {apart_s}.")
    _spread(trace, series, period_s, peak_factor)
    trace.assumptions += _assumed(period_s, peak_factor)
    if not stated and period_s != PERIOD_S:
        trace.assumptions.append(
            f"All points are {apart_s} s apart or a multiple of it, and were taken for sums of {period_s} s: "
            f"if they are sums of {PERIOD_S} s with none between, say --period {PERIOD_S}."
        )
    return trace


def _results(file: str, text: bytes) -> list[Any]:
    if len(text) > EXPORT_BYTES_MAX:
        raise PlanError(file, None, f"it is larger than {EXPORT_BYTES_MAX:,} bytes", "Export less time.")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise PlanError(file, error.lineno, f"this is not JSON: {error.msg}", _REMEDY) from None
    if isinstance(document, dict) and "Datapoints" in document:
        return [_of_statistics(file, document)]
    results = document.get("MetricDataResults") if isinstance(document, dict) else None
    if not isinstance(results, list):
        raise PlanError(file, None, "there are no MetricDataResults in this document", _REMEDY)
    return results


def _of_statistics(file: str, document: dict[str, Any]) -> dict[str, Any]:
    """Returns what get-metric-statistics prints as a series of get-metric-data. Its points name no table: the
    file does. Raises PlanError for points without sums."""
    points = document["Datapoints"]
    if not isinstance(points, list) or not all(isinstance(each, dict) and "Sum" in each for each in points):
        raise PlanError(file, None, "its Datapoints have no Sum", "Ask for --statistics Sum.")
    label = f"{Path(file).stem} {document.get('Label')}"
    return {
        "Label": label,
        "Timestamps": [each.get("Timestamp") for each in points],
        "Values": [each["Sum"] for each in points],
    }


def _target(result: Any) -> tuple[str, str | None, str]:
    """Returns table, index and direction of a series, by its label."""
    label = result.get("Label") if isinstance(result, dict) else None
    words = label.split() if isinstance(label, str) else []
    metrics = [word for word in words if word in METRICS]
    if len(metrics) != 1:
        raise TraceLineError(f"its Label should be a table and a metric of consumed units: {LABEL!r}")
    direction = METRICS[metrics[0]]
    names = [word for word in words if word not in METRICS]
    if not 1 <= len(names) <= 2:
        raise TraceLineError(f"its Label should name a table, and perhaps an index of it: {LABEL!r}")
    table, index = names[0], names[1] if len(names) == 2 else None
    if index is not None and direction == "writes":
        raise TraceLineError("writes of an index follow those of its table, as the plan says")
    return table, index, direction


def _points(result: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    times, values = result.get("Timestamps"), result.get("Values")
    if not isinstance(times, list) or not isinstance(values, list) or len(times) != len(values):
        raise TraceLineError("it should have as many Timestamps as Values")
    return times, values


def _count(result: Any) -> int:
    """Returns how many points are lost with a series."""
    values = result.get("Values") if isinstance(result, dict) else None
    return max(len(values), 1) if isinstance(values, list) else 1


def _note(points: Points, time: Any, value: Any) -> None:
    moment = _moment(time)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise TraceLineError(f"{value!r} cannot be a sum of units")
    if moment in points:
        raise TraceLineError(f"{time!r} is there twice")
    points[moment] = Fraction(value)


def _moment(time: Any) -> int:
    """Returns epoch seconds: of ISO 8601 as the command prints it, or of a number as the service sends it."""
    if isinstance(time, int | float) and not isinstance(time, bool) and isfinite(time):
        moment = int(time)
    else:
        try:
            moment = epoch_seconds(str(time))
        except ValueError:
            raise TraceLineError(f"{time!r} is not a moment such as 2026-11-02T00:00:00+00:00") from None
    if not 0 <= moment <= STARTS_MAX_S:
        raise TraceLineError("a moment lies in one of the years 1970 to 2998")
    return moment


def _apart(series: Iterable[Points]) -> int:
    """Returns how many seconds all points are apart, or a multiple of it; 0 where there are no two."""
    moments = sorted({moment for points in series for moment in points})
    return gcd(*(moment - moments[0] for moment in moments)) if moments else 0


def _spread(
    trace: RateTrace, series: dict[tuple[str, str | None, str], Points], period_s: int, peak_factor: Fraction
) -> None:
    """Turns points into rates. The first of all is the beginning of the run."""
    moments = [moment for points in series.values() for moment in points]
    if not moments:
        return
    trace.start_s = start_s = min(moments)
    for (table, index, direction), points in series.items():
        target = table if index is None else f"{table}/index/{index}"
        operation = "PutItem" if direction == "writes" else "GetItem" if index is None else "Query"
        kind = RateKind(table, index, f"{target} {direction}", operation, None)
        for moment, value in sorted(points.items()):
            begin = moment - start_s
            try:
                if begin + period_s > SECONDS_MAX:
                    raise TraceLineError("later than 366 days after the first point")
                seconds = shaped(round(2 * value * MICRO), period_s, peak_factor)
                for second, micro in enumerate(seconds, begin):
                    trace.add(kind, second, micro)
            except TraceLineError as mistake:
                trace.skip(f"{moment}", str(mistake))
            else:
                trace.saw(table, index, f"{moment}")


def shaped(total: int, period_s: int, peak_factor: Fraction) -> Iterator[int]:
    """Yields the seconds of a period with this sum: half of it, or one second at least, comes first at
    `peak_factor` times the mean, the rest evenly after it."""
    first_s = max(round(Fraction(period_s) / (2 * peak_factor)), 1)
    first = min(int(total * peak_factor * first_s / period_s), total)
    for part, seconds in ((first, first_s), (total - first, period_s - first_s)):
        for at in range(seconds):
            yield part * (at + 1) // seconds - part * at // seconds


def _assumed(period_s: int, peak_factor: Fraction) -> list[str]:
    first_s = max(round(Fraction(period_s) / (2 * peak_factor)), 1)
    how = (
        "taken to be evenly spread"
        if peak_factor == 1
        else f"taken to begin with {first_s} s at {float(peak_factor):g} times the mean"
    )
    return [
        f"Sub-minute peaks unknown: CloudWatch has sums of {period_s} s, each {how}.",
        "CloudWatch has units and no requests: each is taken to be for one item of the table's size.",
        "What was throttled when it was measured is not in consumed units.",
    ]
