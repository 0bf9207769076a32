"""Tokens to trees: conditions, updates, projections.

Recursive descent, with two places where the grammar nests without end:

1. Conditions. Parentheses, NOT, AND and OR are kept on an explicit stack (operator precedence), so
   `((((...` and `NOT NOT NOT ...` cost no Python frames.
2. Function calls as operands. They recurse, two frames per level, at most `CALL_DEPTH_MAX`. The longest
   legal text nests 255 calls, so the bound refuses nothing that could be valid.

A text can be well formed and still be refused without looking at the request: redundant parentheses,
an unknown or misused function, a reserved word, a section given twice. These are noted while parsing
and raised at its end, because a syntax error anywhere comes first and because they have an order of
their own (`PRIORITY`), whatever their order in the text.

Trees are cached per distinct text. Long texts have a cache of their own, so that hostile ones cannot
fill memory: a tree is about twenty times the size of its text.

Sources: grammars, expressions.md sections 1 to 5; limits, limits.md section 3; order of faults,
errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, TypeVar

from faradisc.language.expressions import faults
from faradisc.language.expressions.binder import RESERVED_WORDS
from faradisc.language.expressions.faults import ExpressionError
from faradisc.language.expressions.lexer import Kind, Token, syntax_fault, tokens_of
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Call,
    Condition,
    Junction,
    NameRef,
    Negation,
    Operand,
    ParsedCondition,
    ParsedProjection,
    ParsedUpdate,
    Path,
    Predicate,
    ValueRef,
    Verb,
    operands_first,
)
from faradisc.limits import EXPRESSION_BYTES_MAX, EXPRESSION_OPERATORS_MAX

CALL_DEPTH_MAX = 256
LIST_INDEX_MAX = 2**31 - 1
"""Assumed: the largest list index is Java's largest int."""
_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_CONDITION_FUNCTIONS = frozenset(
    {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
)
_UPDATE_FUNCTIONS = frozenset({"if_not_exists", "list_append"})


class _Parser:
    """What the three grammars share: tokens, paths, operands, limits, noted faults."""

    KEYWORDS: ClassVar[frozenset[str]] = frozenset()
    """Words that cannot be identifiers in this grammar, upper case."""
    FUNCTIONS: ClassVar[frozenset[str]] = frozenset()
    PRIORITY: ClassVar[tuple[type[ExpressionError], ...]] = (faults.ReservedWord,)

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

    # Tokens

    def _advance(self) -> Token:
        token = self._token
        self._index += 1
        self._token = self._tokens[self._index]
        return token

    def _refuse(self) -> ExpressionError:
        return syntax_fault(self._text, self._tokens, self._index)

    def _at(self, symbol: str) -> bool:
        return self._token.kind is Kind.SYMBOL and self._token.text == symbol

    def _skip(self, symbol: str) -> bool:
        if self._at(symbol):
            self._advance()
            return True
        return False

    def _expect(self, symbol: str) -> None:
        if not self._skip(symbol):
            raise self._refuse()

    def _keyword(self) -> str | None:
        """The keyword at the current token, upper case."""
        if self._token.kind is not Kind.NAME:
            return None
        word = self._token.text.upper()
        return word if word in self.KEYWORDS else None

    def _expect_end(self) -> None:
        if self._token.kind is not Kind.END:
            raise self._refuse()

    # Faults that wait for the end, and limits

    def _note(self, fault: ExpressionError) -> None:
        self._noted.setdefault(type(fault), fault)

    def _raise_noted(self) -> None:
        for kind in self.PRIORITY:
            if kind in self._noted:
                raise self._noted[kind]

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS_MAX:
            raise faults.TooManyOperators

    # Paths and operands

    def _path(self) -> Path:
        steps = [self._step()]
        while True:
            if self._skip("."):
                steps.append(self._step())
            elif self._skip("["):
                if self._token.kind is not Kind.NUMBER:
                    raise self._refuse()
                steps.append(self._list_index(self._advance().text))
                self._expect("]")
            else:
                break
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
            raise self._refuse()
        if token.text.upper() in RESERVED_WORDS:
            self._note(faults.ReservedWord(word=token.text))
        self._advance()
        return token.text

    @staticmethod
    def _list_index(digits: str) -> int:
        significant = digits.lstrip("0")
        if len(significant) > 10 or int(significant or "0") > LIST_INDEX_MAX:
            raise faults.ListIndexTooLarge(index=digits)
        return int(significant or "0")

    def _operand(self) -> Operand:
        """A path, a value or a call, without parentheses around it."""
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

    def _call(self) -> Call:
        if self._call_depth >= CALL_DEPTH_MAX:
            raise self._refuse()
        name = self._advance().text
        self._expect("(")
        if not self._call_depth:
            self._count_operator()
        self._call_depth += 1
        operands: list[Operand] = []
        while True:
            # Not `_enclosed_operand`: that would be a third Python frame per nested call.
            opened = 0
            while self._skip("("):
                opened += 1
            operands.append(self._operand())
            self._close(opened)
            if not self._skip(","):
                break
        self._expect(")")
        self._call_depth -= 1
        if name not in self.FUNCTIONS:
            self._note(faults.UnknownFunction(name=name))
        self._note_misused(operands)
        return Call(name, tuple(operands))

    def _close(self, opened: int) -> None:
        for _ in range(opened):
            self._expect(")")
        if opened > 1:
            self._note(faults.RedundantParentheses())

    def _enclosed_operand(self) -> Operand:
        """An operand, perhaps in parentheses."""
        opened = 0
        while self._skip("("):
            opened += 1
        operand = self._operand()
        self._close(opened)
        return operand

    def _note_misused(self, operands: list[Operand]) -> None:
        """Hook: some functions of a grammar cannot be operands."""


class _ConditionParser(_Parser):
    KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
    FUNCTIONS = _CONDITION_FUNCTIONS
    PRIORITY = (
        faults.RedundantParentheses,
        faults.UnknownFunction,
        faults.MisusedFunction,
        faults.ReservedWord,
    )

    def parse(self) -> ParsedCondition:
        root = self._condition()
        self._raise_noted()
        return ParsedCondition(root, operands_first(root), tuple(self._paths), tuple(self._refs))

    def _condition(self) -> Condition:
        # `pending` holds what is open: "(", NOT, AND, OR. `done` holds conditions that are complete.
        pending: list[str] = []
        done: list[Condition] = []
        while True:
            if self._keyword() == "NOT":
                self._count_operator()
                self._advance()
                pending.append("NOT")
                continue
            if self._skip("("):
                pending.append("(")
                continue
            node, enclosed = self._term(pending)
            done.append(node)
            if not self._close_groups(pending, done, enclosed):
                return done[0]

    def _term(self, pending: list[str]) -> tuple[Condition, bool]:
        """A predicate, and whether parentheses stand directly around it.

        What is in parentheses shows only later: `(a) = :v` closes around an operand, `(a = :v)`
        around a condition. So closing ones are taken here as long as nothing but the operand was read.
        """
        operand = self._operand()
        enclosed = False
        while pending and pending[-1] == "(" and self._skip(")"):
            pending.pop()
            if enclosed:
                self._note(faults.RedundantParentheses())
            enclosed = True
        if self._token.kind is Kind.SYMBOL and self._token.text in _COMPARATORS:
            self._count_operator()
            operator = self._advance().text
            return self._predicate(operator, [operand, self._enclosed_operand()]), False
        keyword = self._keyword()
        if keyword == "BETWEEN":
            self._count_operator()
            self._advance()
            lower = self._enclosed_operand()
            if self._keyword() != "AND":
                raise self._refuse()
            self._advance()
            return self._predicate("BETWEEN", [operand, lower, self._enclosed_operand()]), False
        if keyword == "IN":
            self._count_operator()
            self._advance()
            self._expect("(")
            operands = [operand, self._enclosed_operand()]
            while self._skip(","):
                operands.append(self._enclosed_operand())
            self._expect(")")
            return self._predicate("IN", operands), False
        if isinstance(operand, Call):
            if operand.name == "size":
                self._note(faults.MisusedFunction(name="size"))
            return Predicate(operand.name, operand.operands), enclosed
        raise self._refuse()

    def _predicate(self, operator: str, operands: list[Operand]) -> Predicate:
        self._note_misused(operands)
        return Predicate(operator, tuple(operands))

    def _note_misused(self, operands: list[Operand]) -> None:
        for operand in operands:
            if isinstance(operand, Call) and operand.name != "size":
                self._note(faults.MisusedFunction(name=operand.name))

    def _close_groups(self, pending: list[str], done: list[Condition], enclosed: bool) -> bool:
        """After a complete condition: close what it completes. False at the end of the text."""
        while True:
            while pending and pending[-1] == "NOT":
                pending.pop()
                done[-1] = Negation(done[-1])
                enclosed = False
            keyword = self._keyword()
            if keyword == "AND":
                self._count_operator()
                self._advance()
                pending.append("AND")
                return True
            if keyword == "OR":
                self._count_operator()
                self._advance()
                self._join("AND", pending, done)
                pending.append("OR")
                return True
            joined = self._join("AND", pending, done)
            joined = self._join("OR", pending, done) or joined
            if not pending:
                self._expect_end()
                return False
            self._expect(")")
            pending.pop()
            if enclosed and not joined:
                self._note(faults.RedundantParentheses())
            enclosed = True

    @staticmethod
    def _join(operator: str, pending: list[str], done: list[Condition]) -> bool:
        """Make one junction of all adjacent conditions held together by the operator."""
        count = 0
        while pending and pending[-1] == operator:
            pending.pop()
            count += 1
        if not count:
            return False
        parts = tuple(done[-count - 1 :])
        del done[-count - 1 :]
        done.append(Junction("AND" if operator == "AND" else "OR", parts))
        return True


class _UpdateParser(_Parser):
    KEYWORDS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})
    FUNCTIONS = _UPDATE_FUNCTIONS
    PRIORITY = (faults.ReservedWord, faults.UnknownFunction, faults.RepeatedSection)

    def parse(self) -> ParsedUpdate:
        actions: list[Action] = []
        seen: set[Verb] = set()
        while True:
            verb = self._verb()
            if verb in seen:
                self._note(faults.RepeatedSection(section=verb))
            seen.add(verb)
            actions.append(self._action(verb))
            while self._skip(","):
                actions.append(self._action(verb))
            if self._token.kind is Kind.END:
                break
        self._raise_noted()
        return ParsedUpdate(tuple(actions), tuple(self._paths), tuple(self._refs))

    def _verb(self) -> Verb:
        match self._keyword():
            case "SET" | "REMOVE" | "ADD" | "DELETE" as verb:
                self._advance()
                return verb
            case _:
                raise self._refuse()

    def _action(self, verb: Verb) -> Action:
        path = self._path()
        if verb == "REMOVE":
            return Action(verb, path)
        if verb == "SET":
            self._expect("=")
            return Action(verb, path, self._value())
        if self._token.kind is not Kind.VALUE_REF:
            raise self._refuse()
        return Action(verb, path, self._operand())

    def _value(self) -> Operand:
        """operand | operand ("+"|"-") operand | "(" value ")" """
        opened = 0
        while self._skip("("):
            opened += 1
        value = self._operand()
        while True:
            if self._token.kind is Kind.SYMBOL and self._token.text in ("+", "-"):
                if isinstance(value, Arithmetic):
                    raise self._refuse()
                self._count_operator()
                operator: str = self._advance().text
                right = self._enclosed_operand()
                value = Arithmetic("+" if operator == "+" else "-", (value, right))
            elif opened:
                self._expect(")")
                opened -= 1
            else:
                return value


