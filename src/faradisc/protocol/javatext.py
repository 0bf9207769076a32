"""Values as the service's messages repeat them: the text of Java's `toString`, of limited length.

Structures show every member, absent ones as null: `KeySchemaElement(attributeName=a, keyType=HASH)`
(errors.md sections 3 and 11), maps are in the order of a HashMap. A value may be as large as a request, and
its text many times larger, so writing stops at a limit.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Iterable
from typing import Any, Final

from faradisc.limits import ECHO_CHARACTERS_MAX
from faradisc.model.values.java_order import MAP_BUCKETS_MIN, listed, text_hash
from faradisc.protocol.plan import ATTRIBUTE, ShapeNode

_ATTRIBUTE_LEVELS_MAX: Final = 40
"""Of nested AttributeValues; deeper values, which no item may hold, are left out. Assumed."""

_ATTRIBUTE_MEMBERS: Final = (
    *("S", "N", "B", "INT", "DECIMAL", "DOUBLE", "SS", "NS", "BS", "INTSET", "DECIMALSET", "DOUBLESET"),
    *("M", "L", "NULL", "BOOL"),
)
_ACTIONS: Final = frozenset(("ConditionCheck", "Put", "Delete", "Update", "Get"))
"""Shapes of actions of transactions, which have a member that is not in the service model. Assumed: its place
at the end."""


def java_text(node: ShapeNode, value: Any) -> str:
    """Returns the text of a value; takes O(the limit), whatever the size of the value."""
    writer = _Writer()
    writer.value(node, value)
    return "".join(writer.parts)[:ECHO_CHARACTERS_MAX]


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self._room = ECHO_CHARACTERS_MAX

    def value(self, node: ShapeNode, value: Any) -> None:
        if value is None:
            self._write("null")
        elif node.kind == ATTRIBUTE:
            self._attribute(value, 1)
        elif node.kind == "structure":
            self._structure(node, value)
        elif node.kind == "list":
            self._list(value, lambda element: self.value(_element(node), element))
        elif node.kind == "map":
            self._map(value, lambda element: self.value(_element(node), element))
        else:
            self._scalar(value)

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self._room -= len(text)

    def _scalar(self, value: Any) -> None:
        self._write(str(value) if type(value) is not bool else "true" if value else "false")

    def _structure(self, node: ShapeNode, value: dict[str, Any]) -> None:
        self._write(node.shape + "(")
        for count, (name, member) in enumerate(node.members.items()):
            self._write(f"{', ' if count else ''}{name[0].lower()}{name[1:]}=")
            self.value(member, value.get(name))
        self._write(", workloadProfileName=null)" if node.shape in _ACTIONS else ")")

    def _list(self, value: Iterable[Any], write_element: Callable[[Any], None]) -> None:
        self._write("[")
        for count, element in enumerate(value):
            if self._room < 0:
                return
            if count:
                self._write(", ")
            write_element(element)
        self._write("]")

    def _map(self, value: dict[str, Any], write_element: Callable[[Any], None]) -> None:
        self._write("{")
        for count, key in enumerate(listed(list(value), text_hash, MAP_BUCKETS_MIN)):
            if self._room < 0:
                return
            self._write(f"{', ' if count else ''}{key}=")
            write_element(value[key])
        self._write("}")

    def _attribute(self, value: dict[str, Any], level: int) -> None:
        if level > _ATTRIBUTE_LEVELS_MAX:
            return
        self._write("AttributeValue(")
        for count, kind in enumerate(_ATTRIBUTE_MEMBERS):
            self._write(f"{', ' if count else ''}{kind[0].lower()}{kind[1:]}=")
            self._content(kind, value.get(kind), level)
        self._write(")")

    def _content(self, kind: str, content: Any, level: int) -> None:
        if content is None:
            self._write("null")
        elif kind == "B":
            self._buffer(content)
        elif kind == "BS":
            self._list(content, self._buffer)
        elif kind == "M":
            self._map(content, lambda element: self._attribute(element, level + 1))
        elif kind == "L":
            self._list(content, lambda element: self._attribute(element, level + 1))
        elif kind in ("SS", "NS"):
            self._list(content, self._write)
        else:
            self._scalar(content)

    def _buffer(self, text: str) -> None:
        size = len(a2b_base64(text))
        self._write(f"java.nio.HeapByteBuffer[pos=0 lim={size} cap={size}]")


def _element(node: ShapeNode) -> ShapeNode:
    assert node.element is not None
    return node.element
