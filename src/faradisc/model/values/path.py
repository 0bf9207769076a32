"""Document paths: a tuple of attribute or map names (str) and list indexes (int).

The first step is always the name of a top-level attribute.
"""

from __future__ import annotations

from typing import TypeAlias

from faradisc.model.values.attribute import AttributeValue, Item

Path: TypeAlias = tuple[str | int, ...]


def get(item: Item, path: Path) -> AttributeValue | None:
    """The value at a path, or None where it does not exist (a step into a scalar does not exist either)."""
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
    """The path as the service prints it in messages: `[a, b, [0]]`."""
    return "[" + ", ".join(step if isinstance(step, str) else f"[{step}]" for step in path) + "]"
