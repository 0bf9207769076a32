"""Parses values: literals, parameters, and containers of both.

    value = 'string' | ["+" | "-"] number | TRUE | FALSE | NULL | ?
          | "[" value, ... "]" | "{" 'name': value, ... "}" | "<<" value, ... ">>"

Values without parameters become canonical attribute values, once per text. Containers with parameters become
templates for the binder.

`root` is the path of a value in error texts: "root", "root.name", "root[1]". It begins anew in each attribute
of an item.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faradisc.errors import ValidationException
from faradisc.language.expressions.syntax import Constant
from faradisc.language.partiql import errors
from faradisc.language.partiql.cursor import Cursor
from faradisc.language.partiql.lexer import Kind
from faradisc.language.partiql.syntax import BagOf, ListOf, MapOf, Parameter, Template, Value, template_ref
from faradisc.model.values import number
from faradisc.model.values.attribute import ORDERED_TYPES, AttributeValue, type_of
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, NESTING_EXCEEDED, Wording, check_value

ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "||"})
_WORDS: dict[str, AttributeValue] = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}
_NOTHING = Constant({"NULL": True})
"""The value of a part with a noted error."""


def at_value(cursor: Cursor) -> bool:
    """Returns whether the current token begins a value."""
    token = cursor.token
    match token.kind:
        case Kind.STRING | Kind.NUMBER | Kind.PARAMETER:
            return True
        case Kind.WORD:
            return token.upper in _WORDS
        case Kind.SYMBOL:
            return token.upper in ("[", "{", "<<") or (
                token.upper in ("+", "-") and cursor.following.kind is Kind.NUMBER
            )
        case _:
            return False


def parse_value(cursor: Cursor) -> Value:
    """Parses a value for a tree. Raises StatementError."""
    template = parse_template(cursor, "root")
    if isinstance(template, Constant):
        return template
    cursor.templates.append(template)
    return template_ref(len(cursor.templates) - 1)


def parse_item(cursor: Cursor) -> Template:
    """Parses the item of an INSERT. Raises StatementError."""
    return _map(cursor, None, 1) if cursor.at("{") else parse_template(cursor, "root")


def parse_template(cursor: Cursor, root: str, depth: int = 0) -> Template:
    """Parses a value. Recurses once per container. Raises StatementError."""
    token = cursor.token
    if not at_value(cursor):
        return _parse_unsupported(cursor, root)
    if token.kind is Kind.SYMBOL:
        if token.upper in ("+", "-"):
            sign = cursor.advance().text
            return _number(cursor, sign + cursor.advance().text, root)
        if depth >= NESTED_CONTAINERS_MAX:
            raise ValidationException(NESTING_EXCEEDED)
        return _CONTAINERS[token.upper](cursor, root, depth + 1)
    cursor.advance()
    match token.kind:
        case Kind.STRING:
            return Constant({"S": token.text})
        case Kind.NUMBER:
            return _number(cursor, token.text, root)
        case Kind.PARAMETER:
            cursor.parameters += 1
            return Parameter(cursor.parameters - 1)
        case _:
            return Constant(_WORDS[token.upper])


def _parse_unsupported(cursor: Cursor, root: str) -> Template:
    """Notes and skips a call or a name in place of a value."""
    is_call = cursor.at_call()
    if not (is_call or cursor.at_identifier() or cursor.at("MISSING")):
        raise cursor.term_error()
    cursor.note_at(errors.UNSUPPORTED_VALUE, root=root)
    cursor.advance()
    if is_call:
        cursor.skip_arguments()
    return _NOTHING


def _number(cursor: Cursor, text: str, root: str) -> Template:
    try:
        return Constant({"N": number.parse(text)})
    except number.NumberError as error:
        if cursor.bad_number is None:
            cursor.bad_number = errors.bad_number(error, text, root)
        return _NOTHING


# --- Containers ----------------------------------------------------------------------------------


def _parse_part(cursor: Cursor, root: str, depth: int) -> Template:
    part = parse_template(cursor, root, depth)
    while cursor.token.upper in ARITHMETIC:
        cursor.note_at(errors.UNSUPPORTED_VALUE, root=root)
        cursor.advance()
        part = parse_template(cursor, root, depth)
    return part


def _list(cursor: Cursor, root: str, depth: int) -> Template:
    parts = cursor.enclosed("]", lambda index: _parse_part(cursor, f"{root}[{index}]", depth))
    constants = _constants(parts)
    return ListOf(tuple(parts)) if constants is None else Constant({"L": constants})


def _map(cursor: Cursor, root: str | None, depth: int) -> Template:
    """Parses a map; `root` is None for an item."""

    def parse_member(_: int) -> tuple[str, Template]:
        token = cursor.token
        if token.kind is not Kind.STRING:
            if not cursor.at_identifier():
                raise cursor.term_error()
            # Assumed: names are string literals only; an identifier would be an attribute's value.
            cursor.note_at(errors.UNSUPPORTED_VALUE, root=root or "root")
        cursor.advance()
        cursor.expect(":")
        return token.text, _parse_part(cursor, f"{root}.{token.text}" if root else "root", depth)

    # Assumed: of two members with one name the later counts.
    members = dict(cursor.enclosed("}", parse_member))
    constants = _constants(list(members.values()))
    if constants is None:
        return MapOf(tuple(members.items()))
    return Constant({"M": dict(zip(members, constants, strict=True))})


def _bag(cursor: Cursor, root: str, depth: int) -> Template:
    at = cursor.location()
    parts = cursor.enclosed(">>", lambda index: _parse_part(cursor, f"{root}[{index}]", depth))
    constants = _constants(parts)
    if constants is None:
        return BagOf(tuple(parts), at)
    try:
        return Constant(bag_of(constants, at))
    except ValidationException as error:
        if cursor.bad_number is None:
            cursor.note(error)
        return _NOTHING


_CONTAINERS: dict[str, Callable[[Cursor, str, int], Template]] = {"[": _list, "{": _map, "<<": _bag}


def _constants(parts: Sequence[Template]) -> list[AttributeValue] | None:
    """Returns the values of the parts; None when one of them has a parameter."""
    constants = [part.value for part in parts if isinstance(part, Constant)]
    return constants if len(constants) == len(parts) else None


def bag_of(members: list[AttributeValue], at: str) -> AttributeValue:
    """Returns a set of strings, numbers or binaries. Raises ValidationException."""
    if not members:
        raise errors.StatementError(errors.EMPTY_BAG)
    kind = type_of(members[0])
    if kind not in ORDERED_TYPES or any(kind not in member for member in members):
        raise errors.StatementError(errors.MIXED_BAG.format(at=at))
    bag: AttributeValue = {kind + "S": [member[kind] for member in members]}
    check_value(bag, Wording.OLD)
    return bag
