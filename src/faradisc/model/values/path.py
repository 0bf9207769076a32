"""Document paths: a tuple of attribute or map names (str) and list indexes (int).

The first step is always the name of a top-level attribute.
"""

from __future__ import annotations

from typing import TypeAlias

from faradisc.model.values.attribute import AttributeValue, Item

Path: TypeAlias = tuple[str | int, ...]


def get(item: Item, path: Path) -> AttributeValue | None:
    """Returns the value at a path; None where it does not exist, as after a step into a scalar."""
    value = item.get(path[0])  # type: ignore[arg-type]
    for step in path[1:]:
        if value is None:
            return None
        if isinstance(step, str):
            members = value.get("M")
            value = members.get(step) if members is not None else None
        else:
            elements = value.get("L")
            value = elements[step] if elements is not None and step < len(elements) else None
    return value


def text(path: Path) -> str:
    """Returns the path as the service prints it: `[a, b, [0]]`."""
    return "[" + ", ".join(step if isinstance(step, str) else f"[{step}]" for step in path) + "]"
