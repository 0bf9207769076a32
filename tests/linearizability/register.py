"""Checks that the history of one item is linearizable: Wing and Gong's search, with Lowe's cache of states.

Every operation takes effect at one moment between its call and its return, and sees the result of the one
before it. The search takes the calls in order of time: an operation may come next if no other remaining one
returned before it was called. Known states, the same operations in any order with the same result,
are not searched again; so the search, exponential in theory, is fast on histories of one item.

An operation whose answer was lost may have taken effect at any time after its call, or never. Each would
double the search, but most have no effect on it. A lost write whose value was never read is left out: an
operation right after it was lost too, and read nothing. Lost deletions are all equal, so they are tried in
the order of their calls, and never on an absent item.

Sources: J. M. Wing, C. Gong, "Testing and Verifying Concurrent Objects", 1993; G. Lowe, "Testing for
Linearizability", 2017.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

ABSENT = 0
"""The value of an absent item. Written values are positive and distinct."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request about one item.

    kind "get": `seen` is what was there. "put": writes `value`, `seen` is what it replaced. "put if": writes
    `value` if `expected` is there. "delete": `seen` is what it removed.
    """

    key: str
    kind: str
    start_ns: int
    end_ns: int | None
    """None: the answer was lost, and the other members about it mean nothing."""
    value: int = ABSENT
    expected: int = ABSENT
    seen: int = ABSENT
    refused: bool = False
    """A "put if" that found `seen` instead of `expected`."""

    def after(self, state: int) -> int | None:
        """What is there when this has happened to `state`; None: it cannot have happened then."""
        known = self.end_ns is not None
        if self.kind == "put if":
            if not known:
                return self.value if state == self.expected else None
            if self.refused:
                return state if state == self.seen != self.expected else None
            return self.value if state == self.expected else None
        if known and state != self.seen:
            return None
        if not known and self.kind == "delete" and state == ABSENT:
            return None  # the same as never
        return {"get": state, "put": self.value, "delete": ABSENT}[self.kind]


class _Event:
    """A call or a return, in a list that operations are taken out of and put back into."""

    __slots__ = ("after", "before", "end", "number")

    def __init__(self, number: int, end: _Event | None) -> None:
        self.number = number
        self.end = end
        """Of a call: its return, if it had one. A return is its own end."""
        self.before: _Event | None = None
        self.after: _Event | None = None

    @property
    def is_return(self) -> bool:
        return self.end is self

    def take_out(self) -> None:
        assert self.before is not None
        self.before.after = self.after
        if self.after is not None:
            self.after.before = self.before

    def put_back(self) -> None:
        assert self.before is not None
        self.before.after = self
        if self.after is not None:
            self.after.before = self


def is_linearizable(operations: Sequence[Operation]) -> bool:
    """Of one item, absent at first."""
    operations = _without_unmet(operations)
    earlier = _earlier_lost_deletions(operations)
    head = _events(operations)
    answered = sum(each.end_ns is not None for each in operations)
    done, state = 0, ABSENT
    """Which operations have happened, one bit for each."""
    tried = {(done, state)}
    way: list[tuple[_Event, int]] = []
    event = head.after
    while answered:
        if event is not None and not event.is_return:
            after = None
            if not earlier.get(event.number, 0) & ~done:
                after = operations[event.number].after(state)
            with_it = (done | 1 << event.number, after)
            if after is not None and with_it not in tried:
                tried.add((with_it[0], after))
                way.append((event, state))
                done, state = with_it[0], after
                answered -= event.end is not None
                _take(event)
                event = head.after
            else:
                event = event.after
            continue
        # A return whose call has not happened: something that did happen should not have.
        if not way:
            return False
        event, state = way.pop()
        done &= ~(1 << event.number)
        answered += event.end is not None
        _give_back(event)
        event = event.after
    return True


def _without_unmet(operations: Sequence[Operation]) -> list[Operation]:
    """All but the lost writes whose value no other operation met or may have met."""
    kept = list(operations)
    while True:
        met = {each.seen for each in kept if each.end_ns is not None}
        met.update(each.expected for each in kept if each.kind == "put if")
        fewer = [
            each for each in kept if each.end_ns is not None or each.kind == "delete" or each.value in met
        ]
        if len(fewer) == len(kept):
            return kept
        kept = fewer


def _earlier_lost_deletions(operations: Sequence[Operation]) -> dict[int, int]:
    """By lost deletion: the lost deletions called before it, one bit for each."""
    lost = [number for number, each in enumerate(operations) if each.end_ns is None and each.kind == "delete"]
    lost.sort(key=lambda number: operations[number].start_ns)
    return {number: sum(1 << other for other in lost[:place]) for place, number in enumerate(lost)}


def _take(call: _Event) -> None:
    call.take_out()
    if call.end is not None:
        call.end.take_out()


def _give_back(call: _Event) -> None:
    if call.end is not None:
        call.end.put_back()
    call.put_back()


def _events(operations: Sequence[Operation]) -> _Event:
    """Calls and returns in the order of time, behind a head."""
    found: list[tuple[int, int, _Event]] = []
    for number, each in enumerate(operations):
        end = None
        if each.end_ns is not None:
            end = _Event(number, None)
            end.end = end
            # At the same instant a call comes before a return: nothing is said of their order then.
            found.append((each.end_ns, 1, end))
        found.append((each.start_ns, 0, _Event(number, end)))
    head = last = _Event(-1, None)
    for _, _, event in sorted(found, key=lambda each: each[:2]):
        last.after, event.before = event, last
        last = event
    return head


def by_key(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for each in operations:
        found.setdefault(each.key, []).append(each)
    return found


def save(operations: Iterable[Operation], path: Path) -> None:
    """One operation per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(asdict(each)) + b"\n" for each in operations))


def load(path: Path) -> list[Operation]:
    return [Operation(**orjson.loads(line)) for line in path.read_bytes().splitlines()]
