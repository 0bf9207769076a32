"""Numbers, durations, times and sizes for people. A no-break space stands between a number and its unit."""

from __future__ import annotations

import math
from datetime import UTC, datetime

SPACE = "\u00a0"
MINUS = "\u2212"


def count(value: float) -> str:
    """Returns a whole number with thousands separated: 12,345."""
    return f"{round(value):,}".replace("-", MINUS)


def units(value: float) -> str:
    """Returns a rate or an amount: whole above 100, with one or two decimals below."""
    size = abs(value)
    if size >= 100 or value == round(value):
        return count(value)
    return f"{value:.{1 if size >= 10 else 2}f}".rstrip("0").rstrip(".").replace("-", MINUS)


def short(value: float) -> str:
    """Returns a number for an axis: 800, 1.5k, 20k, 3M."""
    size = abs(value)
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit:
            return f"{value / limit:.4g}{suffix}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def percent(part: float, whole: float = 100) -> str:
    """Returns a part in percent: never "0 %" of something, and "100 %" of all only."""
    if not whole:
        return f"0{SPACE}%"
    share = 100 * part / whole
    if 0 < share < 0.01:
        return f"<{SPACE}0.01{SPACE}%"
    if share < 100 and round(share, 2) >= 100:
        return f">{SPACE}99.99{SPACE}%"
    digits = 2 if share < 1 or 99 < share < 100 else 1 if share < 10 or 90 < share < 100 else 0
    text = f"{share:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + f"{SPACE}%"


def money(value: float) -> str:
    """Returns US dollars, with cents below a thousand."""
    if abs(value) >= 1000:
        return f"${value:,.0f}".replace("$-", f"{MINUS}$")
    return f"${value:,.2f}".replace("$-", f"{MINUS}$")


def size(value: float) -> str:
    """Returns bytes: 912 B, 4.2 KiB, 10 GiB."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{units(amount)}{SPACE}{unit}"
        amount /= 1024
    return f"{units(amount)}{SPACE}TiB"


def duration(seconds: float) -> str:
    """Returns the two largest units: 40 s, 12 min, 1 h 5 min, 2 d 3 h."""
    left = round(seconds)
    if left < 1 and seconds > 0:
        return f"{seconds:.2g}{SPACE}s"
    parts = []
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if left >= length:
            parts.append((left // length, unit, length))
            left %= length
    if not parts:
        return f"0{SPACE}s"
    first, rest = parts[0], parts[1:2]
    near = [part for part in rest if first[2] // part[2] <= 60]
    return " ".join(f"{amount}{SPACE}{unit}" for amount, unit, _ in [first, *near])


def each(seconds: float) -> str:
    """Returns the length of a sample: minute, hour, 10 min."""
    return {1: "second", 60: "minute", 3600: "hour", 86_400: "day"}.get(round(seconds)) or duration(seconds)


def elapsed(seconds: float, *, with_seconds: bool = True) -> str:
    """Returns a time since the beginning: 0:05:10, or 0:05; days are counted: 1d 02:00."""
    whole = math.floor(seconds)
    days, rest = divmod(whole, 86_400)
    text = f"{rest // 3600}:{rest // 60 % 60:02d}"
    if days:
        text = f"{days}d{SPACE}{rest // 3600:02d}:{rest // 60 % 60:02d}"
    return f"{text}:{rest % 60:02d}" if with_seconds else text


def moment(epoch_s: float) -> str:
    """Returns a date and time, UTC."""
    return datetime.fromtimestamp(math.floor(epoch_s), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(amount: int, one: str, many: str | None = None) -> str:
    """Returns "1 partition", "3 partitions"."""
    return f"{count(amount)}{SPACE}{one if amount == 1 else many or one + 's'}"


def brief(partition: str) -> str:
    """Returns the short name of a partition: "shard-000000012" is p12."""
    head, _, tail = partition.rpartition("-")
    return f"p{int(tail)}" if head and tail.isascii() and tail.isdecimal() else partition[:9]
