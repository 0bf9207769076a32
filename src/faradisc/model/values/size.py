"""Sizes in bytes, as the service counts them for limits and capacity units.

Sources: capacity.md section 2.1 (measured to the byte), capacity-consumption.md section 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.number import size_bytes as number_size


def text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def binary_size(encoded: str) -> int:
    return len(encoded) // 4 * 3 - encoded.count("=", -2)


def value_size(value: AttributeValue) -> int:
    """Returns the bytes of one canonical value, without its name."""
    text = value.get("S")
    if text is not None:
        return text_size(text)
    text = value.get("N")
    if text is not None:
        return number_size(text)
    texts: list[str] = []
    size = _members_size((value,), texts)
    return size + text_size("".join(texts)) if texts else size


def changed_item_size(new: Item, old: Item, old_size: int, written: Iterable[str]) -> int:
    """Returns the size of an item from that of the item before `written` attributes were changed.

    Measures only these attributes, before and after.
    """
    size = old_size
    for name in written:
        before, after = old.get(name), new.get(name)
        if before is after:
            continue
        if before is None:
            size += text_size(name)
        else:
            size -= value_size(before)
        if after is None:
            size -= text_size(name)
        else:
            size += value_size(after)
    return size


def item_size(item: Item) -> int:
    """Returns the bytes of an item: names and values, without the 100 bytes of storage overhead."""
    texts = [*item]
    size = _members_size(item.values(), texts)
    return size + text_size("".join(texts))


def _members_size(members: Iterable[AttributeValue], texts: list[str]) -> int:
    """Returns the bytes of the values of an item, a map or a list without names and strings.

    Names and strings, most of an item, are added to `texts`, so that the caller measures them as one text.
    """
    size = 0
    for member in members:
        text = member.get("S")
        if text is not None:
            texts.append(text)
            continue
        (kind,) = member
        content = member[kind]
        if kind == "N":
            size += number_size(content)
        elif kind == "M":
            texts += content
            size += 3 + len(content) + _members_size(content.values(), texts)
        elif kind == "L":
            size += 3 + len(content) + _members_size(content, texts)
        elif kind in ("BOOL", "NULL"):
            size += 1
        elif kind == "B":
            size += binary_size(content)
        elif kind == "NS":
            size += sum(map(number_size, content))
        else:
            size += sum(map(text_size if kind == "SS" else binary_size, content))
    return size
