"""Update expressions: SET, REMOVE, ADD and DELETE applied to an item.

Invariants:
1. Every operand is read from the item as it was before the update, so the order of actions has no effect.
2. The old item is never changed. Containers on a written path are copied, all else is shared.
3. Written paths are disjoint, so actions on one list are applied together: replacements by old index, then
   removals, then appends in index order.

Legacy AttributeUpdates build the same `Update`, with their own text for a type mismatch and with an ADD that
appends lists.

A text is compiled once per set of names into a `_Plan` (update_actions.py, binder.py). A request with a
cached plan only runs its checks of values.

Sources: expressions.md section 5; order of errors and texts, errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from faradisc.language.expressions import errors
from faradisc.language.expressions.binder import NO_PLACEHOLDERS, BoundCache, Placeholders, key_of
from faradisc.language.expressions.errors import ExpressionError, UpdateError
from faradisc.language.expressions.parser import parse_update
from faradisc.language.expressions.path_tree import PathTree, check_parent, rewrite, select, tree_of
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Constant,
    FunctionCall,
    Operand,
    ParsedUpdate,
    Path,
    ValueRef,
)
from faradisc.language.expressions.update_actions import ActionCompiler, Check, Compute, Values
from faradisc.model.values import path as paths
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.size import text_size, value_size
from faradisc.records import dataclass


@dataclass(slots=True)
class UpdateOutcome:
    """The new item and the written paths."""

    item: Item
    touched: tuple[paths.Path, ...]

    def written_part(self, item: Item) -> Item | None:
        """Returns the written paths of the old item (UPDATED_OLD) or the new one (UPDATED_NEW).

        None when none of them exists.
        """
        return select(item, tree_of(self.touched)) or None


class _Plan:
    """A compiled text, shared by all requests with the same names."""

    __slots__ = (
        "actions",
        "charged",
        "checks",
        "computes",
        "creates",
        "given",
        "names",
        "nested",
        "top_level",
        "touched",
        "tree",
    )

    def __init__(
        self,
        actions: Sequence[Action],
        touched: tuple[paths.Path, ...],
        computes: list[Compute],
        checks: list[Check],
        mentioned: Sequence[paths.Path],
        *,
        charged: tuple[int, Sequence[str]] = (0, ()),
    ) -> None:
        """`touched` are the paths that the actions write, `mentioned` these and those that they read.
        charged: by `_charge_of`.

        Raises PathsOverlap or PathsConflict.
        """
        self.actions = actions
        self.touched = touched
        self.computes = computes
        self.checks = checks
        self.charged = charged
        self.tree = _checked_tree(touched)
        """The written paths; None when all are top-level."""
        self.names = [str(path[0]) for path in touched]
        self.top_level = frozenset(self.names)
        self.nested = frozenset(str(path[0]) for path in mentioned if len(path) > 1)
        self.creates = not actions or any(action.verb in ("SET", "ADD") for action in actions)
        self.given = frozenset(
            str(path[0])
            for action, path in zip(actions, touched, strict=True)
            if len(path) == 1 and isinstance(action.operand, ValueRef | Constant)
        )


class Update:
    """Bound actions. `apply` may be called many times, on different items."""

    __slots__ = ("_plan", "_values", "creates", "given", "nested", "top_level_written")

    def __init__(self, plan: _Plan, values: Values) -> None:
        """Runs the plan's checks. Raises ExpressionError."""
        for check in plan.checks:
            check(values)
        self._plan = plan
        self._values = values
        self.top_level_written = plan.top_level
        """The top-level attributes written, wholly or in part."""
        self.nested = plan.nested
        """The top-level attributes into which a path goes with `.` or `[]`, to read or to write."""
        self.creates = plan.creates
        """Whether it creates an absent item: one that only removes does not."""
        self.given = plan.given
        """The top-level attributes whose new values the request contains."""

    def apply(self, old: Item) -> UpdateOutcome:
        """Returns the item after the update; {} stands for an absent item.

        Raises: UpdateError (a missing attribute, an unsuitable operand, an invalid document path), or
        ValidationException for numbers out of range and values nested too deep.
        """
        plan, values = self._plan, self._values
        if plan.tree is None:
            item = dict(old)
            for name, compute in zip(plan.names, plan.computes, strict=True):
                value = compute(old, values)
                if value is not None:
                    item[name] = value
                else:
                    item.pop(name, None)
            return UpdateOutcome(item, plan.touched)
        results: dict[paths.Path, AttributeValue | None] = {}
        for path, compute in zip(plan.touched, plan.computes, strict=True):
            results[path] = compute(old, values)
            check_parent(old, path)
        return UpdateOutcome(rewrite(old, plan.tree, results), plan.touched)

    def request_exceeds(self, limit_bytes: int, body_bytes: int | None) -> bool:
        """Returns whether what the service counts for the request itself is more than a limit.

        body_bytes: of the request's text, which no value exceeds; None: not known.
        Source: capacity-consumption.md section 3 (the 400 KB limit), recorded.
        """
        charge, refs = self._plan.charged
        if body_bytes is not None and charge + len(refs) * body_bytes <= limit_bytes:
            return False
        return charge + sum([value_size(self._values[ref]) for ref in refs]) > limit_bytes


