"""Golden scripts of the expression language: a command, `---`, what it answers.

Lines that start with `# ` are prose. The commands of a script share names, values, item and schema:

    names {..}   values {..}   item {..}          JSON, set for what follows
    schema pk:S sk:N / schema a:S,b:S / c:S       HASH attributes, then RANGE attributes
    parse-condition T   parse-update T   parse-projection T       the tree, as nested lists
    condition T   filter T                        true, false, or the rejection
    update T                                      the changed attributes of the item, or the rejection
    updated-old T   updated-new T                 the fragments that UPDATED_OLD and UPDATED_NEW return
    project T                                     the selected part of the item
    key T                                         the resolved key condition
    unused T                                      binds T as a filter, then checks that all is used
    expected J   expected-or J   legacy-filter J   legacy-update J   legacy-key J   legacy-get J

Rejections are marked with `!`. After each command the item is checked to be what it was before.

`FARADISC_REWRITE=1 pytest tests/golden/expressions` writes the answers of today; read the diff.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import pytest

from faradisc.errors import ValidationException
from faradisc.language.expressions import (
    Placeholders,
    bind_condition,
    bind_key_clauses,
    bind_projection,
    bind_update,
    legacy,
)
from faradisc.language.expressions.key_condition import KeyCondition
from faradisc.language.expressions.parser import parse_condition, parse_projection, parse_update
from faradisc.language.expressions.syntax import (
    Arithmetic,
    Condition,
    FunctionCall,
    Junction,
    NameRef,
    Negation,
    Operand,
    Path,
    Predicate,
    ValueRef,
)
from faradisc.model.values.checks import canonicalise
from faradisc.model.values.schema import KeySchema

SCRIPTS = sorted(FilePath(__file__).parent.glob("*.script"))
REWRITE = os.environ.get("FARADISC_REWRITE") == "1"


def show_operand(operand: Operand) -> str:
    if isinstance(operand, Path):
        text = ""
        for step in operand.steps:
            shown = step.name if isinstance(step, NameRef) else step
            text += f"[{shown}]" if isinstance(shown, int) else f".{shown}"
        return text[1:]
    if isinstance(operand, ValueRef):
        return operand.name
    if isinstance(operand, FunctionCall):
        return f"({' '.join([operand.name, *map(show_operand, operand.operands)])})"
    assert isinstance(operand, Arithmetic)
    return f"({' '.join([operand.operator, *map(show_operand, operand.operands)])})"


def show_condition(node: Condition) -> str:
    if isinstance(node, Predicate):
        return f"({' '.join([node.operator, *map(show_operand, node.operands)])})"
    if isinstance(node, Negation):
        return f"(NOT {show_condition(node.inner)})"
    assert isinstance(node, Junction)
    return f"({' '.join([node.operator, *map(show_condition, node.parts)])})"


def show(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def show_key(key: KeyCondition) -> str:
    parts = ["hash " + show(list(key.hash_values))]
    if key.range_equal:
        parts.append("equal " + show(list(key.range_equal)))
    if key.operator:
        parts.append(f"then {key.operator} " + show(list(key.operands)))
    return "; ".join(parts)


@dataclass
class Session:
    """What the state lines of a script have set."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    item: dict[str, Any] = field(default_factory=dict)
    schema: KeySchema = field(default_factory=lambda: KeySchema(("pk",), ("sk",), {"pk": "S", "sk": "N"}))

    def answer(self, line: str) -> str | None:
        """The answer to one line; None for lines that only set something."""
        command, _, argument = line.partition(" ")
        if command in ("names", "values", "item"):
            given = json.loads(argument)
            if command != "names":
                assert all(canonicalise(value) for value in given.values()), line
            setattr(self, command, given)
            return None
        if command == "schema":
            self.schema = schema_of(argument)
            return None
        before = json.dumps(self.item)
        try:
            return self.run(command, argument)
        except ValidationException as rejection:
            return f"! {rejection.message}"
        finally:
            assert json.dumps(self.item) == before, "evaluation changed the item"

    def run(self, command: str, argument: str) -> str:
        placeholders = Placeholders(self.names, self.values)
        match command:
            case "parse-condition":
                return show_condition(parse_condition(argument).root)
            case "parse-update":
                return "; ".join(
                    " ".join(
                        [action.verb, show_operand(action.path)]
                        + ([show_operand(action.operand)] if action.operand is not None else [])
                    )
                    for action in parse_update(argument).actions
                )
            case "parse-projection":
                return " ".join(map(show_operand, parse_projection(argument).paths))
            case "condition":
                condition = bind_condition(argument, "ConditionExpression", placeholders)
                return str(condition.matches(self.item)).lower()
            case "filter":
                return str(
                    bind_condition(argument, "FilterExpression", placeholders).matches(self.item)
                ).lower()
            case "update":
                return self.changes(bind_update(argument, placeholders).apply(self.item).item)
            case "updated-old":
                return show(bind_update(argument, placeholders).apply(self.item).written_part(self.item))
            case "updated-new":
                outcome = bind_update(argument, placeholders).apply(self.item)
                return show(outcome.written_part(outcome.item))
            case "project":
                return show(bind_projection(argument, placeholders).apply(self.item))
            case "key":
                return show_key(bind_key_clauses(argument, placeholders).resolve(self.schema))
            case "unused":
                bind_condition(argument, "FilterExpression", placeholders)
                placeholders.check_all_used()
                return "all used"
        return self.run_legacy(command, json.loads(argument))

    def changes(self, new: dict[str, Any]) -> str:
        written = {name: value for name, value in new.items() if self.item.get(name) != value}
        removed = [name for name in self.item if name not in new]
        return show(written) + (f" without {', '.join(removed)}" if removed else "")

    def run_legacy(self, command: str, parameter: Any) -> str:
        match command:
            case "expected" | "expected-or":
                condition = legacy.expected(parameter, "OR" if command.endswith("-or") else None)
                return "none" if condition is None else str(condition.matches(self.item)).lower()
            case "legacy-filter":
                condition = legacy.filter_condition(parameter)
                return "none" if condition is None else str(condition.matches(self.item)).lower()
            case "legacy-update":
                return self.changes(legacy.attribute_updates(parameter).apply(self.item).item)
            case "legacy-key":
                return show_key(legacy.key_conditions(parameter).resolve(self.schema))
            case "legacy-get":
                return show(legacy.attributes_to_get(parameter).apply(self.item))
        raise AssertionError(f"no such command: {command}")


def schema_of(text: str) -> KeySchema:
    sides = [part.split() for part in text.split("/")]
    if len(sides) == 1:
        sides = [sides[0][:1], sides[0][1:]]
    sides = [[pair for word in side for pair in word.split(",")] for side in sides]
    hash_names, range_names = (tuple(pair.split(":")[0] for pair in side) for side in sides)
    types: Any = dict(pair.split(":") for side in sides for pair in side)
    return KeySchema(hash_names, range_names, types)


def replayed(script: FilePath) -> list[str]:
    """The lines of a script with the answers of today."""
    session = Session()
    lines = []
    for line in script.read_text("utf-8").splitlines():
        if line.startswith("---"):
            continue
        lines.append(line)
        if line.strip() and not line.startswith("# "):
            answer = session.answer(line)
            if answer is not None:
                lines.append(f"--- {answer}")
    return lines


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script(script: FilePath) -> None:
    lines = replayed(script)
    if REWRITE:
        script.write_text("\n".join(lines) + "\n", "utf-8")
    assert lines == script.read_text("utf-8").splitlines()


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 8
