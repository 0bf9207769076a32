"""A place in the tokens of a statement, and what was found on the way there.

A text can be refused in three ways, told in this order whatever their order in the text:

1. it is not well formed: raised where it is found;
2. a number literal cannot be stored: noted, raised at the end of the text;
3. it is well formed and asks for something that is not supported: noted, kept in the statement, because
   a refusal that depends on the index read comes between (new-features.md section 10).
"""

from __future__ import annotations

from faradisc.errors import ValidationException
from faradisc.language.expressions import faults as expression_faults
from faradisc.language.partiql import faults
from faradisc.language.partiql.keywords import KEYWORDS
from faradisc.language.partiql.lexer import Kind, Token, location, tokens_of
from faradisc.language.partiql.syntax import Template
from faradisc.limits import EXPRESSION_OPERATORS_MAX

_NO_FUNCTIONS = frozenset(
    [
        "AND",
        "OR",
        "NOT",
        "IN",
        "IS",
        "BETWEEN",
        "LIKE",
        "SELECT",
        "FROM",
        "WHERE",
        "SET",
        "REMOVE",
        "VALUE",
        "VALUES",
        "BY",
    ]
)
"""Words that can stand before a parenthesis without being a call."""


class Cursor:
    def __init__(self, text: str) -> None:
        """Raises StatementError for unreadable text."""
        self._text = text
        self._tokens = tokens_of(text)
        self._index = 0
        self._operators = 0
        self.token = self._tokens[0]
        self.parameters = 0
        self.templates: list[Template] = []
        self.bad_number: faults.StatementError | None = None
        self.refusal: str | None = None

    # --- Tokens ---

    def advance(self) -> Token:
        """The current token; the next one becomes current. Not to be called at the end."""
        token = self.token
        self._index += 1
        self.token = self._tokens[self._index]
        return token

    @property
    def following(self) -> Token:
        """The token after the current one; the current one at the end."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    @property
    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def at(self, upper: str) -> bool:
        """Whether a word (in upper case) or symbol is the current token."""
        return self.token.upper == upper

    def skip(self, upper: str) -> bool:
        if self.token.upper == upper:
            self.advance()
            return True
        return False

    def expect(self, upper: str) -> None:
        """Raises StatementError."""
        if not self.skip(upper):
            raise faults.expected(upper)

    def at_call(self) -> bool:
        """Whether a function's name and its parenthesis come next."""
        token = self.token
        return token.kind is Kind.WORD and self.following.upper == "(" and token.upper not in _NO_FUNCTIONS

    def at_identifier(self) -> bool:
        token = self.token
        return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.upper not in KEYWORDS)

    def location(self, token: Token | None = None) -> str:
        return location(self._text, token if token is not None else self.token)

    def refuse_term(self) -> faults.StatementError:
        """The refusal of a token where a path, a value or a name should begin."""
        if self.token.kind is Kind.WORD and self.token.upper in KEYWORDS:
            return faults.malformed(faults.UNEXPECTED_KEYWORD)
        return faults.malformed(faults.UNEXPECTED_TERM)

    def skip_arguments(self) -> None:
        """Go behind the parentheses that open here. Raises StatementError when they do not close."""
        depth = 0
        while True:
            if self.token.kind is Kind.END:
                raise faults.malformed(faults.UNEXPECTED_TERM)
            symbol = self.advance().upper
            depth += (symbol == "(") - (symbol == ")")
            if not depth:
                return

    # --- What waits for the end of the text ---

    def note(self, refusal: ValidationException) -> None:
        if self.refusal is None:
            self.refusal = refusal.message

    def count_operator(self) -> None:
        """Bound the work and the depth of a statement as expressions are bound.

        Assumed: that statements have this limit; without one, 8,192 characters hold 2,000 negations.
        """
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS_MAX:
            raise expression_faults.TooManyOperators
