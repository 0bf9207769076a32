"""Reads values: literals, parameters, and containers of both.

Values without parameters become canonical attribute values, once per text. Containers with parameters become
templates for the binder.

`root` is the path of a value in error texts: "root", "root.name", "root[1]". It begins anew in each attribute
of an item.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from faradisc.language.expressions.syntax import Constant
from faradisc.language.partiql import errors
from faradisc.language.partiql.lexer import PartiqlToken, location
from faradisc.language.partiql.syntax import ListOf, MapOf, Parameter, Template, Value, template_ref
from faradisc.language.partiql.tree import TreeNode
from faradisc.limits import NESTING_LEVELS_MAX
from faradisc.model.values import number
from faradisc.model.values.attribute import AttributeValue, sorted_set

_WORDS: dict[str, AttributeValue] = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}
_CONTAINERS = frozenset({"list", "struct", "bag"})
VALUES: Final = _CONTAINERS | {"string", "number", "word", "parameter", "ion"}
"""Kinds of nodes that are values, MISSING excepted."""


class Reading:
    """A statement while its tree is read: its text, and the templates found so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.templates: list[Template] = []

    def at(self, token: PartiqlToken) -> str:
        return location(self._text, token)

    def error(self, template: str, token: PartiqlToken, **fields: str) -> errors.StatementError:
        """Returns an error at a token; its text is {name} unless given."""
        return errors.StatementError(template.format(**{"name": token.text, "at": self.at(token), **fields}))

    # --- Values ---

    def value(self, node: TreeNode) -> Value:
        """Returns a value for a tree. Raises ValidationException."""
        template = self.template(node)
        if isinstance(template, Constant):
            return template
        self.templates.append(template)
        return template_ref(len(self.templates) - 1)

    def item(self, node: TreeNode) -> Template:
        """Returns the item of an INSERT. Raises ValidationException."""
        return self._map(node, None, 0) if node.kind == "struct" else self.template(node)

    def template(self, node: TreeNode, root: str = "root", depth: int = 0) -> Template:
        """Returns a value. Recurses once per container. Raises ValidationException."""
        kind, token = node.kind, node.token
        if kind == "string":
            return Constant({"S": token.text})
        if kind == "number":
            return Constant({"N": number.parse(token.text)})
        if kind == "parameter":
            return Parameter(int(token.text))
        if kind == "word" and token.upper in _WORDS:
            return Constant(_WORDS[token.upper])
        if kind not in _CONTAINERS:
            raise self.unsupported(node, root)
        if kind == "bag":
            return self._bag(node, root)
        if depth >= NESTING_LEVELS_MAX:
            raise errors.StatementError(f"{errors.NESTING_EXCEEDED} under {root}")
        return self._list(node, root, depth + 1) if kind == "list" else self._map(node, root, depth + 1)

    def unsupported(self, node: TreeNode, root: str = "root") -> errors.StatementError:
        """Returns the error for an expression in place of a value."""
        if node.kind == "ion":
            return self.error(
                errors.ION_LITERAL, node.token, name=_ion_type(node.token.text[1:-1]), root=root
            )
        return self.error(errors.UNSUPPORTED_VALUE, node.token, root=root)

    def _list(self, node: TreeNode, root: str, depth: int) -> Template:
        parts = [self.template(part, f"{root}[{at}]", depth) for at, part in enumerate(node.parts)]
        constants = _constants(parts)
        return ListOf(tuple(parts)) if constants is None else Constant({"L": constants})

    def _map(self, node: TreeNode, root: str | None, depth: int) -> Template:
        """Returns a map; `root` is None for an item."""
        members: dict[str, Template] = {}
        for member in node.parts:
            name, value = member.parts
            if name.kind != "string":
                # Assumed: names are string literals only; an identifier would be an attribute's value.
                raise self.unsupported(name, root or "root")
            if not name.token.text:
                raise errors.StatementError(errors.EMPTY_NAME)
            # Assumed: of two members with one name the later counts.
            inner = f"{root}.{name.token.text}" if root else "root"
            members[name.token.text] = self.template(value, inner, depth)
        constants = _constants(list(members.values()))
        if constants is None:
            return MapOf(tuple(members.items()))
        return Constant({"M": dict(zip(members, constants, strict=True))})

    def _bag(self, node: TreeNode, root: str) -> Template:
        """Returns a set of strings or numbers, which has no parameters."""
        if not node.parts:
            raise errors.StatementError(errors.EMPTY_BAG)
        kind = node.parts[0].kind
        for part in node.parts:
            if part.kind == kind in ("string", "number"):
                continue
            if part.kind == "parameter" and part is not node.parts[0]:
                raise self.error(errors.UNSUPPORTED_VALUE, part.token, name="Parameter", root=root)
            if kind != "number":
                raise self.error(errors.MIXED_BAG + " at {at}", part.token)
            if part.kind == "word" and part.token.upper == "NULL":
                raise errors.StatementError(errors.NULL_IN_BAG.format(root=root))
            raise errors.StatementError(errors.MIXED_BAG)
        written = [part.token.text for part in node.parts]
        members = list(map(number.parse, written)) if kind == "number" else written
        if len(set(members)) != len(members):
            text = errors.DUPLICATE_NUMBERS if kind == "number" else errors.DUPLICATE_STRINGS
            raise errors.StatementError(text.format(members=", ".join(written), root=root))
        kind = "NS" if kind == "number" else "SS"
        return Constant({kind: sorted_set(kind, members)})


