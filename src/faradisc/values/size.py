"""Sizes in bytes, as the service counts them for limits and capacity units.

Sources: capacity.md section 2.1 (measured to the byte), capacity-consumption.md section 1.
"""

from __future__ import annotations

from faradisc.values.attribute import AttributeValue, Item
from faradisc.values.number import size_bytes as number_size


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _binary_size(encoded: str) -> int:
    return len(encoded) // 4 * 3 - encoded.count("=", -2)


def value_size(value: AttributeValue) -> int:
    """Bytes of one canonical value, without its name."""
    for kind, content in value.items():  # noqa: B007 -- the only entry; cheaper than unpacking an iterator
        pass
    if kind == "S":
        return len(content) if content.isascii() else len(content.encode())
    if kind == "N":
        return number_size(content)
    if kind == "M":
        return 3 + len(content) + item_size(content)
    if kind == "L":
        total = 3 + len(content)
        for member in content:
            total += value_size(member)
        return total
    if kind == "B":
        return _binary_size(content)
    if kind == "SS":
        return sum(map(_text_size, content))
    if kind == "NS":
        return sum(map(number_size, content))
    if kind == "BS":
        return sum(map(_binary_size, content))
    return 1


def changed_item_size(new: Item, old: Item, old_size: int) -> int:
    """Size of an item made from another one, whose size is known, by replacing some attributes.

    Attributes that were kept are the same objects and need not be measured again. Cost: a look at each
    attribute, and the sizes of those that differ.
    """
    size = old_size
    kept = 0
    for name, value in new.items():
        before = old.get(name)
        if before is value:
            kept += 1
            continue
        size += value_size(value)
        if before is None:
            size += _text_size(name)
        else:
            kept += 1
            size -= value_size(before)
    if kept != len(old):
        for name, value in old.items():
            if name not in new:
                size -= _text_size(name) + value_size(value)
    return size


def item_size(item: Item) -> int:
    """Bytes of a whole item: names and values, without the 100 bytes of storage overhead."""
    total = 0
    for name, value in item.items():
        total += len(name) if name.isascii() else len(name.encode())
        text = value.get("S")
        if text is not None:
            total += len(text) if text.isascii() else len(text.encode())
        else:
            total += value_size(value)
    return total
