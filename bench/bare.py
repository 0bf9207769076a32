"""Faradisc without counting or without enforcement, as the baselines of their measurement.

The product has no such switch. So a process replaces the code of the functions that GetItem and PutItem
call: each gets its own source without the statements that count, charge, admit or read the clock for that.
The function objects stay, so modules that imported them by name run the other code too, and it can be
restored.

    bare       counts nothing and enforces nothing
    counting   counts, and has no code that tests whether anything is enforced

This covers GetItem and PutItem of tables without Contributor Insights, and the background work of
throughput. Other operations, rejections and PartiQL's consumed capacity are not covered; the fields of a
Call stay. Change the state only while no request runs.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from types import CodeType, FunctionType
from typing import Any, cast

from faradisc.engine.tables.charging import charge_write
from faradisc.engine.tables.commit import commit_batches, commit_outcomes
from faradisc.engine.tables.reads import read_and_charge
from faradisc.engine.tables.writes import apply_change
from faradisc.engine.throughput.background import Background
from faradisc.engine.throughput.table_usage import EnforcingUsage
from faradisc.operations.backend import Backend
from faradisc.operations.get_item import get_item

_BLOCKS = ("body", "handlers", "orelse", "finalbody")


class Moved(Exception):
    """A function no longer has the names that this module removes."""


class _Instead(ast.NodeTransformer):
    """Replaces names or attributes that are read by expressions."""

    def __init__(self, instead: Mapping[str, str]) -> None:
        self._instead = instead

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._put(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return self._put(node, node.attr)

    def _put(self, node: ast.Name | ast.Attribute, name: str) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or name not in self._instead:
            return node
        expression = ast.parse(self._instead[name], mode="eval").body
        for each in ast.walk(expression):
            ast.copy_location(each, node)
        return expression


def edited(
    function: Callable[..., Any], without: Collection[str] = (), instead: Mapping[str, str] | None = None
) -> CodeType:
    """Returns the code of a function with expressions in place of the names or attributes in `instead`, and
    without the statements that mention a name or attribute of `without`.

    Raises Moved if a name is missing.
    """
    own = cast(FunctionType, function).__code__
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    missing = {*without, *(instead or {})} - _mentioned(tree)
    if missing:
        raise Moved(f"{own.co_qualname} has no {', '.join(sorted(missing))} (bench/bare.py)")
    tree = _Instead(instead or {}).visit(tree)
    (definition,) = tree.body
    definition.body = _kept(definition.body, without) or [ast.Pass()]
    ast.increment_lineno(tree, own.co_firstlineno - 1)
    module = compile(ast.fix_missing_locations(tree), own.co_filename, "exec", dont_inherit=True)
    (code,) = (each for each in module.co_consts if isinstance(each, CodeType))
    return code.replace(co_qualname=own.co_qualname)


def _kept(statements: list[Any], without: Collection[str]) -> list[Any]:
    """Returns the statements that mention none of the names, nested ones too; an `if` or loop without a
    body is removed."""
    remaining = []
    for statement in statements:
        blocks = {name: getattr(statement, name) for name in _BLOCKS if getattr(statement, name, None)}
        head = [value for name, value in ast.iter_fields(statement) if name not in blocks]
        if _mentioned(head) & set(without):
            continue
        for name, block in blocks.items():
            setattr(statement, name, _kept(block, without))
        if isinstance(statement, ast.If | ast.For | ast.While) and not (statement.body or statement.orelse):
            continue
        if "body" in blocks and not statement.body:
            statement.body = [ast.Pass()]
        remaining.append(statement)
    return remaining


def _mentioned(node: object) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(_mentioned, node)) if node else set()
    if not isinstance(node, ast.AST):
        return set()
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


async def _rest(self: Background) -> bool:
    """Background.step without work."""
    return False


_UNITS = (
    "units.read_half_units(item_record.size_of(found) if found is not None else 0, consistent=consistent)"
)
"""The cost of a read, computed only where an answer reports it."""


def _count_read(self: EnforcingUsage, row_key: bytes, half_units: int, eventual: bool) -> None:
    """EnforcingUsage.read that only counts."""
    self._reads.counts[half_units] += 1


def _count_write(self: EnforcingUsage, row_key: bytes, half_units: int) -> None:
    """EnforcingUsage.write that only counts."""
    self._writes.counts[half_units] += 1


_UNENFORCED = {"enforced": "False"}
_ENFORCING = {"growth"}

_CODES: dict[str, dict[Callable[..., Any], CodeType]] = {
    "bare": {
        Backend.execute: edited(
            Backend.execute, {"_counter", "read_clock", "began", "elapsed", "first_table", "stats"}
        ),
        Backend.table_for_data: edited(Backend.table_for_data, {"first_table"}),
        get_item: edited(get_item, instead={"half_units": _UNITS}),
        read_and_charge: edited(read_and_charge, {"half_units", "throttle"}, {"half_units": "0"}),
        apply_change: edited(apply_change, {"charged", "throttle"}),
        commit_outcomes: edited(commit_outcomes, _ENFORCING),
        commit_batches: edited(commit_batches, _ENFORCING),
        Background.step: _rest.__code__,
    },
    "counting": {
        Backend.execute: edited(Backend.execute, {"_request_time"}),
        EnforcingUsage.read: _count_read.__code__,
        EnforcingUsage.write: _count_write.__code__,
        charge_write: edited(charge_write, instead=_UNENFORCED),
        commit_outcomes: edited(commit_outcomes, _ENFORCING),
        commit_batches: edited(commit_batches, _ENFORCING),
    },
    "whole": {},
}
_OWN = {function: cast(FunctionType, function).__code__ for codes in _CODES.values() for function in codes}


def become(state: str) -> None:
    """Sets the state: `bare`, `counting` or `whole`."""
    for function, code in (_OWN | _CODES[state]).items():
        function.__code__ = code


def is_whole() -> bool:
    return all(function.__code__ is code for function, code in _OWN.items())
