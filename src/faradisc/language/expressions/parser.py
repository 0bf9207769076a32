"""Parses conditions, updates and projections: text to trees, cached per text.

Recursive descent. The grammar nests without end in two places:

1. Conditions: connectives.py parses them with an explicit stack.
2. Function calls as operands: they recurse, two frames per level, at most `CALL_DEPTH_MAX` deep. The longest
   legal text nests 255 calls, so the bound rejects nothing that could be valid.

Some well-formed texts are rejected before any request is looked at: redundant parentheses, an unknown or
misused function, a reserved word, a section given twice. The parser notes these and raises one of them at
the end of the text, because a syntax error anywhere comes first, and because they have an order of their own
(`PRIORITY`) that does not depend on the text.

Sources: grammars, expressions.md sections 1 to 5; limits, limits.md section 3; order of errors,
errors.md section 6.4.
"""

from __future__ import annotations

from typing import ClassVar

from faradisc.language.expressions import errors
from faradisc.language.expressions.binder import RESERVED_WORDS, cached_by_text
from faradisc.language.expressions.connectives import ConnectiveParser
from faradisc.language.expressions.errors import ExpressionError
from faradisc.language.expressions.lexer import Kind, Token, syntax_error, tokens_of
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Condition,
    FunctionCall,
    NameRef,
    Operand,
    Parsed,
    ParsedCondition,
    ParsedUpdate,
    Path,
    Predicate,
    ValueRef,
    Verb,
    operands_first,
)
from faradisc.limits import EXPRESSION_OPERATORS_MAX, NESTING_LEVELS_MAX

