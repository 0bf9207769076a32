"""The tree of a statement as written, and how the rules that walk it call each other.

A text of 8,192 characters nests deeper than Python calls itself. Rules that contain rules of any depth are
generators: they yield the rules inside and are sent what these return. `run` keeps them on its own stack.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from faradisc.language.partiql.lexer import PartiqlToken

T = TypeVar("T")
Rule: TypeAlias = Generator[Any, Any, T]


def run(rule: Rule[T]) -> T:
    """Returns what a rule returns, and runs the rules that it yields, on a stack without Python frames."""
    stack: list[Rule[Any]] = [rule]
    value: Any = None
    while stack:
        try:
            inner = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(inner)
            value = None
    result: T = value
    return result


class TreeNode(NamedTuple):
    """A part of a statement. `token` is where error texts say it stands."""

    kind: str
    """name string number word parameter ion; list bag struct member; path dot index star; call op is type
    case cast; select columns all alias from join where order sort clause; insert "insert several" update
    delete set assignment remove returning."""
    token: PartiqlToken
    parts: tuple[TreeNode, ...] = ()

    def part(self, kind: str) -> TreeNode | None:
        """Returns the first part of a kind."""
        return next((part for part in self.parts if part.kind == kind), None)