def _constants(parts: Sequence[Template]) -> list[AttributeValue] | None:
    """Returns the values of the parts; None when one of them has a parameter."""
    constants = [part.value for part in parts if isinstance(part, Constant)]
    return constants if len(constants) == len(parts) else None


# --- Ion literals --------------------------------------------------------------------------------

_ION_TYPES: Final = (
    ("NULL", r"null(\.null)?"),
    ("BOOL", r"true|false|null\.bool"),
    ("TIMESTAMP", r"[0-9]{4}(T|-[0-9]{2}(T|-[0-9]{2})).*|null\.timestamp"),
    ("INT", r"-?(0[xXbB][0-9a-fA-F_]+|[0-9][0-9_]*)|null\.int"),
    ("FLOAT", r"-?[0-9][0-9_.]*[eE][+-]?[0-9]+|nan|[+-]inf|null\.float"),
    ("DECIMAL", r"-?[0-9][0-9_.]*([dD][+-]?[0-9]+)?|null\.decimal"),
    ("STRING", r"\".*|'''.*|null\.string"),
    ("CLOB", r"\{\{\s*[\"'].*|null\.clob"),
    ("BLOB", r"\{\{.*|null\.blob"),
    ("STRUCT", r"\{.*|null\.struct"),
    ("LIST", r"\[.*|null\.list"),
    ("SEXP", r"\(.*|null\.sexp"),
)
_ION_TYPE = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _ION_TYPES), re.DOTALL)
_ANNOTATIONS = re.compile(r"\s*(?:[A-Za-z_$][A-Za-z0-9_$]*\s*::\s*)*")


def _ion_type(text: str) -> str:
    """Returns the type of an Ion literal without its backticks.

    Assumed: what is none of these is a symbol; the service finds some texts malformed.
    """
    start = _ANNOTATIONS.match(text)
    assert start is not None
    found = _ION_TYPE.fullmatch(text[start.end() :].rstrip())
    return found.lastgroup or "SYMBOL" if found is not None else "SYMBOL"


# --- Numbers -------------------------------------------------------------------------------------


def check_numbers(root: TreeNode) -> None:
    """Raises StatementError for the first number of a statement that cannot be stored; WHERE is read first.

    An empty name beside the number is reported before it.
    """
    waiting: list[tuple[TreeNode, str | None]] = [(root, None)]
    while waiting:
        node, path = waiting.pop()
        if node.kind == "number":
            try:
                number.parse(node.token.text)
            except number.NumberError as error:
                raise errors.bad_number(error, node.token.text, path or "root") from None
        waiting += reversed(_parts_with_paths(node, path))


def _parts_with_paths(node: TreeNode, path: str | None) -> list[tuple[TreeNode, str | None]]:
    """Returns the parts of a node in the order of reading, with their paths inside a value."""
    if node.kind in ("update", "delete", "select"):
        return [(part, None) for part in sorted(node.parts, key=lambda part: part.kind != "where")]
    if node.kind == "insert" and node.parts[1].kind == "struct":
        return [(part, None) for member in _members(node.parts[1]) for part in member.parts]
    if node.kind == "list":
        return [(part, f"{path or 'root'}[{at}]") for at, part in enumerate(node.parts)]
    if node.kind == "struct":
        return [
            (part, f"{path or 'root'}.{member.parts[0].token.text}")
            for member in _members(node)
            for part in member.parts
        ]
    if node.kind == "op" and node.token.upper in ("IN", "NOT IN") and node.parts[1].kind in ("list", "bag"):
        return [(node.parts[0], None), *((part, None) for part in node.parts[1].parts)]
    return [(part, path) for part in node.parts]


def _members(struct: TreeNode) -> tuple[TreeNode, ...]:
    """Returns the members of a struct. Raises StatementError when one has no name."""
    if any(member.parts[0].kind == "string" and not member.parts[0].token.text for member in struct.parts):
        raise errors.StatementError(errors.EMPTY_NAME)
    return struct.parts
