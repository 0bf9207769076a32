"""A position in the tokens of a statement, and the errors noted so far.

A text has three kinds of errors, reported in this order wherever they stand in the text:

1. it is not well formed: raised where it is found;
2. a number literal cannot be stored: noted, raised at the end of the text;
3. a well-formed part is not supported: noted and kept in the statement, because an error that depends on
   the index comes between (new-features.md section 10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from faradisc.errors import ValidationException
from faradisc.language.expressions import errors as expression_errors
from faradisc.language.partiql import errors
from faradisc.language.partiql.keywords import KEYWORDS
from faradisc.language.partiql.lexer import Kind, Token, location, tokens_of
from faradisc.language.partiql.syntax import Template
from faradisc.limits import EXPRESSION_OPERATORS_MAX

T = TypeVar("T")

_WORDS = "AND OR NOT IN IS BETWEEN LIKE SELECT FROM WHERE SET REMOVE VALUE VALUES BY"
_NO_FUNCTIONS = frozenset(_WORDS.split())
"""Words that can stand before a parenthesis without being a call."""


class Cursor:
    def __init__(self, text: str) -> None:
        """Raises StatementError for a text that is no sequence of tokens."""
        self._text = text
        self._tokens = tokens_of(text)
        self._index = 0
        self._operators = 0
        self.token = self._tokens[0]
        self.parameters = 0
        self.templates: list[Template] = []
        self.bad_number: errors.StatementError | None = None
        self.unsupported: str | None = None
        """Error text of the first unsupported part."""

    # --- Tokens ---

    def advance(self) -> Token:
        """Returns the current token and makes the next one current. Requires: not at the end."""
        token = self.token
        self._index += 1
        self.token = self._tokens[self._index]
        return token

    @property
    def following(self) -> Token:
        """Returns the token after the current one; at the end, the current one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    @property
    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def at(self, upper: str) -> bool:
        """Returns whether the current token is a word (in upper case) or symbol."""
        return self.token.upper == upper

    def skip(self, upper: str) -> bool:
        """Advances past a word or symbol; False when another token is current."""
        if self.token.upper == upper:
            self.advance()
            return True
        return False

    def expect(self, upper: str) -> None:
        """Advances past a word or symbol. Raises StatementError when another token is current."""
        if not self.skip(upper):
            raise errors.expected(upper)

    def at_call(self) -> bool:
        """Returns whether a function's name and a parenthesis come next."""
        token = self.token
        return token.kind is Kind.WORD and self.following.upper == "(" and token.upper not in _NO_FUNCTIONS

    def at_identifier(self) -> bool:
        token = self.token
        return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.upper not in KEYWORDS)

    def location(self, token: Token | None = None) -> str:
        return location(self._text, token if token is not None else self.token)

    def term_error(self) -> errors.StatementError:
        """Returns the error for the current token where a path, a value or a name should begin."""
        if self.token.kind is Kind.WORD and self.token.upper in KEYWORDS:
            return errors.malformed(errors.UNEXPECTED_KEYWORD)
        return errors.malformed(errors.UNEXPECTED_TERM)

    def skip_arguments(self) -> None:
        """Advances past the parentheses that open here. Raises StatementError when they do not close."""
        depth = 0
        while True:
            if self.token.kind is Kind.END:
                raise errors.malformed(errors.UNEXPECTED_TERM)
            symbol = self.advance().upper
            depth += (symbol == "(") - (symbol == ")")
            if not depth:
                return

    # --- Lists ---

    def several(self, parse: Callable[[], T]) -> list[T]:
        """Parses one or more elements with commas between them."""
        elements = [parse()]
        while self.skip(","):
            elements.append(parse())
        return elements

    def enclosed(self, close: str, parse: Callable[[int], T]) -> list[T]:
        """Parses the elements between the current token, an opening symbol, and its closing one.

        `parse` gets the number of the element.
        """
        self.advance()
        elements: list[T] = []
        if not self.at(close):
            elements.append(parse(0))
            while self.skip(","):
                elements.append(parse(len(elements)))
        self.expect(close)
        return elements

    def open_parentheses(self) -> int:
        """Advances past all parentheses that open here. Returns their number."""
        opened = 0
        while self.skip("("):
            opened += 1
        return opened

    # --- Noted errors, and limits ---

    def note(self, error: ValidationException) -> None:
        """Keeps the text of an error for the end, if it is the first."""
        if self.unsupported is None:
            self.unsupported = error.message

    def note_at(self, template: str, token: Token | None = None, **fields: str) -> None:
        """Notes an error at a token, the current one unless given; its text is {name} unless given."""
        token = token or self.token
        fields = {"name": token.text, "at": self.location(token), **fields}
        self.note(errors.StatementError(template.format(**fields)))

    def count_operator(self) -> None:
        """Counts an operator towards the limit that expressions have. Raises TooManyOperators.

        Assumed: that statements have this limit; without one, 8,192 characters can have 2,000 negations.
        """
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS_MAX:
            raise expression_errors.TooManyOperators
