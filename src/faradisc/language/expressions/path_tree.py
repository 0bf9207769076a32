"""A set of document paths as a tree: checks that they are disjoint, selects and rewrites what they name.

Updates and projections both name several paths. Two paths *overlap* when one is a prefix of the other
(or both are the same), and *conflict* when they go through one value both as a map and as a list. Both are
errors, overlap anywhere before conflict. Of several pairs, path two is the first path in the text that
collides, and path one the earliest path it collides with.

The cost of adding a path is its length, so thousands of paths in one expression stay cheap.

Source: texts and their order, errors.md section 6.4; packing of lists, expressions.md section 4.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.errors import ValidationException
from faradisc.language.expressions import errors
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, PATH_NESTING_EXCEEDED
from faradisc.model.values.path import Path, get, text


class PathNode:
    """One value in a document: a path ends there, or paths go on from there by name or by index."""

    __slots__ = ("elements", "ends", "first", "members")

    def __init__(self, first: Path) -> None:
        self.first = first
        """The first path added through here: the one that ends here, if one does."""
        self.ends = False
        self.members: dict[str, PathNode] = {}
        self.elements: dict[int, PathNode] = {}


class PathTree:
    """Paths that must be disjoint; `check_disjoint` checks that when all are added."""

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
            raise errors.PathsOverlap(one=text(self._overlap[0]), two=text(self._overlap[1]))
        if self._conflict is not None:
            raise errors.PathsConflict(one=text(self._conflict[0]), two=text(self._conflict[1]))


def tree_of(paths: Iterable[Path]) -> PathTree:
    """Returns the tree of disjoint paths. Raises PathsOverlap or PathsConflict."""
    tree = PathTree()
    for path in paths:
        tree.add(path)
    tree.check_disjoint()
    return tree


def select(item: Item, tree: PathTree) -> Item:
    """Returns what the paths select: maps with the selected names, lists packed in index order.

    Leaves out what does not exist, and containers of which nothing is selected.
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
    """Returns what paths below a node select of its value. Recurses as deep as the value is nested."""
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


def check_parent(old: Item, path: Path) -> None:
    """Raises InvalidDocumentPath unless the item has the map or list that the last step goes into."""
    if len(path) > 1:
        parent = get(old, path[:-1])
        if parent is None or ("M" if isinstance(path[-1], str) else "L") not in parent:
            raise errors.InvalidDocumentPath


def rewrite(old: Item, tree: PathTree, results: dict[Path, AttributeValue | None]) -> Item:
    """Returns a copy of an item with the results at the paths; None removes. Values are shared.

    Requires: `check_parent` of each path. Raises: ValidationException for values nested too deep.
    """
    return _rewritten_members(old, tree.root, results)


def _rewritten_members(
    members: dict[str, AttributeValue], node: PathNode, results: dict[Path, AttributeValue | None]
) -> dict[str, AttributeValue]:
    """Returns a copy of a map's members (or of an item) with the results at the paths below a node."""
    copy = dict(members)
    for name, child in node.members.items():
        if not child.ends:
            copy[name] = _rewritten(copy[name], child, results)
            continue
        result = results[child.first]
        if result is None:
            copy.pop(name, None)
        else:
            _check_nesting(result, len(child.first))
            copy[name] = result
    return copy


def _rewritten(
    value: AttributeValue, node: PathNode, results: dict[Path, AttributeValue | None]
) -> AttributeValue:
    """Returns a copy of a value with the results at the paths below a node.

    In a list, replacements come first, then removals, then appends in index order. Recurses as deep as the
    value is nested.
    """
    if node.members:
        return {"M": _rewritten_members(value["M"], node, results)}
    elements = list(value["L"])
    count = len(elements)
    removed: list[int] = []
    appended: list[AttributeValue] = []
    for index in sorted(node.elements):
        child = node.elements[index]
        if not child.ends:
            elements[index] = _rewritten(elements[index], child, results)
            continue
        result = results[child.first]
        if result is not None:
            _check_nesting(result, len(child.first))
            if index < count:
                elements[index] = result
            else:
                appended.append(result)
        elif index < count:
            removed.append(index)
    for index in reversed(removed):
        del elements[index]
    return {"L": elements + appended}


def _check_nesting(value: AttributeValue, path_length: int) -> None:
    """Raises ValidationException for a value that is nested too deep at the end of its path."""
    if "M" not in value and "L" not in value:
        return
    level = [value]
    for _ in range(NESTED_CONTAINERS_MAX - path_length + 1):
        inner: list[AttributeValue] = []
        for container in level:
            members = container["L"] if "L" in container else container["M"].values()
            inner.extend(member for member in members if "M" in member or "L" in member)
        if not inner:
            return
        level = inner
    raise ValidationException(PATH_NESTING_EXCEEDED)
