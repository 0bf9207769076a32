"""Evaluates expressions of Terraform whose values are in the configuration.

Strings with `${...}`, variables with a default or a given value, locals, count.index, each.key, attributes
of other resources, conditionals, comparisons, lists, objects, and the functions of `_FUNCTIONS`. Everything
else, such as data sources, is `Unresolved`.

Source: Terraform's language documentation, "Expressions" and "Functions".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

TEXT_MAX = 1_000_000
"""Characters of a text: locals that each name another twice stand for a billion characters."""
_TOKEN = re.compile(
    r'\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_][\w-]*)|(==|!=|&&|\|\||=>|[-!?:.,()\[\]{}=])|("))'
)  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


class Unresolved(Exception):
    """An expression has no value without Terraform; the text is its beginning."""


def boolean(value: Any) -> bool | None:
    """Returns a value as Terraform converts it to a boolean; None for one that is none."""
    if isinstance(value, bool):
        return value
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value))


def _merged(*maps: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for one in maps for name, each in one.items()}


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "toset": lambda values: list(dict.fromkeys(values)),
    "tolist": list,
    "tomap": dict,
    "tostring": lambda value: shown(value),  # noqa: PLW0108 - it is defined below
    "tonumber": lambda text: json.loads(text) if isinstance(text, str) else text,
    "tobool": boolean,
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "concat": lambda *lists: [each for one in lists for each in one],
    "merge": _merged,
    "keys": sorted,
    "values": lambda given: [given[name] for name in sorted(given)],
    "length": len,
    "join": lambda separator, values: separator.join(map(shown, values)),
    "jsonencode": lambda value: json.dumps(value, separators=(",", ":")),
}


def evaluated(raw: Any, reference: Callable[[list[str]], Any]) -> Any:
    """Returns a value with all expressions in it evaluated. reference: returns the value of a reference, such
    as ["var", "stage"]. Raises Unresolved."""
    if isinstance(raw, str):
        return _template(raw, reference)
    if isinstance(raw, Mapping):
        return {_name(name, reference): evaluated(each, reference) for name, each in raw.items()}
    return [evaluated(each, reference) for each in raw] if isinstance(raw, list) else raw


def _name(name: Any, reference: Callable[[list[str]], Any]) -> str:
    return shown(_template(str(name), reference))


def shown(value: Any) -> str:
    """Returns a value as a template shows it. Raises Unresolved for a list or a map."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise Unresolved(json.dumps(value)[:60])


def _template(text: str, reference: Callable[[list[str]], Any]) -> Any:
    if re.search(r"(?<!%)%\{", text):
        raise Unresolved(text[text.index("%{") :][:60])
    parts: list[Any] = []
    at = 0
    while (begin := text.find("${", at)) >= 0:
        if begin and text[begin - 1] == "$":
            parts.append(text[at : begin - 1] + "${")
            at = begin + 2
            continue
        parts.append(text[at:begin])
        parser = _Parser(text, begin + 2, reference)
        try:
            value = parser.conditional()
            parser.expect("}")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise Unresolved(text[begin : begin + 60]) from None
        except Unresolved:
            raise Unresolved(text[begin : begin + 60]) from None
        if begin == 0 and parser.at == len(text):
            return value
        parts.append(shown(value))
        at = parser.at
        if sum(map(len, parts)) > TEXT_MAX:
            raise Unresolved(text[:60])
    if not parts:
        return text.replace("%%{", "%{")
    return ("".join(parts) + text[at:]).replace("%%{", "%{")


