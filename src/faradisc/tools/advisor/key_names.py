"""What the name of a partition key says of its values: many of equal weight, or few.

Source: the service's table of good and bad partition keys (user ID and device ID against status codes and
rounded dates), widened by booleans, constants and other attributes of few values. Names that say nothing,
such as pk, id or GSI1PK, have no verdict.
"""

from __future__ import annotations

import re

from faradisc.records import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_IDS = frozenset({"id", "uuid", "guid", "ulid"})
_DATES = frozenset(
    {"date", "day", "week", "month", "quarter", "year", "hour", "minute", "yyyymm", "yyyymmdd"}
)
_OF_DATES = _words(
    "at bill billing book booked booking business by calendar create created creation delivery due end entry "
    "event expiry in invoice item log of on order payment post posted publish published record report sale "
    "sales ship shipping start the trade transaction update updated utc"
)
"""What a date may be the date of; with other words before it, such as those of users, the key has more."""
_STATES = frozenset({"status", "state", "stage", "phase"})
_CODES = frozenset({"status", "state", "error", "response", "result"})
_SWITCHES = _words(
    "active archived bool boolean closed completed deleted done enabled flag locked online open paid pending "
    "processed published sent unread verified visible"
)
_TYPES = frozenset({"type", "kind", "class"})
_CONSTANTS = frozenset({"all", "const", "constant", "dummy", "fixed", "global", "singleton", "static"})
_FEW = _words(
    "category color colour country currency environment gender genre grade lang language locale priority "
    "rating region role severity sex tier weekday"
)
_USERS = _words("account customer employee member patient player subscriber user")
_DEVICES = _words("device machine meter sensor vehicle")
_SINGLE = _words(
    "basket booking cart document event file invoice job message order payment product request session "
    "ticket transaction upload"
)
_ADDRESSES = frozenset({"email", "mail", "username", "login"})


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """What a key is taken for, and why that is good or bad, as parts of a sentence."""

    good: bool
    """Whether its values are many."""
    what: str
    why: str


_DATE = KeyVerdict(
    False, "a date or a rounded time", "all that is written in one period goes to one partition"
)
_BY_KIND = {
    "state": KeyVerdict(False, "a status", "it has few values, and most items have one of them"),
    "switch": KeyVerdict(False, "a boolean", "it has two values"),
    "constant": KeyVerdict(False, "a constant", "all items have the same one"),
    "type": KeyVerdict(False, "the name of a type", "it has as many values as there are types"),
    "few": KeyVerdict(False, "an attribute of few values", "some of them have most of the items"),
    "users": KeyVerdict(True, "a user", "good where there are many and none is far busier than the others"),
    "devices": KeyVerdict(
        True, "a device", "good where all are about equally busy; a busier one needs shards"
    ),
    "single": KeyVerdict(True, "an identifier", "it has about as many values as there are items"),
}


def verdict_of(name: str) -> KeyVerdict | None:
    """Returns what the name of a partition key says of its values; None where it says nothing."""
    words = [word.lower() for word in _WORD.findall(name)]
    if len(words) == 1 and words[0][:-2] in _USERS | _DEVICES | _SINGLE and words[0].endswith("id"):
        words = [words[0][:-2], "id"]  # userid
    identifies = bool(words) and words[-1] in _IDS
    while words and words[-1] in _IDS:
        words.pop()
    if not words:
        return None
    *before, last = words
    if (identifies or not before) and (found := _many(last)) is not None:
        return found
    if not identifies:
        if last in _DATES and _OF_DATES.issuperset(before):
            return _DATE
        if last in ("bucket", "slot") and before and before[-1] in _DATES | {"time"}:
            return _DATE
        if (before and before[0] in ("is", "has", "was")) or last == "flag":
            return _BY_KIND["switch"]
        if not before and last in _SWITCHES:
            return _BY_KIND["switch"]
        if not before and last in _CONSTANTS:
            return _BY_KIND["constant"]
    if last in _STATES or (last == "code" and before and before[-1] in _CODES):
        return _BY_KIND["state"]
    if last in _TYPES:
        return _BY_KIND["type"]
    return _BY_KIND["few"] if last in _FEW else None


def _many(word: str) -> KeyVerdict | None:
    if word in _USERS | _ADDRESSES:
        return _BY_KIND["users"]
    if word in _DEVICES:
        return _BY_KIND["devices"]
    return _BY_KIND["single"] if word in _SINGLE else None
