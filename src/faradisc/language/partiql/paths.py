"""Reads document paths: `name.name[0]."any name"['any name']`.

Names are compared as they are written, bare or quoted.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.parser import LIST_INDEX_MAX
from faradisc.language.partiql import errors
from faradisc.language.partiql.tree import TreeNode
from faradisc.language.partiql.values import Reading
from faradisc.model.values.path import Path


def path_of(node: TreeNode, reading: Reading) -> Path:
    """Returns the steps of a name or path. Raises ValidationException."""
    if node.kind == "name":
        return (node.token.text,)
    root, *steps = node.parts
    if root.kind != "name":
        raise reading.error(errors.UNEXPECTED_COMPONENT, root.token)
    return (root.token.text, *[_step(step, reading) for step in steps])


def _step(node: TreeNode, reading: Reading) -> str | int:
    if node.kind == "dot":
        return node.token.text
    kind, text = node.parts[0].kind if node.parts else "star", node.token.text
    if kind == "string":
        return text
    if kind != "number" or not text.isdigit():
        raise reading.error(errors.UNEXPECTED_COMPONENT, node.token)
    digits = text.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > LIST_INDEX_MAX:
        raise expression_errors.ListIndexTooLarge(index=text)
    return int(digits)
