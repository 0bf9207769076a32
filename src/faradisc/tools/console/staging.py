"""Items that were read, and changes of them that are not written yet.

A row has a number: those that were read count from 0, new ones from -1 downwards. A row that is deleted keeps
its place until that is written, so it can still be seen and taken back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from faradisc.records import dataclass, field
from faradisc.tools.console.changes import applied, path_changes
from faradisc.tools.console.values import Item

RowState = Literal["", "new", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class StagedChange:
    """None: there is no item before or after."""

    before: Item | None
    after: Item | None


@dataclass(frozen=True, slots=True)
class StagedRow:
    number: int
    item: Item
    """As it will be; of a deleted row, as it was."""
    state: RowState


@dataclass(slots=True)
class Staging:
    read: dict[int, Item] = field(default_factory=dict)
    changes: dict[int, StagedChange] = field(default_factory=dict)
    _next_read: int = 0
    _next_new: int = -1

    def clear(self) -> None:
        """Forgets all rows and changes."""
        self.read.clear()
        self.changes.clear()
        self._next_read, self._next_new = 0, -1

    def add_read(self, items: Iterable[Item]) -> None:
        for item in items:
            self.read[self._next_read] = item
            self._next_read += 1

    def rows(self) -> list[StagedRow]:
        """Returns all rows: those that were read, then new ones."""
        found = []
        for number, item in self.read.items():
            change = self.changes.get(number)
            if change is None:
                found.append(StagedRow(number, item, ""))
            elif change.after is None:
                found.append(StagedRow(number, item, "deleted"))
            else:
                found.append(StagedRow(number, change.after, "changed"))
        for number, change in self.changes.items():
            if number < 0 and change.after is not None:
                found.append(StagedRow(number, change.after, "new"))
        return found

    def item(self, number: int) -> Item:
        """Returns a row as it will be; of a deleted one, as it was."""
        change = self.changes.get(number)
        if change is not None and change.after is not None:
            return change.after
        return self.read[number]

    def stage(self, number: int, after: Item | None) -> None:
        """Changes a row, or deletes it (None). A change back to what was read is none."""
        before = self.before(number)
        if before == after:
            self.changes.pop(number, None)
        else:
            self.changes[number] = StagedChange(before, after)

    def before(self, number: int) -> Item | None:
        """Returns what a write of a row requires: the item that was read, or the newer one of a conflict."""
        change = self.changes.get(number)
        return change.before if change is not None else self.read.get(number)

    def add(self, item: Item) -> None:
        """Stages a new item."""
        self.changes[self._next_new] = StagedChange(None, item)
        self._next_new -= 1

    def written(self, number: int) -> None:
        """Takes a change as written: the row is now what it should become."""
        after = self.changes.pop(number).after
        if after is None:
            self.read.pop(number, None)
        elif number < 0:
            self.add_read([after])
        else:
            self.read[number] = after


@dataclass(frozen=True, slots=True)
class StagedConflict:
    """A change whose item is no longer what was read."""

    number: int
    base: Item | None
    """As it was read."""
    mine: Item | None
    theirs: Item | None
    """As it is now; None: it was deleted."""

    def merged(self) -> Item | None:
        """Returns theirs with the paths that were changed here; lists are taken whole."""
        if self.mine is None or self.theirs is None:
            return self.mine
        return applied(path_changes(self.base, self.mine, lists=False), self.theirs)


def resolve(staging: Staging, conflict: StagedConflict, how: Literal["mine", "merge", "theirs"]) -> None:
    """Settles a conflict. What stays staged requires the item to be as it is now; it is reviewed again."""
    number = conflict.number
    if conflict.theirs is not None and number >= 0:
        staging.read[number] = conflict.theirs
    if how == "theirs":
        staging.changes.pop(number, None)
        if conflict.theirs is None:
            staging.read.pop(number, None)
        elif number < 0:
            staging.add_read([conflict.theirs])
        return
    after = conflict.merged() if how == "merge" else conflict.mine
    if after == conflict.theirs:
        staging.changes.pop(number, None)
    else:
        staging.changes[number] = StagedChange(conflict.theirs, after)
