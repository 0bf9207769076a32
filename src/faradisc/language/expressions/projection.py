"""Projection expressions: the paths that a read returns.

Source: expressions.md section 4; order of errors, errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.language.expressions.binder import Placeholders
from faradisc.language.expressions.errors import ExpressionError
from faradisc.language.expressions.parser import parse_projection
from faradisc.language.expressions.path_tree import select, tree_of
from faradisc.model.values.attribute import Item
from faradisc.model.values.path import Path


class Projection:
    """Disjoint paths to select from items."""

    __slots__ = ("_paths", "_tree", "_whole")

    def __init__(self, paths: Iterable[Path]) -> None:
        """Raises PathsOverlap or PathsConflict."""
        self._paths = tuple(paths)
        names = [path[0] for path in self._paths]
        # Most projections name whole attributes and need no tree.
        whole = len(set(names)) == len(names) and all(len(path) == 1 for path in self._paths)
        self._whole: tuple[str, ...] | None = tuple(map(str, names)) if whole else None
        self._tree = None if whole else tree_of(self._paths)

    def apply(self, item: Item) -> Item:
        """Returns the selected part of an item; {} when none of it exists. Values are shared, not copied."""
        if self._whole is not None:
            return {name: item[name] for name in self._whole if name in item}
        assert self._tree is not None
        return select(item, self._tree)

    @property
    def top_level(self) -> frozenset[str]:
        """Returns the top-level attributes of all paths."""
        return frozenset(str(path[0]) for path in self._paths)

    @property
    def nested(self) -> frozenset[str]:
        """Returns the top-level attributes into which a path goes with `.` or `[]`."""
        return frozenset(str(path[0]) for path in self._paths if len(path) > 1)


def bind_projection(text: str, placeholders: Placeholders) -> Projection:
    """Parses (cached) and binds a ProjectionExpression.

    Raises: ExpressionError, its text prefixed with "Invalid ProjectionExpression: ".
    """
    try:
        parsed = parse_projection(text)
        placeholders.mark_used(parsed.refs)
        return Projection(map(placeholders.path, parsed.paths))
    except ExpressionError as error:
        raise error.within("ProjectionExpression") from None