def bind_update(text: str, placeholders: Placeholders) -> Update:
    """Parses (cached) and binds an UpdateExpression.

    Raises: ExpressionError, its text prefixed with "Invalid UpdateExpression: ".
    """
    try:
        parsed = parse_update(text)
        placeholders.mark_used(parsed.refs)
        _check_defined(parsed, placeholders)
        key = key_of(text, parsed.name_refs, placeholders.names)
        assert key is not None
        plan = _plans.get(key)
        if plan is None:
            plan = _plan_of(parsed, placeholders)
            _plans.put(key, plan)
        return Update(plan, placeholders.values)
    except ExpressionError as error:
        raise error.within("UpdateExpression") from None


def update_of_actions(
    actions: Sequence[Action], mismatch: type[UpdateError], values: Values = MappingProxyType({})
) -> Update:
    """Returns an update of actions as AttributeUpdates and PartiQL build them, with the values they name."""
    compiler = ActionCompiler(NO_PLACEHOLDERS, mismatch)
    touched = tuple([NO_PLACEHOLDERS.path(action.path) for action in actions])
    computes = list(map(compiler.compute, actions))
    return Update(_Plan(actions, touched, computes, compiler.checks, touched), values)


_plans: BoundCache[_Plan] = BoundCache()


def _plan_of(parsed: ParsedUpdate, placeholders: Placeholders) -> _Plan:
    """Compiles a text. The plan's checks find the errors of operands.

    The service's order of checks: names, values, overlap, conflict, section operands, functions. Raises
    PathsOverlap or PathsConflict.
    """
    actions = parsed.actions
    touched = tuple([placeholders.path(action.path) for action in actions])
    mentioned = [placeholders.path(path) for path in parsed.paths]
    compiler = ActionCompiler(placeholders, errors.IncorrectOperand)
    for action in actions:
        if action.verb in ("ADD", "DELETE"):
            compiler.check_section_operand(action)
    computes = list(map(compiler.compute, actions))
    charged = _charge_of(actions, placeholders)
    return _Plan(actions, touched, computes, compiler.checks, mentioned, charged=charged)


_BYTES_OF_VERB = {"SET": 19, "ADD": 19, "REMOVE": 1, "DELETE": 1}
_BYTES_OF_OPERATOR = {"+": 34, "-": 37, "list_append": 37, "if_not_exists": 39}


def _charge_of(actions: Sequence[Action], placeholders: Placeholders) -> tuple[int, list[str]]:
    """Returns the bytes charged for actions without their values, and the values charged, once per use."""
    total = 3
    refs: list[str] = []
    for action in actions:
        target = placeholders.path(action.path)
        total += _BYTES_OF_VERB[action.verb] + _steps_size(target) + 4 * (len(target) - 1)
        waiting: list[Operand | None] = [action.operand] if action.verb in ("SET", "ADD") else []
        while waiting:
            operand = waiting.pop()
            if isinstance(operand, ValueRef):
                refs.append(operand.name)
            elif isinstance(operand, Path):
                source = placeholders.path(operand)
                total += 1 + _steps_size(source) + 14 * len(source)
            elif isinstance(operand, Arithmetic | FunctionCall):
                operator = operand.operator if isinstance(operand, Arithmetic) else operand.name
                total += _BYTES_OF_OPERATOR[operator]
                waiting.extend(operand.operands)
    return total, refs


def _steps_size(path: paths.Path) -> int:
    return sum([text_size(str(step)) for step in path])


def _check_defined(parsed: ParsedUpdate, placeholders: Placeholders) -> None:
    """Raises UndefinedName or UndefinedValue."""
    for ref in parsed.name_refs:
        if ref not in placeholders.names:
            raise errors.UndefinedName(name=ref)
    for ref in parsed.value_refs:
        if ref not in placeholders.values:
            raise errors.UndefinedValue(name=ref)


def _checked_tree(targets: Sequence[paths.Path]) -> PathTree | None:
    """Returns the tree of the written paths; None when they are top-level attributes, each once."""
    if all(len(path) == 1 for path in targets) and len(set(targets)) == len(targets):
        return None
    return tree_of(targets)
