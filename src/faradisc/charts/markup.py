"""Elements of HTML and SVG as strings that are escaped exactly once.

`element("td", "a < b")` escapes its text; what is `Markup` already is taken as it is. Attributes are named
as in Python: `class_` for class, an underscore for a dash. One whose value is None or False is left out.

Names of tables and keys come from traces that anybody may have written, so nothing reaches a page on
another way than through here. Characters that XML forbids become U+FFFD: a page is XML as well as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

VOID = frozenset({"br", "col", "hr", "link", "meta"})
"""Elements of HTML without an end tag; written `<br/>`, which is XML too."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def escape(text: str) -> Markup:
    if isinstance(text, Markup):
        return text
    return Markup(_FORBIDDEN.sub("\ufffd", text).translate(_ESCAPES))


def join(*children: Child) -> Markup:
    """Children one after the other. None is nothing; numbers are written as `number` does."""
    return Markup("".join(_flat(children)))


def _flat(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            yield escape(child)
        elif isinstance(child, int | float):
            yield number(child)
        else:
            yield from _flat(child)


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """One element."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    inside = join(*children)
    if not inside and (name in VOID or name in _EMPTY_IN_SVG):
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


_EMPTY_IN_SVG = frozenset({"circle", "line", "path", "polygon", "polyline", "rect", "use"})


def _value(value: Attribute) -> str:
    if value is True:
        return ""
    return escape(value) if isinstance(value, str) else number(value or 0)


def number(value: float) -> str:
    """A coordinate: a tenth of a pixel is the finest, nothing superfluous is written."""
    if value == int(value):
        return str(int(value))
    written = f"{value:.1f}"
    return written.removesuffix(".0") if written != "-0.0" else "0"