class _ProjectionParser(_Parser):
    def parse(self) -> ParsedProjection:
        self._path()
        while self._skip(","):
            self._path()
        self._expect_end()
        self._raise_noted()
        return ParsedProjection(tuple(self._paths), tuple(self._refs))


def _checked_size(text: str) -> str:
    if not text:
        raise faults.EmptyExpression
    # No character takes more than four bytes, so most texts need no encoding to be known small.
    if len(text) * 4 > EXPRESSION_BYTES_MAX:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > EXPRESSION_BYTES_MAX:
            raise faults.ExpressionTooLarge(size=size)
    return text


_SHORT_TEXT_MAX = 512
_SHORT_TEXTS_CACHED = 4096
_LONG_TEXTS_CACHED = 256
_Tree = TypeVar("_Tree")


def _cached_by_text(parse: Callable[[str], _Tree]) -> Callable[[str], _Tree]:
    def outcome(text: str) -> _Tree | ExpressionError:
        try:
            return parse(text)
        except ExpressionError as fault:
            return fault.with_traceback(None)  # which would keep every frame of the parser alive

    short = lru_cache(_SHORT_TEXTS_CACHED)(outcome)
    long = lru_cache(_LONG_TEXTS_CACHED)(outcome)

    def cached(text: str) -> _Tree:
        # Texts of any other size are refused before they are kept.
        found = short(text) if 0 < len(text) <= _SHORT_TEXT_MAX else long(_checked_size(text))
        if isinstance(found, ExpressionError):
            raise found.again()
        return found

    return cached


@_cached_by_text
def parse_condition(text: str) -> ParsedCondition:
    """The tree of a condition, filter or key condition. Raises ExpressionError."""
    return _ConditionParser(text).parse()


@_cached_by_text
def parse_update(text: str) -> ParsedUpdate:
    """The actions of an update expression. Raises ExpressionError."""
    return _UpdateParser(text).parse()


@_cached_by_text
def parse_projection(text: str) -> ParsedProjection:
    """The paths of a projection expression. Raises ExpressionError."""
    return _ProjectionParser(text).parse()
