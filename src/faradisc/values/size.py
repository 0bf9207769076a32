"""Sizes in bytes, as the service counts them for limits and capacity units.

Sources: capacity.md section 2.1 (measured to the byte), capacity-consumption.md section 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.values.attribute import AttributeValue, Item
from faradisc.values.number import size_bytes as number_size


def text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def binary_size(encoded: str) -> int:
    return len(encoded) // 4 * 3 - encoded.count("=", -2)


def value_size(value: AttributeValue) -> int:
    """Bytes of one canonical value, without its name."""
    for kind, content in value.items():  # noqa: B007 -- the only entry; cheaper than unpacking an iterator
        pass
    if kind == "S":
        return len(content) if content.isascii() else len(content.encode())
    if kind == "N":
        return number_size(content)
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "M":
        return 3 + len(content) + item_size(content)
    if kind == "L":
        total = 3 + len(content)
        for member in content:
            text = member.get("S")
            total += value_size(member) if text is None else text_size(text)
        return total
    if kind == "B":
        return binary_size(content)
    if kind == "SS":
        return sum(map(text_size, content))
    if kind == "NS":
        return sum(map(number_size, content))
    return sum(map(binary_size, content))


def changed_item_size(new: Item, old: Item, old_size: int, written: Iterable[str]) -> int:
    """Size of an item made from another one, whose size is known, by writing some attributes, wholly or in
    part. Cost: the sizes of those, before and after."""
    size = old_size
    for name in written:
        before, after = old.get(name), new.get(name)
        if before is not after:
            size += _attribute_size(name, after) - _attribute_size(name, before)
    return size


def _attribute_size(name: str, value: AttributeValue | None) -> int:
    return 0 if value is None else text_size(name) + value_size(value)


def item_size(item: Item) -> int:
    """Bytes of a whole item: names and values, without the 100 bytes of storage overhead."""
    texts = [*item]
    total = 0
    for value in item.values():
        if "S" in value:
            texts.append(value["S"])
        else:
            total += value_size(value)
    # Names and strings are measured as one: most of an item, and one call for all of them.
    text = "".join(texts)
    return total + (len(text) if text.isascii() else len(text.encode()))
