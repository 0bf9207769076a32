"""The rule of a composite alarm: states of other alarms, joined by AND, OR and NOT.

    ALARM(a) AND (OK("b") OR NOT INSUFFICIENT_DATA(arn:aws:cloudwatch:...:alarm:c)) OR FALSE

NOT binds tighter than AND, and AND tighter than OR. Source: PutCompositeAlarm in the API reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from faradisc.errors import ValidationException
from faradisc.metrics.alarm_rule import State
from faradisc.records import dataclass

ALARMS_MAX: Final = 100
ELEMENTS_MAX: Final = 500

StateOf = Callable[[str], State | None]
"""Returns the state of the alarm with this name; None: there is no such alarm."""

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<state>ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^\s()\"]+))\s*\)"
    r"|(?P<word>AND|OR|NOT|TRUE|FALSE)\b|(?P<bracket>[()]))",
    re.IGNORECASE,
)


class _Missing(Exception):
    """An alarm of the rule does not exist."""


@dataclass(frozen=True, slots=True)
class CompositeRule:
    names: tuple[str, ...]
    """Of the alarms in it, each once, in order."""
    _holds: Callable[[StateOf], bool]

    def state(self, state_of: StateOf) -> State:
        """Returns INSUFFICIENT_DATA when an alarm that decides does not exist."""
        try:
            return "ALARM" if self._holds(state_of) else "OK"
        except _Missing:
            return "INSUFFICIENT_DATA"


def parse_rule(text: str) -> CompositeRule:
    """Raises ValidationException."""
    reader = _Reader(text)
    holds = reader.alternatives()
    if reader.more:
        raise _invalid(reader.more)
    names = tuple(dict.fromkeys(reader.names))
    if len(names) > ALARMS_MAX or reader.elements > ELEMENTS_MAX:
        raise ValidationException(
            f"An alarm rule has {ALARMS_MAX} alarms and {ELEMENTS_MAX} elements at most"
        )
    return CompositeRule(names, holds)


def _invalid(rest: str) -> ValidationException:
    return ValidationException(f"The alarm rule is not valid near: {rest[:60] or 'its end'}")


class _Reader:
    """Reads a rule from left to right, one level of precedence in each method."""

    def __init__(self, text: str) -> None:
        self.more = text.strip()
        """What is not read yet."""
        self.names: list[str] = []
        self.elements = 0
        self._depth = 0

    def alternatives(self) -> Callable[[StateOf], bool]:
        parts = [self._together()]
        while self._take("OR"):
            parts.append(self._together())
        return parts[0] if len(parts) == 1 else lambda state_of: any(part(state_of) for part in parts)

    def _together(self) -> Callable[[StateOf], bool]:
        parts = [self._single()]
        while self._take("AND"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else lambda state_of: all(part(state_of) for part in parts)

    def _single(self) -> Callable[[StateOf], bool]:
        self.elements += 1
        if self.elements > ELEMENTS_MAX:
            raise ValidationException(f"An alarm rule has {ELEMENTS_MAX} elements at most")
        if self._take("NOT"):
            negated = self._single()
            return lambda state_of: not negated(state_of)
        if self._take("("):
            inner = self.alternatives()
            if not self._take(")"):
                raise _invalid(self.more)
            return inner
        for word, value in (("TRUE", True), ("FALSE", False)):
            if self._take(word):
                return lambda _, value=value: value  # type: ignore[misc]
        found = _TOKEN.match(self.more)
        if found is None or found["state"] is None:
            raise _invalid(self.more)
        self.more = self.more[found.end() :].lstrip()
        name = (found["quoted"] or found["bare"] or "").rpartition(":alarm:")[2]
        self.names.append(name)
        return _in_state(name, found["state"].upper())

    def _take(self, wanted: str) -> bool:
        found = _TOKEN.match(self.more)
        if found is None or (found["word"] or found["bracket"] or "").upper() != wanted:
            return False
        self.more = self.more[found.end() :].lstrip()
        return True


def _in_state(name: str, wanted: str) -> Callable[[StateOf], bool]:
    def holds(state_of: StateOf) -> bool:
        state = state_of(name)
        if state is None:
            raise _Missing
        return state == wanted

    return holds
