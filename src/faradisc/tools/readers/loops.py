"""Fn::ForEach of CloudFormation: one member of a section for each value of a list.

    Fn::ForEach::Tables: [Name, [Orders, Items], {"${Name}Table": {"Type": "AWS::DynamoDB::Table", ...}}]

Source: the CloudFormation template reference, "Fn::ForEach" (AWS::LanguageExtensions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from faradisc.tools.readers.seed import SeedError

PREFIX = "Fn::ForEach::"
_NODE_COST = 20
"""Characters that a copied node counts for."""


class LoopTemplate(Protocol):
    """The template, which has the values of parameters and a limit of work."""

    budget: Any

    def value(self, raw: Any) -> Any: ...


def expanded(section: Mapping[str, Any], template: LoopTemplate) -> Iterator[tuple[str, str, Any]]:
    """Yields (member of the section, name, body), the names of a loop with the loop as their member.

    Raises SeedError for a loop that has no list of texts, and when the budget is exhausted.
    """
    for origin, body in section.items():
        if not str(origin).startswith(PREFIX):
            yield str(origin), str(origin), body
            continue
        if not isinstance(body, list) or len(body) != 3 or not isinstance(body[0], str):
            raise SeedError(f"{origin} needs an identifier, a list and a map.")
        identifier, collection, fragment = body
        values = template.value(collection)
        if not isinstance(values, list) or not all(isinstance(each, str | int | float) for each in values):
            raise SeedError(f"{origin} needs a list of texts that is known; use --parameter for a parameter.")
        if not isinstance(fragment, Mapping):
            raise SeedError(f"{origin} needs an identifier, a list and a map.")
        for value in values:
            copied = _replaced(fragment, identifier, str(value), template.budget)
            for _, name, inner in expanded(copied, template):
                yield str(origin), name, inner


def _replaced(raw: Any, identifier: str, value: str, budget: Any) -> Any:
    """Returns a copy with the identifier replaced: in a Ref, as ${...}, and as &{...} without punctuation."""
    if isinstance(raw, str):
        text = raw.replace(f"${{{identifier}}}", value)
        if "&{" in text:
            text = text.replace(f"&{{{identifier}}}", re.sub(r"[^A-Za-z0-9]", "", value))
        budget.spend(_NODE_COST + len(text), PREFIX)
        return text
    if isinstance(raw, Mapping):
        if len(raw) == 1 and raw.get("Ref") == identifier:
            return value
        return {
            _replaced(str(name), identifier, value, budget): _replaced(each, identifier, value, budget)
            for name, each in raw.items()
        }
    if isinstance(raw, list):
        return [_replaced(each, identifier, value, budget) for each in raw]
    return raw
