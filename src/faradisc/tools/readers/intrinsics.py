"""Evaluates the functions of CloudFormation templates.

Parameters have their defaults or given values, pseudo parameters those of a local account. What needs a
deployment (an attribute of another resource, an export of another stack) is `UnknownIntrinsic`. The work for
one resource is limited: thirty lines of references that each name the line before twice stand for a billion
references.

Source: the CloudFormation template reference, "Intrinsic functions" and "Pseudo parameters".
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from faradisc.tools.readers.loops import PREFIX as LOOP
from faradisc.tools.readers.loops import expanded
from faradisc.tools.readers.seed import SeedError

WORK_MAX = 4_000_000
"""Characters read and written for one resource. An item has at most 400 KB."""
CALL_COST = 50
"""Characters that a reference or a function counts for."""
SHOWN_MAX = 60
"""Characters of an expression in an error text."""

SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
_TARGET_ID = ("ResourceId", "ScalableDimension", "ServiceNamespace")
PSEUDO = {
    "AWS::AccountId": "000000000000",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "faradisc",
    "AWS::StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/faradisc/0",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NotificationARNs": [],
}


class Absent:
    """AWS::NoValue: the member does not exist."""


class UnknownIntrinsic:
    """A value that needs a deployment."""

    def __init__(self, expression: str) -> None:
        self.expression = _shortened(expression)


class Budget:
    """The work left for one resource."""

    def __init__(self) -> None:
        self._left = WORK_MAX

    def reset(self) -> None:
        self._left = WORK_MAX

    def spend(self, amount: int, expression: str) -> None:
        """Raises SeedError when the budget is exhausted."""
        self._left -= amount
        if self._left < 0:
            raise SeedError(f"its references expand to too much text, found at {_shortened(expression)}")


ABSENT = Absent()
_REFERENCE = re.compile(r"\$\{(!?)([^}]+)\}")


class Template:
    """One template with the values of its parameters."""

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        self._mappings = _section(template, "Mappings")
        self._values: dict[str, Any] = dict(PSEUDO)
        self.budget = Budget()
        for name, declared in _section(template, "Parameters").items():
            default = declared.get("Default") if isinstance(declared, Mapping) else None
            value = parameters.get(name, default)
            if isinstance(value, str) and "List" in str(declared.get("Type", "")):
                value = [each.strip() for each in value.split(",")]
            self._values[name] = UnknownIntrinsic(f"the parameter {name}") if value is None else value
        self.budget.reset()
        self._conditions = {name: body for _, name, body in expanded(_section(template, "Conditions"), self)}
        self.origins: dict[str, str] = {}
        """The member of the template by the name of a resource: another one for those of Fn::ForEach."""
        self.resources: dict[str, Any] = {}
        for origin, name, body in expanded(_section(template, "Resources"), self):
            self.resources[name] = body
            self.origins[name] = origin

    def value(self, raw: Any) -> Any:
        """Evaluates a part of the template to plain values, ABSENT or Unknown.

        Raises SeedError for a mistake, or when the budget is exhausted.
        """
        if isinstance(raw, list):
            values = [self.value(each) for each in raw]
            return [each for each in values if each is not ABSENT]
        if not isinstance(raw, Mapping):
            return raw
        if any(str(name).startswith(LOOP) for name in raw):
            raw = {name: body for _, name, body in expanded(raw, self)}
        if len(raw) == 1:
            ((name, argument),) = ((str(name), each) for name, each in raw.items())
            if name == "Ref" or name.startswith("Fn::") or name == "Condition":
                return self._function(name, argument)
        found = {str(name): self.value(each) for name, each in raw.items()}
        return {name: each for name, each in found.items() if each is not ABSENT}

    def holds(self, condition: Any) -> bool:
        """Returns whether a condition, given by name or as an expression, is true."""
        if isinstance(condition, str):
            if condition not in self._conditions:
                raise SeedError(f"There is no condition {condition}.")
            return self._holds(self._conditions[condition], f"The condition {condition}")
        return self._holds(condition, "A condition")

    def _holds(self, condition: Any, called: str) -> bool:
        value = self.value(condition)
        if isinstance(value, UnknownIntrinsic):
            parameter = value.expression.removeprefix("the parameter ")
            remedy = f"; give --parameter {parameter}=VALUE" if parameter != value.expression else ""
            raise SeedError(f"{called} depends on {value.expression}, which has no value{remedy}.")
        if not isinstance(value, bool):
            raise SeedError(f"{called} is neither true nor false.")
        return value

    def _function(self, name: str, argument: Any) -> Any:
        self.budget.spend(CALL_COST, name)
        value = self._called(name, argument)
        if isinstance(value, str):
            self.budget.spend(len(value), name)
        return value

    def _called(self, name: str, argument: Any) -> Any:
        match name.removeprefix("Fn::"):
            case "Ref":
                return self._reference(str(argument))
            case "Sub":
                return self._substituted(argument)
            case "Join":
                return self._joined(argument)
            case "Select":
                return self._selected(argument)
            case "Split":
                delimiter, text = self._arguments(name, argument, 2)
                return text if isinstance(text, UnknownIntrinsic) else str(text).split(str(delimiter))
            case "If":
                condition, then, otherwise = _listed(name, argument, 3)
                return self.value(then if self.holds(condition) else otherwise)
            case "FindInMap":
                return self._found_in_map(argument)
            case "Condition":
                return self.holds(argument)
            case "Equals":
                left, right = self._arguments(name, argument, 2)
                if isinstance(left, UnknownIntrinsic) or isinstance(right, UnknownIntrinsic):
                    return left if isinstance(left, UnknownIntrinsic) else right
                return str(left) == str(right)
            case "Not":
                (condition,) = _listed(name, argument, 1)
                return not self.holds(condition)
            case "And" | "Or" if isinstance(argument, list):
                held = [self.holds(each) for each in argument]
                return all(held) if name == "Fn::And" else any(held)
            case "Length":
                values = self.value(argument)
                return values if isinstance(values, UnknownIntrinsic) else len(_list_of(name, values))
            case "ToJsonString":
                return self._as_json(argument)
            case "Base64":
                text = self.value(argument)
                return text if isinstance(text, UnknownIntrinsic) else b64encode(str(text).encode()).decode()
        return UnknownIntrinsic(f"{name} {argument}")

    def _as_json(self, argument: Any) -> Any:
        value = self.value(argument)
        try:
            return json.dumps(value, separators=(",", ":"))
        except TypeError:  # a part of it is not known
            return UnknownIntrinsic(f"Fn::ToJsonString {argument}")

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return ABSENT
        if name in self._values:
            return self._values[name]
        resource = self.resources.get(name)
        if isinstance(resource, Mapping):
            properties = resource.get("Properties")
            table_name = properties.get("TableName") if isinstance(properties, Mapping) else None
            if resource.get("Type") == SCALABLE_TARGET and isinstance(properties, Mapping):
                parts = [self.value(properties.get(each)) for each in _TARGET_ID]
                return next((each for each in parts if isinstance(each, UnknownIntrinsic)), None) or "|".join(
                    map(str, parts)
                )
            # The reference to a table is its name; a table without one is named like its resource here.
            if str(resource.get("Type", "")).startswith(("AWS::DynamoDB::", "AWS::Serverless::SimpleTable")):
                return self.value(table_name) if table_name is not None else name
            return UnknownIntrinsic(f"the resource {name}")
        raise SeedError(f"There is no parameter or resource {name}.")

    def _substituted(self, argument: Any) -> Any:
        text, names = argument if isinstance(argument, list) and len(argument) == 2 else (argument, {})
        if not isinstance(text, str) or not isinstance(names, Mapping):
            raise SeedError("Fn::Sub needs a text, or a text and a map.")
        values: dict[str, Any] = {}
        for escaped, name in _REFERENCE.findall(text):
            if escaped or name in values:
                continue
            if name in names:
                values[name] = self.value(names[name])
            else:
                values[name] = UnknownIntrinsic(name) if "." in name else self._reference(name)
            if isinstance(values[name], UnknownIntrinsic):
                return values[name]

        def shown(each: re.Match[str]) -> str:
            value = f"${{{each[2]}}}" if each[1] else str(values[each[2]])
            self.budget.spend(len(value), "Fn::Sub")  # before the result is built, which may have gigabytes
            return value

        return _REFERENCE.sub(shown, text)

    def _joined(self, argument: Any) -> Any:
        delimiter, values = self._arguments("Fn::Join", argument, 2)
        if isinstance(values, UnknownIntrinsic):
            return values
        values = _list_of("Fn::Join", values)
        unknown = next((each for each in values if isinstance(each, UnknownIntrinsic)), None)
        if unknown is not None:
            return unknown
        self.budget.spend(len(str(delimiter)) * len(values), "Fn::Join")  # the values are counted already
        return str(delimiter).join(map(str, values))

    def _selected(self, argument: Any) -> Any:
        index, values = self._arguments("Fn::Select", argument, 2)
        if isinstance(values, UnknownIntrinsic):
            return values
        try:
            return values[int(index)]
        except (ValueError, IndexError, TypeError) as error:
            raise SeedError("The index of Fn::Select is not in its list.") from error

    def _found_in_map(self, argument: Any) -> Any:
        default: Any = None
        if isinstance(argument, list) and len(argument) == 4 and isinstance(argument[3], Mapping):
            argument, default = argument[:3], argument[3].get("DefaultValue")
        map_name, first, second = self._arguments("Fn::FindInMap", argument, 3)
        for each in (map_name, first, second):
            if isinstance(each, UnknownIntrinsic):
                return each
        try:
            return self.value(self._mappings[map_name][first][second])
        except (KeyError, TypeError) as error:
            if default is not None:
                return self.value(default)
            raise SeedError(f"The mappings have no {map_name}.{first}.{second}.") from error

    def _arguments(self, name: str, argument: Any, count: int) -> list[Any]:
        return [self.value(each) for each in _listed(name, argument, count)]


def _listed(name: str, argument: Any, count: int) -> list[Any]:
    if not isinstance(argument, list) or len(argument) != count:
        raise SeedError(f"{name} needs a list of {count}.")
    return argument


def _list_of(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SeedError(f"{name} needs a list.")
    return value


def _shortened(expression: str) -> str:
    return expression if len(expression) <= SHOWN_MAX else expression[: SHOWN_MAX - 3] + "..."


def _section(template: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = template.get(name) or {}
    if not isinstance(section, Mapping):
        raise SeedError(f"{name} must be a map.")
    return section
