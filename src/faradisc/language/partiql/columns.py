"""The columns of a SELECT list: one attribute per path, named after the end of its path.

`a.b` becomes `b`, and `a.b[0]` becomes `b[0]`: a column's name is the last name of its path with the list
indexes after it. Of two columns with one name the later counts. What does not exist is left out. A
ProjectionExpression, by contrast, keeps the structure around what it selects.

Most lists name whole attributes. For others the paths form a tree, so the cost for an item is what it has in
common with the list.

Assumed: the reference does not say; clients and a peer that was built from recordings show it so.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.path import Path

Shown = tuple[int, AttributeValue]
"""The number of a column and its value."""


class _Node:
    """One value in a document: columns end there or go on from there."""

    __slots__ = ("columns", "elements", "members")

    def __init__(self) -> None:
        self.columns: list[int] = []
        self.members: dict[str, _Node] = {}
        self.elements: dict[int, _Node] = {}


class Columns:
    """A SELECT list; has the interface of a Projection."""

    __slots__ = ("_names", "_root", "_whole")

    def __init__(self, selected: Iterable[Path]) -> None:
        paths = tuple(selected)
        self._names = [_name_of(path) for path in paths]
        self._whole = tuple(dict.fromkeys(self._names)) if all(len(path) == 1 for path in paths) else None
        self._root = _Node()
        for column, path in enumerate(paths):
            node = self._root
            for step in path:
                if isinstance(step, str):
                    node = node.members.setdefault(step, _Node())
                else:
                    node = node.elements.setdefault(step, _Node())
            node.columns.append(column)

    @property
    def top_level(self) -> frozenset[str]:
        """Returns the top-level attributes of all paths."""
        return frozenset(self._root.members)

    def apply(self, item: Item) -> Item:
        """Returns the columns of an item. Values are shared, not copied."""
        if self._whole is not None:
            return {name: item[name] for name in self._whole if name in item}
        found: list[Shown] = []
        _find_in_members(item, self._root, found)
        found.sort(key=itemgetter(0))
        return {self._names[column]: value for column, value in found}


def _find_in_members(members: Item, node: _Node, found: list[Shown]) -> None:
    wanted = node.members
    for name in wanted if len(wanted) <= len(members) else members:
        child, value = wanted.get(name), members.get(name)
        if child is not None and value is not None:
            _find(value, child, found)


def _find(value: AttributeValue, node: _Node, found: list[Shown]) -> None:
    """Adds the columns below a node. Recurses as deep as the value is nested."""
    found.extend([(column, value) for column in node.columns])
    if node.members and "M" in value:
        _find_in_members(value["M"], node, found)
    if node.elements and "L" in value:
        elements = value["L"]
        for index, child in node.elements.items():
            if index < len(elements):
                _find(elements[index], child, found)


def _name_of(path: Path) -> str:
    indexes = ""
    for step in reversed(path):
        if isinstance(step, str):
            return step + indexes
        indexes = f"[{step}]{indexes}"
    raise AssertionError("a path begins with a name")
