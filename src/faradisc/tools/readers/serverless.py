"""serverless.yml: its `resources` are a CloudFormation template, with variables of its own.

    ${self:custom.table}  ${opt:stage, 'dev'}  ${sls:stage}  ${param:x}  ${env:X}  ${file(tables.yml):Orders}

Values of `opt`, `param` and `env` are those that are given as parameters, or their defaults. What needs a
deployment (`cf`, `ssm`, `s3`) is not known; a table that depends on it is an error.

Source: the Serverless Framework's guide, "Variables" and "AWS - Resources".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from faradisc.tools.readers.intrinsics import Budget
from faradisc.tools.readers.seed import SeedError

_VARIABLE = re.compile(r"\$\{([A-Za-z][A-Za-z0-9]*(?:\([^${}()]*\))?:?[^${}]*)\}")
"""The innermost variables; those of Fn::Sub, such as ${AWS::Region}, stay as they are."""
_SOURCE = re.compile(r"[A-Za-z][\w-]*(\(|:(?!:))")
UNKNOWN = "Fn::ServerlessVariable"
"""Stands for a variable without value; a function that no template has, so it is not known there either."""
_FILE = re.compile(r"file\(([^()]+)\)(?::(.+))?")
_ROUNDS_MAX = 20
_MISSING = object()


def template_of(
    document: Mapping[str, Any], parameters: Mapping[str, str], file_of: Callable[[str], Any]
) -> dict[str, Any]:
    """Returns the template in a serverless.yml, its resources merged into one. Raises SeedError.

    file_of: returns the document of another file of the directory.
    """
    variables = _Variables(document, parameters, file_of)
    resources = variables.resolved(document.get("resources") or {})
    template: dict[str, Any] = {"Resources": {}}
    for part in resources if isinstance(resources, list) else [resources]:
        if not isinstance(part, Mapping):
            raise SeedError("resources must be a map, or a list of maps.")
        for name, section in part.items():
            if isinstance(section, Mapping):
                template[name] = {**template.get(name, {}), **section}
            else:
                template[name] = section
    return template


class _Variables:
    def __init__(
        self, document: Mapping[str, Any], parameters: Mapping[str, str], file_of: Callable[[str], Any]
    ) -> None:
        self._document = document
        self._parameters = parameters
        self._file_of = file_of
        self._budget = Budget()

    def resolved(self, raw: Any, depth: int = 0) -> Any:
        if depth > _ROUNDS_MAX:
            raise SeedError("its variables refer to each other in a circle.")
        if isinstance(raw, str):
            return self._text(raw, depth)
        if isinstance(raw, Mapping):
            return {self._name(name, depth): self.resolved(each, depth) for name, each in raw.items()}
        return [self.resolved(each, depth) for each in raw] if isinstance(raw, list) else raw

    def _name(self, name: Any, depth: int) -> Any:
        text = self._text(name, depth) if isinstance(name, str) else name
        return name if isinstance(text, Mapping) else text

    def _text(self, text: str, depth: int) -> Any:
        at = 0
        for _ in range(1000):
            found = next((m for m in _VARIABLE.finditer(text, at) if self._is_variable(m[1])), None)
            if found is None:
                return text
            value = self._value(found[1], depth)
            if isinstance(value, Mapping) and UNKNOWN in value:
                return value
            if found.span() == (0, len(text)):
                return value
            shown = _shown(value, found[1])
            self._budget.spend(len(text) + len(shown), found[0])
            text = text[: found.start()] + shown + text[found.end() :]
            at = 0
        raise SeedError("a text has too many variables.")

    def _is_variable(self, expression: str) -> bool:
        return _SOURCE.match(expression) is not None

    def _value(self, expression: str, depth: int) -> Any:
        """Returns the first alternative that has a value; UNKNOWN when none has."""
        for alternative in expression.split(","):
            text = alternative.strip()
            value = self._literal(text)
            if value is _MISSING:
                value = self._looked_up(text)
            if value is not _MISSING and value is not None:
                return self.resolved(value, depth + 1)
        return {UNKNOWN: f"${{{expression}}}"}

    def _literal(self, text: str) -> Any:
        if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
            return text[1:-1]
        if text in ("true", "false"):
            return text == "true"
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else _MISSING

    def _looked_up(self, text: str) -> Any:
        source, _, address = text.partition(":")
        if source == "self":
            return _member(self._document, address)
        if source in ("opt", "param", "env"):
            given = self._parameters.get(address)
            if given is None and (source, address) == ("opt", "region"):
                given = _member(self._document, "provider.region")
            return _MISSING if given is None else given
        if (source, address) == ("sls", "stage"):
            stage = _member(self._document, "provider.stage")
            return self._parameters.get("stage", "dev" if stage is _MISSING else stage)
        if source == "aws":
            return {"region": "us-east-1", "accountId": "000000000000", "partition": "aws"}.get(
                address, _MISSING
            )
        found = _FILE.fullmatch(text)
        if found is not None:
            return _member(self._file_of(found[1].strip()), found[2] or "")
        return _MISSING


def _member(document: Any, address: str) -> Any:
    for name in address.split(".") if address else ():
        if isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        elif isinstance(document, Mapping) and name in document:
            document = document[name]
        else:
            return _MISSING
    return document


def _shown(value: Any, expression: str) -> str:
    if isinstance(value, Mapping | list):
        raise SeedError(f"${{{expression}}} is no text, and stands within one.")
    return str(value).lower() if isinstance(value, bool) else str(value)
