"""Turns Python tests from moto's `mock_aws` to `faradisc.local.patch`.

Only what is certain is changed: the names that a file imports from moto, where they decorate or are called
without arguments. A file that uses other services as well keeps moto for those. All else is left, with a note
that says what to look at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from faradisc.records import dataclass, field

MOCKS: Final = frozenset({"mock_aws", "mock_dynamodb", "mock_dynamodb2", "mock_dynamodbstreams"})
"""moto's names of what answers DynamoDB: the newest, and those before version 5."""
CLIENT_PATCHES: Final = frozenset({"patch_client", "patch_resource"})
"""moto's functions for clients that were made before; `patch` redirects those too."""
OURS: Final = frozenset({"dynamodb", "dynamodbstreams", "application-autoscaling", "cloudwatch"})
PATCH: Final = "faradisc.local.patch"
PASSED: Final = '(config={"core": {"passthrough": {"services": ["dynamodb"]}}})'
"""The arguments by which `mock_aws` lets DynamoDB pass."""


@dataclass(slots=True)
class Migrated:
    """A file after the change."""

    text: str
    notes: list[str] = field(default_factory=list)
    """Sentences with line numbers of the file before: what to look at."""


def migrate(source: str) -> Migrated:
    """Returns a Python file with Faradisc in place of moto. Raises SyntaxError."""
    return _File(source).migrated()


class _File:
    def __init__(self, source: str) -> None:
        self._source = source.encode()
        self._tree = ast.parse(source)
        starts = [0]
        for line in self._source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._line_starts = starts
        self._edits: list[tuple[int, int, str]] = []
        self._notes: list[tuple[int, str]] = []
        self._mocks: dict[str, ast.ImportFrom] = {}
        """Local names of moto's mocks, with the statements that import them."""
        self._client_patches: dict[str, ast.ImportFrom] = {}
        self._kept: set[str] = set()
        """Local names that are still used after the change."""

    def migrated(self) -> Migrated:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "moto":
                self._add_import(node)
            elif isinstance(node, ast.Import) and any(
                each.name.split(".")[0] == "moto" for each in node.names
            ):
                self._note(node, "`import moto` is left; write `from moto import mock_aws` first")
        others = sorted(set(self._services()) - OURS)
        if self._mocks and others:
            self._note(self._tree.body[0], f"moto stays for {', '.join(others)}; DynamoDB passes it")
        parents = {child: node for node in ast.walk(self._tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if node.id in self._mocks:
                    self._mock(node, parents, beside=bool(others))
                elif node.id in self._client_patches:
                    self._client_patch(node, parents)
        for statement in {*self._mocks.values(), *self._client_patches.values()}:
            self._import(statement)
        self._import_ours()
        notes = [f"line {line}: {text}" for line, text in sorted(self._notes)]
        return Migrated(self._edited(), notes)

    # --- What is found ---

    def _add_import(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            if each.name in MOCKS:
                self._mocks[each.asname or each.name] = node
            elif each.name in CLIENT_PATCHES:
                self._client_patches[each.asname or each.name] = node

    def _services(self) -> Iterator[str]:
        """Yields the services of the clients and resources that the file makes."""
        for node in ast.walk(self._tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr in ("client", "resource", "create_client") and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value

    # --- What is changed ---

    def _mock(self, name: ast.Name, parents: dict[ast.AST, ast.AST], *, beside: bool) -> None:
        parent = parents[name]
        called = isinstance(parent, ast.Call) and parent.func is name
        whole: ast.expr = parent if called and isinstance(parent, ast.Call) else name
        if isinstance(whole, ast.Call) and (whole.args or whole.keywords):
            self._keep(name, "arguments of moto are left: read what they are for")
            return
        holder = parents[whole]
        decorates = whole in getattr(holder, "decorator_list", ())
        if not beside:
            self._replace(whole, PATCH + ("()" if called else ""))
        elif decorates:
            column = whole.col_offset - 1
            self._replace(whole, f"{name.id}{PASSED}\n{' ' * column}@{PATCH}")
            self._kept.add(name.id)
        elif isinstance(holder, ast.withitem) and called:
            if holder.optional_vars is not None:
                self._keep(name, "`as` of moto is left: enter `faradisc.local.patch()` beside it")
                return
            self._replace(whole, f"{name.id}{PASSED}, {PATCH}()")
            self._kept.add(name.id)
        else:
            self._keep(name, f"start `{PATCH}()` beside it, and give moto {PASSED}")

    def _client_patch(self, name: ast.Name, parents: dict[ast.AST, ast.AST]) -> None:
        call = parents[name]
        statement = parents[call]
        if isinstance(statement, ast.Expr) and isinstance(call, ast.Call):
            alone = len(getattr(parents[statement], "body", ())) == 1
            self._remove(statement, "pass\n" if alone else "")
        else:
            self._keep(name, "a client that was made before needs no patch; remove this")

    def _import(self, statement: ast.ImportFrom) -> None:
        """Leaves of an import what the file still uses."""
        ours = {*self._mocks, *self._client_patches} - self._kept
        names = [each for each in statement.names if (each.asname or each.name) not in ours]
        if not names:
            self._remove(statement, "")
        elif len(names) < len(statement.names):
            kept = ", ".join(each.name + (f" as {each.asname}" if each.asname else "") for each in names)
            self._replace(statement, f"from {statement.module} import {kept}")

    def _import_ours(self) -> None:
        """Adds `import faradisc.local` before the first import from moto, if the file uses it now."""
        if any(PATCH in text for _, _, text in self._edits):
            first = min(self._mocks.values(), key=lambda node: node.lineno)
            start = self._line_starts[first.lineno - 1]
            self._edits.append((start, start, " " * first.col_offset + "import faradisc.local\n"))

    # --- Positions ---

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._line_starts[node.lineno - 1] + node.col_offset
        return start, self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        self._edits.append((*self._span(node), text))

    def _remove(self, statement: ast.stmt, text: str) -> None:
        """Replaces a statement, with the rest of its last line, a comment perhaps."""
        assert statement.end_lineno is not None
        start, end = self._span(statement)
        line_start, next_line = (
            self._line_starts[statement.lineno - 1],
            self._line_starts[statement.end_lineno],
        )
        after = self._source[end:next_line].strip()
        if self._source[line_start:start].strip() or (after and not after.startswith(b"#")):
            self._note(statement, "left, since it shares its line with other statements; remove it")
            return
        self._edits.append((start if text else line_start, next_line, text))

    def _keep(self, name: ast.Name, text: str) -> None:
        self._kept.add(name.id)
        self._note(name, text)

    def _note(self, node: ast.expr | ast.stmt, text: str) -> None:
        self._notes.append((node.lineno, text))

    def _edited(self) -> str:
        text = self._source
        for start, end, replacement in sorted(self._edits, reverse=True):
            text = text[:start] + replacement.encode() + text[end:]
        return text.decode()