CALL_DEPTH_MAX = 256
LIST_INDEX_MAX = 2**31 - 1
"""Assumed: the largest list index is Java's largest int."""
_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_CONDITION_FUNCTIONS = frozenset(
    {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
)
_UPDATE_FUNCTIONS = frozenset({"if_not_exists", "list_append"})


class _Parser:
    """The common part of the three grammars: tokens, paths, operands, limits, noted errors."""

    KEYWORDS: ClassVar[frozenset[str]] = frozenset()
    """Words that cannot be identifiers in this grammar, upper case."""
    FUNCTIONS: ClassVar[frozenset[str]] = frozenset()
    PRIORITY: ClassVar[tuple[type[ExpressionError], ...]] = (errors.ReservedWord, errors.PathTooLong)

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._index = 0
        self._token = self._tokens[0]
        self._operators = 0
        self._call_depth = 0
        self._noted: dict[type[ExpressionError], ExpressionError] = {}
        self._paths: list[Path] = []
        self._refs: dict[str, None] = {}

    # --- Tokens ---

    def _advance(self) -> Token:
        token = self._token
        self._index += 1
        self._token = self._tokens[self._index]
        return token

    def _syntax_error(self) -> ExpressionError:
        return syntax_error(self._text, self._tokens, self._index)

    def _at(self, symbol: str) -> bool:
        return self._token.kind is Kind.SYMBOL and self._token.text == symbol

    def skip(self, symbol: str) -> bool:
        if self._at(symbol):
            self._advance()
            return True
        return False

    def expect(self, symbol: str) -> None:
        if not self.skip(symbol):
            raise self._syntax_error()

    def _keyword(self) -> str | None:
        """Returns the current token in upper case if it is a keyword."""
        if self._token.kind is not Kind.NAME:
            return None
        word = self._token.text.upper()
        return word if word in self.KEYWORDS else None

    def _expect_end(self) -> None:
        if self._token.kind is not Kind.END:
            raise self._syntax_error()

    # --- Noted errors, and limits ---

    def _note(self, error: ExpressionError) -> None:
        """Keeps an error for the end of the text, the first of each kind."""
        self._noted.setdefault(type(error), error)

    def _raise_noted(self) -> None:
        """Raises the noted error that comes first in PRIORITY."""
        for kind in self.PRIORITY:
            if kind in self._noted:
                raise self._noted[kind]

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS_MAX:
            raise errors.TooManyOperators

    # --- Paths and operands ---

    def _path(self) -> Path:
        steps = [self._step()]
        while True:
            if self.skip("."):
                steps.append(self._step())
            elif self.skip("["):
                if self._token.kind is not Kind.NUMBER:
                    raise self._syntax_error()
                steps.append(self._list_index(self._advance().text))
                self.expect("]")
            else:
                break
        if len(steps) - 1 > NESTING_LEVELS_MAX:
            self._note(errors.PathTooLong(levels=len(steps) - 1))
        path = Path(tuple(steps))
        self._paths.append(path)
        return path

    def _step(self) -> str | int | NameRef:
        token = self._token
        if token.kind is Kind.NAME_REF:
            self._refs[token.text] = None
            self._advance()
            return NameRef(token.text)
        if token.kind is not Kind.NAME or self._keyword():
            raise self._syntax_error()
        if token.text.upper() in RESERVED_WORDS:
            self._note(errors.ReservedWord(word=token.text))
        self._advance()
        return token.text

    @staticmethod
    def _list_index(digits: str) -> int:
        if len(digits) > 10 or int(digits) > LIST_INDEX_MAX:
            raise errors.ListIndexTooLarge(index=digits)
        return int(digits)

    def _operand(self) -> Operand:
        """Parses a path, a value or a call, without parentheses around it."""
        token = self._token
        if token.kind is Kind.VALUE_REF:
            self._refs[token.text] = None
            self._advance()
            return ValueRef(token.text)
        if token.kind is Kind.NAME and not self._keyword():
            following = self._tokens[self._index + 1]
            if following.kind is Kind.SYMBOL and following.text == "(":
                return self._call()
        return self._path()

    def _call(self) -> FunctionCall:
        if self._call_depth >= CALL_DEPTH_MAX:
            raise self._syntax_error()
        name = self._advance().text
        self.expect("(")
        if not self._call_depth:
            self._count_operator()
        self._call_depth += 1
        operands: list[Operand] = []
        while True:
            # `_enclosed_operand` would be a third Python frame per nested call.
            opened = self._open()
            operands.append(self._operand())
            self._close(opened)
            if not self.skip(","):
                break
        self.expect(")")
        self._call_depth -= 1
        if name not in self.FUNCTIONS:
            self._note(self._unknown_function(name))
        self._note_misused(operands)
        return FunctionCall(name, tuple(operands))

    @staticmethod
    def _unknown_function(name: str) -> ExpressionError:
        return errors.UnknownFunction(name=name)

    def _open(self) -> int:
        """Advances past all parentheses that open here. Returns their number."""
        opened = 0
        while self.skip("("):
            opened += 1
        return opened

    def _close(self, opened: int) -> None:
        for _ in range(opened):
            self.expect(")")
        if opened > 1:
            self._note(errors.RedundantParentheses())

    def _enclosed_operand(self) -> Operand:
        """Parses an operand, with or without parentheses around it."""
        opened = self._open()
        operand = self._operand()
        self._close(opened)
        return operand

    def _note_misused(self, operands: list[Operand]) -> None:
        """Notes functions that cannot be operands in this grammar."""


class _ConditionParser(_Parser, ConnectiveParser):
    KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
    FUNCTIONS = _CONDITION_FUNCTIONS
    PRIORITY = (
        errors.RedundantParentheses,
        errors.UnknownFunction,
        errors.FunctionOfUpdates,
        errors.MisusedFunction,
        errors.ReservedWord,
        errors.PathTooLong,
    )

    @staticmethod
    def _unknown_function(name: str) -> ExpressionError:
        kind = errors.FunctionOfUpdates if name in _UPDATE_FUNCTIONS else errors.UnknownFunction
        return kind(name=name)

    def parse(self) -> ParsedCondition:
        root = self.condition()
        self._expect_end()
        self._raise_noted()
        return ParsedCondition(tuple(self._paths), tuple(self._refs), root, operands_first(root))

    def skip_operator(self, keyword: str) -> bool:
        if self._keyword() != keyword:
            return False
        self._count_operator()
        self._advance()
        return True

    def note_redundant_parentheses(self) -> None:
        self._note(errors.RedundantParentheses())

    def test(self, pending: list[str]) -> tuple[Condition, bool]:
        operand = self._operand()
        enclosed = False
        while pending and pending[-1] == "(" and self.skip(")"):
            pending.pop()
            if enclosed:
                self._note(errors.RedundantParentheses())
            enclosed = True
        if self._token.kind is Kind.SYMBOL and self._token.text in _COMPARATORS:
            self._count_operator()
            operator = self._advance().text
            return self._predicate(operator, [operand, self._enclosed_operand()]), False
        if self.skip_operator("BETWEEN"):
            lower = self._enclosed_operand()
            if self._keyword() != "AND":
                raise self._syntax_error()
            self._advance()
            return self._predicate("BETWEEN", [operand, lower, self._enclosed_operand()]), False
        if self.skip_operator("IN"):
            self.expect("(")
            operands = [operand, self._enclosed_operand()]
            while self.skip(","):
                operands.append(self._enclosed_operand())
            self.expect(")")
            return self._predicate("IN", operands), False
        if isinstance(operand, FunctionCall):
            if operand.name == "size":
                self._note(errors.MisusedFunction(name="size"))
            return Predicate(operand.name, operand.operands), enclosed
        raise self._syntax_error()

    def _predicate(self, operator: str, operands: list[Operand]) -> Predicate:
        self._note_misused(operands)
        return Predicate(operator, tuple(operands))

    def _note_misused(self, operands: list[Operand]) -> None:
        for operand in operands:
            if isinstance(operand, FunctionCall) and operand.name != "size":
                self._note(errors.MisusedFunction(name=operand.name))


class _UpdateParser(_Parser):
    KEYWORDS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})
    FUNCTIONS = _UPDATE_FUNCTIONS
    PRIORITY = (errors.ReservedWord, errors.UnknownFunction, errors.RepeatedSection, errors.PathTooLong)

    def parse(self) -> ParsedUpdate:
        actions: list[Action] = []
        seen: set[Verb] = set()
        while True:
            verb = self._verb()
            if verb in seen:
                self._note(errors.RepeatedSection(section=verb))
            seen.add(verb)
            actions.append(self._action(verb))
            while self.skip(","):
                actions.append(self._action(verb))
            if self._token.kind is Kind.END:
                break
        self._raise_noted()
        return ParsedUpdate(tuple(self._paths), tuple(self._refs), tuple(actions))

    def _verb(self) -> Verb:
        match self._keyword():
            case "SET" | "REMOVE" | "ADD" | "DELETE" as verb:
                self._advance()
                return verb
            case _:
                raise self._syntax_error()

    def _action(self, verb: Verb) -> Action:
        path = self._path()
        if verb == "REMOVE":
            return Action(verb, path)
        if verb == "SET":
            self.expect("=")
            return Action(verb, path, self._value())
        if self._token.kind is not Kind.VALUE_REF:
            raise self._syntax_error()
        return Action(verb, path, self._operand())

    def _value(self) -> Operand:
        """Parses operand | operand ("+"|"-") operand | "(" value ")"."""
        opened = self._open()
        value = self._operand()
        while True:
            if self._token.kind is Kind.SYMBOL and self._token.text in ("+", "-"):
                if isinstance(value, Arithmetic):
                    raise self._syntax_error()
                self._count_operator()
                operator: str = self._advance().text
                right = self._enclosed_operand()
                value = Arithmetic("+" if operator == "+" else "-", (value, right))
            elif opened:
                self.expect(")")
                opened -= 1
            else:
                return value


class _ProjectionParser(_Parser):
    def parse(self) -> Parsed:
        self._path()
        while self.skip(","):
            self._path()
        self._expect_end()
        self._raise_noted()
        return Parsed(tuple(self._paths), tuple(self._refs))


@cached_by_text
def parse_condition(text: str) -> ParsedCondition:
    """Returns the tree of a condition, filter or key condition. Raises ExpressionError."""
    return _ConditionParser(text).parse()


@cached_by_text
def parse_update(text: str) -> ParsedUpdate:
    """Returns the actions of an update expression. Raises ExpressionError."""
    return _UpdateParser(text).parse()


@cached_by_text
def parse_projection(text: str) -> Parsed:
    """Returns the paths of a projection expression. Raises ExpressionError."""
    return _ProjectionParser(text).parse()
