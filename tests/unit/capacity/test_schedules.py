"""Scheduled actions: at, rate and cron."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from faradisc.capacity.config import HOUR_NS, MINUTE_NS, SECOND_NS
from faradisc.capacity.schedules import ScheduleError, next_time, parse_schedule

FRIDAY = int(datetime(2026, 11, 20, 10, 30, tzinfo=UTC).timestamp()) * SECOND_NS


def shown(text: str, after_ns: int = FRIDAY, **settings: object) -> str | None:
    moment = next_time(parse_schedule(text), after_ns, created_ns=FRIDAY, **settings)  # type: ignore[arg-type]
    return (
        None
        if moment is None
        else datetime.fromtimestamp(moment // SECOND_NS, UTC).strftime("%a %d %b %Y %H:%M")
    )


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("at(2026-11-20T12:00:00)", "Fri 20 Nov 2026 12:00"),
        ("at(2026-11-20T10:30:00)", None),
        ("rate(5 minutes)", "Fri 20 Nov 2026 10:35"),
        ("rate(1 hour)", "Fri 20 Nov 2026 11:30"),
        ("rate(2 days)", "Sun 22 Nov 2026 10:30"),
        ("cron(0 8 * * ? *)", "Sat 21 Nov 2026 08:00"),
        ("cron(0 8 ? * MON-FRI *)", "Mon 23 Nov 2026 08:00"),
        ("cron(0/15 * * * ? *)", "Fri 20 Nov 2026 10:45"),
        ("cron(0 0 L * ? *)", "Mon 30 Nov 2026 00:00"),
        ("cron(0 12 21W * ? *)", "Fri 20 Nov 2026 12:00"),
        ("cron(0 0 15W * ? *)", "Tue 15 Dec 2026 00:00"),
        ("cron(0 0 22w NOV ? *)", "Mon 23 Nov 2026 00:00"),
        ("cron(0 0 1W MAY ? *)", "Mon 03 May 2027 00:00"),
        ("cron(0 0 31W FEB-MAY ? *)", "Wed 31 Mar 2027 00:00"),
        ("cron(0 0 LW JAN ? *)", "Fri 29 Jan 2027 00:00"),
        ("cron(0 0 1,LW * ? *)", "Mon 30 Nov 2026 00:00"),
        ("cron(0 0 ? * L *)", "Sat 21 Nov 2026 00:00"),
        ("cron(0 0 ? * 6L *)", "Fri 27 Nov 2026 00:00"),
        ("cron(0 0 ? * MONL *)", "Mon 30 Nov 2026 00:00"),
        ("cron(0 12 ? * FRI#3 *)", "Fri 20 Nov 2026 12:00"),
        ("cron(0 0 ? * 2#5,3#1 *)", "Mon 30 Nov 2026 00:00"),
        ("cron(0 0 29 FEB ? *)", "Tue 29 Feb 2028 00:00"),
        ("cron(30 10 20 NOV ? 2026,2027)", "Sat 20 Nov 2027 10:30"),
        ("cron(0 0 31 2 ? 2027)", None),
    ],
)
def test_next_time(text: str, moment: str | None) -> None:
    assert shown(text) == moment


def test_start_end_and_zone() -> None:
    assert shown("rate(1 hour)", start_ns=FRIDAY + 5 * MINUTE_NS) == "Fri 20 Nov 2026 10:35"
    assert shown("cron(0 8 * * ? *)", end_ns=FRIDAY + HOUR_NS) is None
    assert shown("rate(1 hour)", FRIDAY + 10 * MINUTE_NS, start_ns=FRIDAY + 5 * MINUTE_NS) == (
        "Fri 20 Nov 2026 11:35"
    ), "counted from the start, the second time too"
    assert shown("cron(0 8 * * ? *)", start_ns=FRIDAY + 48 * HOUR_NS) == "Mon 23 Nov 2026 08:00"
    assert shown("cron(0 8 * * ? *)", zone=timezone(timedelta(hours=-5))) == "Fri 20 Nov 2026 13:00"


@pytest.mark.parametrize(
    "text",
    [
        "every day",
        "at(tomorrow)",
        "rate(0 minutes)",
        "rate(5 weeks)",
        "cron(* * * * *)",
        "cron(0 8 * * * *)",
        "cron(0 8 ? * ? *)",
        "cron(61 8 * * ? *)",
        "cron(0 8-6 * * ? *)",
        "cron(0/0 8 * * ? *)",
        "cron(0 8 ? * XYZ *)",
        "cron(0 8 ? * XYZL *)",
        "cron(0 8 ? * 8L *)",
        "cron(0 8 ? * 2#6 *)",
        "cron(0 8 ? * 1W *)",
        "cron(0 8 32W * ? *)",
        "cron(0 8 2#1 * ? *)",
        "cron(L 8 * * ? *)",
    ],
)
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)
