"""What a SELECT list shows: one attribute per path, named after the end of its path.

`a.b` is shown as `b`, `a.b[0]` as `b[0]`: a column's name is the last name of its path and the list
indexes behind it. Where two columns have one name the later one counts. What does not exist is left out.

Source: seen in a peer that was built from recordings, and how clients describe it; the reference does
not say. A ProjectionExpression, by contrast, keeps the structure around what it selects.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.values import path as paths
from faradisc.values.attribute import Item
from faradisc.values.path import Path


class Columns:
    """A SELECT list, ready to be read from items; stands where a projection can."""

    __slots__ = ("_columns",)

    def __init__(self, selected: Iterable[Path]) -> None:
        self._columns = [(_name_of(path), path) for path in selected]

    @property
    def top_level(self) -> frozenset[str]:
        """The top-level attributes mentioned."""
        return frozenset(str(path[0]) for _, path in self._columns)

    def apply(self, item: Item) -> Item:
        """Values are shared, not copied."""
        shown = {}
        for name, path in self._columns:
            value = paths.get(item, path)
            if value is not None:
                shown[name] = value
        return shown


def _name_of(path: Path) -> str:
    indexes = ""
    for step in reversed(path):
        if isinstance(step, str):
            return step + indexes
        indexes = f"[{step}]{indexes}"
    raise AssertionError("a path begins with a name")
