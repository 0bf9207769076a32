"""YAML of CloudFormation templates: `!Sub x` becomes `{"Fn::Sub": "x"}`."""

from __future__ import annotations

from typing import Any

import yaml

from faradisc.tools.readers.seed import SeedError

_LIST_ARGUMENTS = ("GetAtt",)
NODES_MAX = 1_000_000
"""Nodes of a document with expanded aliases. A few lines of nested aliases expand to billions;
CloudFormation's limit for a template is 1 MB."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Dates stay texts, as in `AWSTemplateFormatVersion: 2010-09-09`."""


def _function(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if suffix in _LIST_ARGUMENTS:
            value = str(value).split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode), "YAML has three kinds of nodes"
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Any:
    """Yields a map, then its members, as SafeLoader does. Raises YAMLError for a name that is there twice."""
    names: set[Any] = set()
    for name, _ in node.value:
        if isinstance(name, yaml.ScalarNode) and name.tag != "tag:yaml.org,2002:merge":
            if name.value in names:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the name {name.value[:60]!r} is there twice", name.start_mark
                )
            names.add(name.value)
    yield from loader.construct_yaml_map(node)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_multi_constructor("!", _function)
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def parse(text: str) -> tuple[Any, dict[str, int]]:
    """Returns the document and the line of each of its Resources. Raises SeedError with the line."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if _size(node, {}) > NODES_MAX:
            raise ValueError("its aliases expand to too much")
        document = loader.construct_document(node) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SeedError(f"not valid YAML: {reason}", mark.line + 1 if mark is not None else 1) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise SeedError(f"not valid YAML: {error}", 1) from error
    finally:
        loader.dispose()
    return document, _lines(node)


def _size(node: yaml.Node | None, known: dict[int, int]) -> int:
    """Returns the number of nodes of a subtree, those of an alias counted each time.

    Raises RecursionError when a node contains itself.
    """
    size = known.get(id(node))
    if size is None:
        below = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = below if isinstance(node, yaml.MappingNode) else ((each,) for each in below)
        size = known[id(node)] = 1 + sum(_size(each, known) for pair in pairs for each in pair)
    return size


def _lines(node: yaml.Node | None) -> dict[str, int]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    for key, value in node.value:
        if key.value == "Resources" and isinstance(value, yaml.MappingNode):
            return {str(name.value): name.start_mark.line + 1 for name, _ in value.value}
        if key.value == "resources":  # of serverless.yml: a template, or a list of them
            parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
            return {name: line for part in parts for name, line in _lines(part).items()}
    return {}
