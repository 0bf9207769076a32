"""Compiles a policy document: every pattern is prepared once, and evaluated by closures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from faradisc.auth.policy.conditions import condition
from faradisc.auth.policy.documents import RawStatement, read_document
from faradisc.auth.policy.model import CompiledPolicy, PolicyKind, PolicyStatement, Request
from faradisc.auth.policy.patterns import Test, arn_like, variable_keys, wildcard
from faradisc.auth.policy.principals import Grant, named, not_named, read_principals

_VARIABLES_SINCE: Final = "2012-10-17"

_SEARCH_VECTORS: Final = "dynamodb:searchvectors"
_ITEM_KEYS: Final = frozenset(
    {
        *("dynamodb:leadingkeys", "dynamodb:attributes", "dynamodb:select", "dynamodb:returnvalues"),
        *("dynamodb:firstpartitionkeyvalues", "dynamodb:secondpartitionkeyvalues"),
        *("dynamodb:thirdpartitionkeyvalues", "dynamodb:fourthpartitionkeyvalues"),
        *("dynamodb:returnconsumedcapacity", "dynamodb:enclosingoperation", "dynamodb:fulltablescan"),
    }
)
"""SearchVectors has none of them, and an Allow that asks for one does not match it: not even by
ForAllValues, which an absent key satisfies elsewhere (iam.md section 2.7)."""


def compile_policy(document: str | Mapping[str, Any], kind: PolicyKind, *, name: str = "") -> CompiledPolicy:
    """Returns a policy document, ready to be evaluated. `name` is for decisions.

    Raises PolicyError with the service's sentence if the document is malformed. The length is checked before
    anything else, and no check takes longer than linear in it.
    """
    version, raw = read_document(document, kind)
    variables = version == _VARIABLES_SINCE
    statements = [_compile(statement, kind, variables) for statement in raw]
    keys = {key.lower() for statement in raw for _operator, key, _values in statement.conditions}
    if variables:
        for statement in raw:
            for _operator, _key, values in statement.conditions:
                keys.update(*map(variable_keys, values))
            keys.update(*map(variable_keys, statement.resources))
    return CompiledPolicy(
        kind,
        name,
        allows=tuple(statement for statement in statements if statement.allow),
        denies=tuple(statement for statement in statements if not statement.allow),
        keys=frozenset(keys),
    )


def _compile(raw: RawStatement, kind: PolicyKind, variables: bool) -> PolicyStatement:
    is_action = _actions(raw)
    is_resource = _resources(raw, kind, variables)
    conditions = tuple(
        condition(operator, key, values, variables=variables) for operator, key, values in raw.conditions
    )

    def applies(action: str, request: Request) -> bool:
        if not is_action(action) or not is_resource(request.resource, request):
            return False
        for holds in conditions:  # noqa: SIM110 -- a generator costs more than the conditions
            if not holds(request):
                return False
        return True

    return PolicyStatement(raw.sid, raw.allow, applies, _grant(raw, kind))


def _actions(raw: RawStatement) -> Callable[[str], bool]:
    """Returns a test for an action in lower case."""
    names = frozenset(action.lower() for action in raw.actions)
    exact = frozenset(name for name in names if "*" not in name and "?" not in name)
    patterns = tuple(wildcard(name) for name in names - exact)
    asks_for_item = any(key.lower() in _ITEM_KEYS for _operator, key, _values in raw.conditions)
    hidden = _SEARCH_VECTORS if raw.allow and asks_for_item else ""
    negated = raw.not_actions

    def matches(action: str) -> bool:
        listed = action in exact or any(pattern(action) for pattern in patterns)
        return listed != negated and action != hidden

    if not patterns and not negated and not hidden:
        return exact.__contains__
    return matches


def _resources(raw: RawStatement, kind: PolicyKind, variables: bool) -> Test:
    """Returns a test for the resource of a request. The statements of a trust policy have none."""
    if kind == "trust":
        return _always
    if "*" in raw.resources:
        return _never if raw.not_resources else _always
    complete = kind == "identity"
    tests = [arn_like(resource, variables=variables, complete=complete) for resource in raw.resources]
    if raw.not_resources:
        return lambda value, request: not any(test(value, request) for test in tests)
    if len(tests) == 1:
        return tests[0]
    return lambda value, request: any(test(value, request) for test in tests)


def _always(_value: str, _request: Request) -> bool:
    return True


def _never(_value: str, _request: Request) -> bool:
    return False


def _grant(raw: RawStatement, kind: PolicyKind) -> Grant | None:
    if kind == "identity":
        return None
    names = read_principals(raw.principals)
    return not_named(names, allow=raw.allow) if raw.not_principals else named(names)
