"""A set of document paths as a tree: are they disjoint, and what do they select?

Updates and projections both name several paths. Two paths *overlap* when one is a prefix of the other
(or both are the same), and *conflict* when they step into one place both as a map and as a list.
Either is refused; overlap anywhere is reported before conflict. Of several pairs the first path (in
textual order) that collides is path two, and the earliest path it collides with is path one.

Adding a path costs one step per step of the path, so thousands of paths in one expression stay cheap.

Source: texts and their order, errors.md section 6.4; packing of lists, expressions.md section 4.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.language.expressions import faults
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.path import Path, text


class PathNode:
    """One place in a document: where a path ends, or from where paths go on, by name or by index."""

    __slots__ = ("elements", "ends", "first", "members")

    def __init__(self, first: Path) -> None:
        self.first = first
        """The first path that reached this place: the one that ends here, if one does."""
        self.ends = False
        self.members: dict[str, PathNode] = {}
        self.elements: dict[int, PathNode] = {}


class PathTree:
    """Disjoint paths. `add` refuses nothing at once; `check_disjoint` does, when all are added."""

    __slots__ = ("_conflict", "_overlap", "root")

    def __init__(self) -> None:
        self.root = PathNode(())
        self._overlap: tuple[Path, Path] | None = None
        self._conflict: tuple[Path, Path] | None = None

    def add(self, path: Path) -> None:
        node = self.root
        is_new = False
        for step in path:
            if node.ends:
                break
            others = node.elements if isinstance(step, str) else node.members
            if others and self._conflict is None:
                self._conflict = (next(iter(others.values())).first, path)
            children: dict[str | int, PathNode] = node.members if isinstance(step, str) else node.elements  # type: ignore[assignment]
            child = children.get(step)
            is_new = child is None
            if child is None:
                child = children[step] = PathNode(path)
            node = child
        if is_new:
            node.ends = True
        elif self._overlap is None:
            self._overlap = (node.first, path)

    def check_disjoint(self) -> None:
        """Raises PathsOverlap or PathsConflict."""
        if self._overlap is not None:
            raise faults.PathsOverlap(one=text(self._overlap[0]), two=text(self._overlap[1]))
        if self._conflict is not None:
            raise faults.PathsConflict(one=text(self._conflict[0]), two=text(self._conflict[1]))


def tree_of(paths: Iterable[Path]) -> PathTree:
    """The tree of paths that must be disjoint. Raises PathsOverlap or PathsConflict."""
    tree = PathTree()
    for path in paths:
        tree.add(path)
    tree.check_disjoint()
    return tree


def select(item: Item, tree: PathTree) -> Item:
    """What the paths select: maps rebuilt with the selected names, lists packed in index order.

    What does not exist is left out, and so is a container of which nothing was selected.
    """
    return _selected_members(item, tree.root)


def _selected_members(members: dict[str, AttributeValue], node: PathNode) -> dict[str, AttributeValue]:
    selected = {}
    for name, child in node.members.items():
        member = members.get(name)
        if member is not None:
            part = member if child.ends else _selected(member, child)
            if part is not None:
                selected[name] = part
    return selected


def _selected(value: AttributeValue, node: PathNode) -> AttributeValue | None:
    """Recurses no deeper than the value is nested."""
    if node.members:
        members = value.get("M")
        selected = _selected_members(members, node) if members is not None else None
        return {"M": selected} if selected else None
    elements = value.get("L")
    if elements is None:
        return None
    packed = []
    for index in sorted(node.elements):
        if index >= len(elements):
            break
        child = node.elements[index]
        part = elements[index] if child.ends else _selected(elements[index], child)
        if part is not None:
            packed.append(part)
    return {"L": packed} if packed else None