class _Parser:
    """Evaluates one expression while it is read. Every method raises Unresolved or ValueError for what is not
    understood."""

    def __init__(self, text: str, at: int, reference: Callable[[list[str]], Any]) -> None:
        self._text = text
        self.at = at
        self._reference = reference

    def _peek(self) -> tuple[str, str, int]:
        """Returns (kind, text, end) of the next token."""
        found = _TOKEN.match(self._text, self.at)
        if found is None:
            raise ValueError(self._text[self.at :][:60])
        kind = ("", "number", "name", "sign", "string")[found.lastindex or 0]
        return kind, found[found.lastindex or 0], found.end()

    def _take(self, sign: str) -> bool:
        kind, text, end = self._peek()
        if kind == "sign" and text == sign:
            self.at = end
            return True
        return False

    def expect(self, sign: str) -> None:
        if not self._take(sign):
            raise ValueError(sign)

    def conditional(self) -> Any:
        value = self._either()
        if not self._take("?"):
            return value
        then = self._guarded()
        self.expect(":")
        otherwise = self._guarded()
        chosen = then if boolean(value) else otherwise
        if isinstance(chosen, Unresolved):
            raise chosen
        return chosen

    def _guarded(self) -> Any:
        """Returns a branch, or its error: a branch that is not taken needs no value."""
        begin = self.at
        try:
            return self.conditional()
        except Unresolved as error:
            if self.at == begin:
                raise
            return error

    def _either(self) -> Any:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = bool(boolean(value) or boolean(other))
        return value

    def _both(self) -> Any:
        value = self._comparison()
        while self._take("&&"):
            other = self._comparison()
            value = bool(boolean(value) and boolean(other))
        return value

    def _comparison(self) -> Any:
        value = self._unary()
        for sign in ("==", "!="):
            if self._take(sign):
                return (value == self._unary()) is (sign == "==")
        return value

    def _unary(self) -> Any:
        if self._take("!"):
            return not boolean(self._unary())
        if self._take("-"):
            return -self._unary()
        return self._indexed()

    def _indexed(self) -> Any:
        kind, text, end = self._peek()
        if kind == "name" and text not in ("true", "false", "null"):
            self.at = end
            value = self._called(text) if self._take("(") else self._referred(text)
        else:
            value = self._primary()
        while True:
            if self._take("["):
                value = value[self.conditional()]
                self.expect("]")
            elif self._take("."):
                _, name, self.at = self._peek()
                value = value[int(name) if name.isdigit() else name]
            else:
                return value

    def _referred(self, first: str) -> Any:
        path = [first]
        while self._take("."):
            _, name, self.at = self._peek()
            path.append(name)
        return self._reference(path)

    def _called(self, name: str) -> Any:
        arguments = self._listed(")")
        if name not in _FUNCTIONS:
            raise Unresolved(name)
        return _FUNCTIONS[name](*arguments)

    def _listed(self, end: str) -> list[Any]:
        values: list[Any] = []
        while not self._take(end):
            values.append(self.conditional())
            if not self._take(","):
                self.expect(end)
                break
        return values

    def _primary(self) -> Any:
        kind, text, end = self._peek()
        self.at = end
        if kind == "number":
            return float(text) if "." in text else int(text)
        if kind == "string":
            return self._string()
        if kind == "name":
            return {"true": True, "false": False, "null": None}[text]
        if text == "(":
            value = self.conditional()
            self.expect(")")
            return value
        if text == "[":
            return self._listed("]")
        if text == "{":
            return self._object()
        raise ValueError(text)

    def _object(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while not self._take("}"):
            kind, text, end = self._peek()
            if kind == "name":
                self.at, name = end, text
            else:
                name = shown(self._primary())
            if not self._take("=") and not self._take(":"):
                raise ValueError(name)
            made[name] = self.conditional()
            self._take(",")
        return made

    def _string(self) -> str:
        """Returns a string after its opening quote, with its own expressions evaluated."""
        begin, depth = self.at, 0
        while self.at < len(self._text):
            character = self._text[self.at]
            if character == "\\":
                self.at += 2
                continue
            if self._text.startswith("${", self.at):
                depth += 1
            elif character == "}" and depth:
                depth -= 1
            elif character == '"' and not depth:
                break
            self.at += 1
        inner = self._text[begin : self.at]
        self.at += 1
        plain = re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], each[0]), inner)
        return shown(_template(plain, self._reference))
