"""Nested stacks: a template that another names by a path beside it.

Source: the CloudFormation template reference, AWS::CloudFormation::Stack and AWS::Serverless::Application.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from faradisc.tools.readers.intrinsics import UnknownIntrinsic
from faradisc.tools.readers.seed import Location, Seed, SeedError

STACKS = {"AWS::CloudFormation::Stack": "TemplateURL", "AWS::Serverless::Application": "Location"}
"""The property that names the template, by the type of the resource."""
DEPTH_MAX = 5

Nested = Callable[[str, Any, Any, Location], Seed]
"""Reads the template of a stack: its name, what names the template, its Parameters, its location."""


class NestedStacks:
    """Reads the stacks that are nested in the templates of one directory."""

    def __init__(self, root: Path, read: Callable[[Path, Mapping[str, str], int], Seed]) -> None:
        """read: reads a template with its parameters and the depth at which it is nested."""
        self._root = root.resolve()
        self._read = read
        self._active: list[Path] = []
        self.circular: set[Path] = set()
        """What is nested in itself: there is no outer template, so it is read as one of its own too."""
        self.paths: set[Path] = set()
        """What was read as a nested stack, so that it is not read as one of its own."""

    def of(self, template: Path, depth: int) -> Nested:
        def read(name: str, where: Any, parameters: Any, location: Location) -> Seed:
            return self._nested(template, (name, where), parameters, location, depth)

        return read

    def _nested(
        self, template: Path, stack: tuple[str, Any], parameters: Any, location: Location, depth: int
    ) -> Seed:
        name, where = stack
        if not isinstance(where, str) or "://" in where or where.startswith("arn:"):
            seed = Seed()
            shown = where if isinstance(where, str) else "a place that a deployment knows"
            seed.note(location, f"the nested stack {name} is ignored: its template is at {shown}")
            return seed
        path = (template.parent / where).resolve()
        if not path.is_relative_to(self._root):
            raise SeedError(f"the nested template {where} is not in this directory.")
        if not path.is_file():
            raise SeedError(f"the nested template {where} does not exist.")
        if path == template.resolve() or path in self._active:
            self.circular.add(path)
            raise SeedError(f"the template {where} is nested in itself.")
        if depth == DEPTH_MAX:
            raise SeedError(f"stacks are nested more than {DEPTH_MAX} deep.")
        self.paths.add(path)
        self._active.append(path)
        try:
            return self._read(path, _texts(parameters), depth + 1)
        finally:
            self._active.pop()


def _texts(parameters: Any) -> dict[str, str]:
    """Returns the values that are known; others have the defaults of the nested template."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise SeedError("Parameters must be a map.")
    return {
        name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in parameters.items()
        if not isinstance(value, UnknownIntrinsic | Mapping)
    }
