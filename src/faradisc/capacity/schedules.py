"""Schedules of scheduled actions: at(...), rate(...) and cron(...), as Application Auto Scaling writes them.

    at(2026-11-20T08:00:00)          once
    rate(5 minutes)                  repeatedly, counted from the action's start or creation
    cron(0 8 ? * MON-FRI *)          minute, hour, day of month, month, day of week, year

In a day of month, L is the last day, 15W the working day nearest to the 15th (of the same month), LW the last
working day. In a day of week, L is Saturday, 6L the last Friday of the month, 6#3 the third.

Times are in the zone that is passed in; the default is UTC. Source: capacity.md section 2.13;
the API reference of PutScheduledAction.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, tzinfo

from faradisc.capacity.config import DAY_NS, HOUR_NS, MINUTE_NS, SECOND_NS
from faradisc.records import dataclass

_UNITS_NS = {"minute": MINUTE_NS, "hour": HOUR_NS, "day": DAY_NS}
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_YEAR_MAX = 2199
_WORKING = re.compile(r"(L|\d+)W", re.ASCII)
_NTH = re.compile(r"([A-Z]{3}|\d)(?:L|#([1-5]))", re.ASCII)


class ScheduleError(ValueError):
    """The text is not a schedule; the message has the reason."""


@dataclass(frozen=True, slots=True)
class At:
    moment: datetime

    def next(self, after_ns: int, created_ns: int, zone: tzinfo) -> int | None:
        at = _to_ns(self.moment.replace(tzinfo=zone))
        return at if at > after_ns else None


@dataclass(frozen=True, slots=True)
class Rate:
    every_ns: int

    def next(self, after_ns: int, created_ns: int, zone: tzinfo) -> int | None:
        passed = max(after_ns - created_ns, 0) // self.every_ns
        return created_ns + (passed + 1) * self.every_ns


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    """Days of the month, 0 for the last; None if the day of the week decides."""
    months: frozenset[int]
    weekdays: frozenset[int] | None
    """1 is Sunday; None if the day of the month decides."""
    years: frozenset[int]
    working: frozenset[int] = frozenset()
    """Days of the month (0: the last) to whose nearest working day the schedule moves."""
    nth: frozenset[tuple[int, int]] = frozenset()
    """(weekday, which of the month's; 0: the last)."""

    def _fits(self, day: datetime) -> bool:
        if day.year not in self.years or day.month not in self.months:
            return False
        if self.weekdays is not None:
            weekday = (day.isoweekday() % 7) + 1
            last_of_kind = (day + timedelta(days=7)).month != day.month
            return (
                weekday in self.weekdays
                or (weekday, (day.day + 6) // 7) in self.nth
                or (last_of_kind and (weekday, 0) in self.nth)
            )
        assert self.days is not None
        length = monthrange(day.year, day.month)[1]
        if day.day in self.days or (0 in self.days and day.day == length):
            return True
        return any(day.day == _working_day(day, wanted or length) for wanted in self.working)

    def next(self, after_ns: int, created_ns: int, zone: tzinfo) -> int | None:
        """Tests one day after the other until one fits, at most to the last year of the schedule."""
        after = datetime.fromtimestamp(after_ns // SECOND_NS, zone)
        day = after.replace(hour=0, minute=0, second=0, microsecond=0)
        last = max(self.years)
        while day.year <= last:
            if not any(year >= day.year for year in self.years):
                return None
            if self._fits(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        moment = _to_ns(day.replace(hour=hour, minute=minute))
                        if moment > after_ns:
                            return moment
            day = _next_day(day)
        return None


Schedule = At | Rate | Cron


def _working_day(month: datetime, wanted: int) -> int:
    """Returns the working day of the month nearest to a day; 0: the month has no such day."""
    length = monthrange(month.year, month.month)[1]
    if wanted > length:
        return 0
    weekday = month.replace(day=wanted).isoweekday()
    if weekday == 6:
        return wanted - 1 if wanted > 1 else wanted + 2
    if weekday == 7:
        return wanted + 1 if wanted < length else wanted - 2
    return wanted


def _next_day(day: datetime) -> datetime:
    """Returns the next midnight in local time; days may have 23 or 25 hours."""
    return (day.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=day.tzinfo)


def _to_ns(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND_NS


def parse_schedule(text: str) -> Schedule:
    """Parses a schedule. Raises ScheduleError."""
    match = re.fullmatch(r"(at|rate|cron)\((.*)\)", text.strip(), re.DOTALL)
    if match is None:
        raise ScheduleError(f"a schedule is at(...), rate(...) or cron(...), not {text!r}")
    kind, inner = match[1], match[2].strip()
    if kind == "at":
        try:
            return At(datetime.strptime(inner, "%Y-%m-%dT%H:%M:%S"))
        except ValueError:
            raise ScheduleError(f"at(...) takes yyyy-mm-ddThh:mm:ss, not {inner!r}") from None
    if kind == "rate":
        return _parse_rate(inner)
    return _parse_cron(inner)


def _parse_rate(inner: str) -> Rate:
    match = re.fullmatch(r"(\d+)\s+(minute|hour|day)(s?)", inner)
    if match is None or int(match[1]) == 0:
        raise ScheduleError(f"rate(...) takes a positive number and minutes, hours or days, not {inner!r}")
    return Rate(int(match[1]) * _UNITS_NS[match[2]])


def _parse_cron(inner: str) -> Cron:
    fields = inner.split()
    if len(fields) != 6:
        raise ScheduleError(f"cron(...) has six fields, not {len(fields)}: {inner!r}")
    minutes, hours, days, months, weekdays, years = fields
    if (days == "?") == (weekdays == "?"):
        raise ScheduleError("cron(...) has a ? as day of month or as day of week, not both")
    days, working = _take_out(days, _WORKING)
    weekdays, nth = _take_out(weekdays, _NTH)
    return Cron(
        _field(minutes, 0, 59),
        _field(hours, 0, 23),
        None if days == "?" else _field(days, 1, 31, last=0),
        _field(months, 1, 12, _MONTHS),
        None if weekdays == "?" else _field(weekdays, 1, 7, _DAYS, last=7),
        _field(years, 1970, _YEAR_MAX),
        frozenset(0 if match[1] == "L" else _number(match[1], 1, 31, match[0]) for match in working),
        frozenset((_number(match[1], 1, 7, match[0], _DAYS), int(match[2] or 0)) for match in nth),
    )


def _take_out(text: str, pattern: re.Pattern[str]) -> tuple[str, list[re.Match[str]]]:
    """Returns a field without the pieces that match a pattern, and their matches."""
    matches = [(piece, pattern.fullmatch(piece.upper())) for piece in text.split(",")]
    return (
        ",".join(piece for piece, match in matches if match is None),
        [match for _, match in matches if match is not None],
    )


def _number(word: str, low: int, high: int, text: str, names: list[str] | None = None) -> int:
    """Returns the number of a word. Raises ScheduleError."""
    if names is not None and word.upper() in names:
        return names.index(word.upper()) + 1
    if not word.isdecimal() or not low <= int(word) <= high:
        raise ScheduleError(f"{word!r} in {text!r} is not a number from {low} to {high}")
    return int(word)


def _field(
    text: str, low: int, high: int, names: list[str] | None = None, *, last: int | None = None
) -> frozenset[int]:
    """Returns the numbers of a field: lists, ranges, steps, names, *, and L, which is `last`."""

    def number(word: str) -> int:
        return _number(word, low, high, text, names)

    values: set[int] = set()
    for piece in text.split(",") if text else ():
        if last is not None and piece.upper() == "L":
            values.add(last)
            continue
        span, slash, step = piece.partition("/")
        if slash and (not step.isdecimal() or int(step) == 0):
            raise ScheduleError(f"the step of {piece!r} is not a positive number")
        if span == "*":
            first, end = low, high
        else:
            start, dash, stop = span.partition("-")
            first = number(start)
            end = number(stop) if dash else (high if slash else first)
        if first > end:
            raise ScheduleError(f"{span!r} runs backwards")
        values.update(range(first, end + 1, int(step) if slash else 1))
    return frozenset(values)


def next_time(
    schedule: Schedule,
    after_ns: int,
    *,
    created_ns: int,
    start_ns: int | None = None,
    end_ns: int | None = None,
    zone: tzinfo = UTC,
) -> int | None:
    """Returns the first time after `after_ns` at which an action runs; None: never."""
    if start_ns is not None:
        after_ns = max(after_ns, start_ns - 1)
        if isinstance(schedule, Rate):
            # It first runs at the start (user guide, "every 5 hours, starting on ...").
            created_ns = start_ns - schedule.every_ns
    moment = schedule.next(after_ns, created_ns, zone)
    return moment if moment is not None and (end_ns is None or moment <= end_ns) else None
