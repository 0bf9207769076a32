"""Elements of HTML and SVG. MarkupSafe escapes every text exactly once.

`element("td", "a < b")` escapes its text; `Markup` is taken as it is. Attributes are named as in Python:
`class_` for class, an underscore for a dash. One whose value is None or False is left out.

Names of tables and keys come from traces and are not trusted: nothing reaches a page except through this
module. Characters that XML forbids become U+FFFD, because a page is XML as well as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import markupsafe
from markupsafe import Markup

__all__ = ["Attribute", "Child", "Markup", "element", "escape", "join", "number"]

_WITHOUT_END_TAG = frozenset({"br", "col", "hr", "link", "meta", "circle", "line", "path", "rect"})
"""Written `<br/>`, which is HTML and XML, when they are empty."""
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")

Child = str | int | float | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def escape(text: str) -> Markup:
    return text if isinstance(text, Markup) else markupsafe.escape(_FORBIDDEN.sub("\ufffd", text))


def join(*children: Child) -> Markup:
    """Returns children one after the other. None is left out; `number` writes numbers."""
    return Markup("".join(_flat(children)))


def _flat(children: Iterable[Child]) -> Iterator[str]:
    for child in children:
        if isinstance(child, str):
            yield escape(child)
        elif isinstance(child, int | float):
            yield number(child)
        elif child is not None:
            yield from _flat(child)


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    inside = join(*children)
    if not inside and name in _WITHOUT_END_TAG:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


def _value(value: Attribute) -> str:
    if value is True:
        return ""
    return escape(value) if isinstance(value, str) else number(value or 0)


def number(value: float) -> str:
    """Returns a coordinate with at most one decimal, a tenth of a pixel."""
    if value == int(value):
        return str(int(value))
    written = f"{value:.1f}"
    return written.removesuffix(".0") if written != "-0.0" else "0"
