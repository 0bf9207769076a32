"""Nothing in the core of capacity or in the planner hangs on the order of a set: sets of objects are in the
order of their addresses, and of texts in that of a random hash. Equal plans are to give equal bytes."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

import faradisc.capacity
import faradisc.tools.planner
import faradisc.tools.traces

PACKAGES = (faradisc.capacity, faradisc.tools.planner, faradisc.tools.traces)
MODULES = sorted(path for package in PACKAGES for path in Path(package.__path__[0]).rglob("*.py"))
SETS = ("set", "frozenset")
BLIND = {"sorted", "set", "frozenset", "any", "all", "min", "max", "sum", "len"}
"""To whom the order makes no difference."""
SEEING = {"list", "tuple", "enumerate", "iter", "next", "map", "zip", "fromkeys", "join", "extend", "deque"}


class Iterations(ast.NodeVisitor):
    """Lines of one module that iterate over a set in an order that has an effect."""

    def __init__(self, tree: ast.Module) -> None:
        self.lines: list[int] = []
        self._names: set[str] = set()
        self._attributes = {
            node.target.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Attribute)
            and is_annotated(node.annotation)
        }
        self._functions = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and is_annotated(node.returns)
        }
        self.visit(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before = set(self._names)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._names |= {each.arg for each in arguments if is_annotated(each.annotation)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.AnnAssign) and is_annotated(inner.annotation):
                self._learn(inner.target)
            elif isinstance(inner, ast.Assign) and self._is_set(inner.value):
                self._learn(inner.targets[0])
        self.generic_visit(node)
        self._names = before

    def visit_For(self, node: ast.For) -> None:
        self._look(node.iter)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self._look(node.value)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
        for each in node.generators:
            self._look(each.iter)
        self.generic_visit(node)

    visit_GeneratorExp = visit_ListComp
    visit_DictComp = visit_ListComp

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node)
        if name in SEEING:
            for argument in node.args:
                self._look(argument)
        if name in BLIND and node.args and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
            for part in ast.iter_child_nodes(node.args[0]):
                self.generic_visit(part)
        else:
            self.generic_visit(node)

    def _learn(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._names.add(target.id)

    def _look(self, node: ast.expr) -> None:
        if self._is_set(node):
            self.lines.append(node.lineno)

    def _is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Name():
                return node.id in self._names
            case ast.Attribute():
                return node.attr in self._attributes
            case ast.Call():
                return called(node) in (*SETS, *self._functions)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.Sub()):
                return self._is_set(node.left) or self._is_set(node.right)
        return False


def is_annotated(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).split("[")[0] in SETS


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_no_set_is_gone_through() -> None:
    found = {str(path): Iterations(ast.parse(path.read_text())).lines for path in MODULES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "body",
    [
        "for one in {x for x in xs}: ...",
        "own = {x.bucket for x in xs}\nparts = {bucket: [] for bucket in own}",
        "own = set(xs)\nreturn [one for one in own]",
        "return list(self.held)",
        "return [*found(xs)]",
        "return dict.fromkeys(given - {1})",
    ],
)
def test_it_would_be_seen(body: str) -> None:
    assert Iterations(in_class(body)).lines


@pytest.mark.parametrize(
    "body",
    [
        "return sorted({x for x in xs})",
        "own = {x.bucket for x in xs}\nreturn [x for x in xs if x in own]",
        "return sum(x.size for x in self.held)",
        "return {x: x in given for x in xs}",
    ],
)
def test_what_no_order_shows_is_no_mistake(body: str) -> None:
    assert Iterations(in_class(body)).lines == []


def in_class(body: str) -> ast.Module:
    text = """
        def found(xs) -> set[int]: ...
        class C:
            def __init__(self): self.held: set[Bucket] = set()
            def f(self, xs, given: set[int]):
    """
    lines = [f"        {line}" for line in body.splitlines()]
    return ast.parse("\n".join([*dedent(text).strip().splitlines(), *lines]))
