"""Limits on changes of throughput (decreases, switches of mode, quotas), and their durations.

Pure functions over the times at which changes were accepted, in nanoseconds since the epoch.

Source: capacity.md section 2.12 (measured rules); vectors V117 to V119, V128.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from faradisc.capacity.config import DAY_NS, HOUR_NS, SECOND_NS
from faradisc.limits import (
    ACCOUNT_CAPACITY_UNITS_MAX,
    BILLING_MODE_SWITCHES_PER_DAY_MAX,
    DECREASES_PER_DAY_INITIAL,
    TABLE_CAPACITY_UNITS_MAX,
)
from faradisc.records import dataclass, field

Units = tuple[int, int]
"""Read and write units per second."""


@dataclass(slots=True)
class DecreaseLog:
    """The accepted decreases of one table or global index.

    Four at any time of a UTC day, then one per hour counted from the last accepted one: at most 27 a day.
    A call that lowers anything is one decrease.
    """

    accepted_ns: list[int] = field(default_factory=list)
    """Those on the day of the last one."""

    def today(self, now: int) -> list[int]:
        start = now - now % DAY_NS
        return [at for at in self.accepted_ns if at >= start]

    def allowed(self, now: int) -> bool:
        return now >= self.next_allowed(now)

    def next_allowed(self, now: int) -> int:
        """Returns the earliest time from `now` on at which a decrease is accepted."""
        today = self.today(now)
        if len(today) < DECREASES_PER_DAY_INITIAL:
            return now
        midnight = now - now % DAY_NS + DAY_NS
        return max(now, min(max(today) + HOUR_NS, midnight))

    def accept(self, now: int) -> None:
        self.accepted_ns = [*self.today(now), now]

    def text(self, now: int) -> str:
        """Returns the text of the LimitExceededException for a decrease now.

        Source: errors.md section 6.10.
        """
        today = self.today(now)
        return (
            "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC "
            f"day. After the first {DECREASES_PER_DAY_INITIAL} decreases, each subsequent decrease "
            "in the same UTC day can be performed at most once every 3600 seconds. "
            "Number of decreases today: "
            f"{len(today)}. Last decrease at {_long_date(max(today))}. Next decrease can be made at "
            f"{_long_date(self.next_allowed(now))}"
        )


def is_decrease(present: Units, wanted: Units) -> bool:
    """Returns whether a change counts as a decrease: it lowers reads or writes."""
    return wanted[0] < present[0] or wanted[1] < present[1]


@dataclass(slots=True)
class SwitchLog:
    """Switches of one table to on-demand mode, a creation in that mode included: 4 in any 24 hours."""

    accepted_ns: list[int] = field(default_factory=list)

    def recent(self, now: int) -> list[int]:
        return [at for at in self.accepted_ns if now - at < DAY_NS]

    def allowed(self, now: int) -> bool:
        return len(self.recent(now)) < BILLING_MODE_SWITCHES_PER_DAY_MAX

    def next_allowed(self, now: int) -> int:
        recent = self.recent(now)
        return now if self.allowed(now) else recent[-BILLING_MODE_SWITCHES_PER_DAY_MAX] + DAY_NS

    def accept(self, now: int) -> None:
        self.accepted_ns = [*self.recent(now), now]

    def text(self, now: int) -> str:
        """Returns the text of the LimitExceededException for a switch now. Measured."""
        recent = self.recent(now)
        return (
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{BILLING_MODE_SWITCHES_PER_DAY_MAX} in 1 day(s). Last update at {date(max(recent))}. "
            f"Next update can be made at {date(self.next_allowed(now))}"
        )


def date(at_ns: int) -> str:
    """Returns a time as the service writes it in texts."""
    return datetime.fromtimestamp(at_ns // SECOND_NS, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _long_date(at_ns: int) -> str:
    """Returns a time as the texts on decreases have it, with hours of the half day."""
    at = datetime.fromtimestamp(at_ns // SECOND_NS, UTC)
    hour, half = (at.hour + 11) % 12 + 1, "AM" if at.hour < 12 else "PM"
    return f"{at:%A, %B} {at.day}, {at.year} at {hour}:{at:%M:%S} {half} Coordinated Universal Time"


# --- Quotas ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of an account. Defaults are those of a new account."""

    table: Units = (TABLE_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX)
    """Per table or global index."""
    account: Units = (ACCOUNT_CAPACITY_UNITS_MAX, ACCOUNT_CAPACITY_UNITS_MAX)
    """Sum over all provisioned tables and indexes."""

    def table_text(self, wanted: Units, region: str, index: str | None = None) -> str | None:
        """Returns the text of the LimitExceededException for these rates of a table or index, or None.
        Measured."""
        kind, of_index = ("table", "") if index is None else ("index", f" for index {index}")
        for member, units, most in zip(_MEMBERS, wanted, self.table, strict=True):
            if units > most:
                return (
                    f"The requested {member}{of_index}, {units}, is above the per {kind} maximum for the "
                    f"account in {region}. Per table maximum: {most}. Refer to the Amazon DynamoDB Developer "
                    "Guide for current limits and how to request higher limits."
                )
        return None

    def account_text(self, others: Units, wanted: Units, region: str) -> str | None:
        """Returns the text of the error for these rates in addition to the account's `others`, or None.
        Source: errors.md section 6.10."""
        for member, used, units, most in zip(_MEMBERS, others, wanted, self.account, strict=True):
            if used + units > most:
                return (
                    f"This request would have caused the {member} limit to be exceeded for the account in "
                    f"{region}. Current {member} reserved by the account: {used}. Limit: {most}. Requested: "
                    f"{units}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to "
                    "request higher limits."
                )
        return None


_MEMBERS = ("ReadCapacityUnits", "WriteCapacityUnits")


# --- How long changes take ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that changes take, as measured (M1, M2): the first on a table, and later ones."""

    update_throughput: int = 1
    to_on_demand: tuple[int, int] = (150, 5)
    to_provisioned: tuple[int, int] = (80, 5)
    raise_warm: tuple[int, int] = (390, 2)

    @staticmethod
    def ns(seconds: tuple[int, int], *, before: bool) -> int:
        """Returns nanoseconds of a change. before: the table has had such a change."""
        return seconds[1 if before else 0] * SECOND_NS


# --- One call against the limits ------------------------------------------------------------------


@dataclass(slots=True)
class ThroughputChange:
    """One resource's part of an UpdateTable call."""

    what: str
    """"table", or "index <name>"; for the texts."""
    present: Units
    wanted: Units
    decreases: DecreaseLog


def check_changes(
    changes: Sequence[ThroughputChange], now: int, *, leaves_provisioned: bool = False
) -> str | None:
    """Returns the text of the LimitExceededException if a call may not change all these rates, or None.

    A call is atomic: if one part is rejected, nothing is counted. Accepted decreases are added to the logs.
    An index that becomes on demand (`leaves_provisioned`) counts a decrease even when none is left (M1).
    """
    lowered = [change for change in changes if is_decrease(change.present, change.wanted)]
    for change in lowered:
        if not leaves_provisioned and not change.decreases.allowed(now):
            return change.decreases.text(now)
    for change in lowered:
        change.decreases.accept(now)
    return None
