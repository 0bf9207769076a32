"""Parsing of what joins conditions: parentheses, NOT, AND and OR.

Operator precedence on an explicit stack, so `((((...` and `NOT NOT NOT ...` use no Python frames. NOT binds
tighter than AND, and AND tighter than OR. Shared by the expression language and PartiQL, which differ in
their tokens and in the tests between the connectives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from faradisc.language.expressions.syntax import Condition, Junction, Negation


class ConnectiveParser(ABC):
    """Parses one condition. Subclasses supply the tokens and the tests."""

    @abstractmethod
    def skip(self, symbol: str) -> bool:
        """Advances past a symbol; False when another token is current."""

    @abstractmethod
    def expect(self, symbol: str) -> None:
        """Advances past a symbol. Raises the syntax error of the language when another token is current."""

    @abstractmethod
    def skip_operator(self, keyword: str) -> bool:
        """Advances past NOT, AND or OR and counts it; False when another token is current."""

    @abstractmethod
    def test(self, pending: list[str]) -> tuple[Condition, bool]:
        """Parses one test. Returns it, and whether parentheses stand directly around it.

        Whether `(` opens an operand or a condition shows only at its `)`: `(a) = :v` and `(a = :v)`. So the
        test closes those that stand around its first operand, and removes them from `pending`.
        """

    @abstractmethod
    def note_redundant_parentheses(self) -> None:
        """Called for `((condition))`."""

    def condition(self) -> Condition:
        """Parses to the first token that cannot continue the condition."""
        pending: list[str] = []  # what is open: "(", NOT, AND, OR
        done: list[Condition] = []  # conditions that are complete
        while True:
            if self.skip_operator("NOT"):
                pending.append("NOT")
            elif self.skip("("):
                pending.append("(")
            else:
                condition, enclosed = self.test(pending)
                done.append(condition)
                if not self._close_groups(pending, done, enclosed):
                    return done[0]

    def _close_groups(self, pending: list[str], done: list[Condition], enclosed: bool) -> bool:
        """Closes what a complete condition completes. Returns False at the end of the whole condition."""
        while True:
            while pending and pending[-1] == "NOT":
                pending.pop()
                done[-1] = Negation(done[-1])
                enclosed = False
            if self.skip_operator("AND"):
                pending.append("AND")
                return True
            if self.skip_operator("OR"):
                _join("AND", pending, done)
                pending.append("OR")
                return True
            joined = _join("AND", pending, done)
            joined = _join("OR", pending, done) or joined
            if not pending:
                return False
            self.expect(")")
            pending.pop()
            if enclosed and not joined:
                self.note_redundant_parentheses()
            enclosed = True


def _join(operator: Literal["AND", "OR"], pending: list[str], done: list[Condition]) -> bool:
    """Makes one junction of the adjacent conditions that the operator joins; False if there is none."""
    count = 0
    while pending and pending[-1] == operator:
        pending.pop()
        count += 1
    if not count:
        return False
    parts = tuple(done[-count - 1 :])
    del done[-count - 1 :]
    done.append(Junction(operator, parts))
    return True
