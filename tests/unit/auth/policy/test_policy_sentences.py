"""The sentence of every kind of denial, and what a decision reports to the audit log."""

from __future__ import annotations

from typing import Any

import pytest
from policy_cases import (
    CALLERS,
    OTHER,
    ROLE_TO_ASSUME,
    SESSION_ARN,
    TABLES,
    Case,
    T,
    allow,
    decide,
    deny,
    policies_of,
    request_of,
    to,
    trusting,
)

from faradisc.auth.policy.evaluate import evaluate, matching
from faradisc.auth.policy.model import CompiledPolicy, Decision, Policies, PolicyStatement, Request

ALL, NONE = allow("*"), allow("s3:*")
BECAUSE = "because no {} allows the dynamodb:GetItem action".format
WITH = "with an explicit deny in {}".format
EVERY_CAUSE: list[tuple[str, str, dict[str, Any]]] = [
    ("alice", BECAUSE("identity-based policy"), {}),
    ("alice", BECAUSE("permissions boundary"), {"identity": ALL, "boundary": NONE}),
    ("session", BECAUSE("session policy"), {"identity": ALL, "session": NONE}),
    ("xena", BECAUSE("resource-based policy"), {"identity": ALL}),
    ("alice", WITH("an identity-based policy"), {"identity": deny("*")}),
    ("alice", WITH("a permissions boundary"), {"boundary": deny("*")}),
    ("session", WITH("a session policy"), {"session": deny("*")}),
    ("alice", WITH("a resource-based policy"), {"resource": to("*", deny("*"))}),
]


@pytest.mark.parametrize(("caller", "cause", "policies"), EVERY_CAUSE, ids=lambda value: str(value)[:60])
def test_sentence_of_a_denial(caller: str, cause: str, policies: dict[str, Any]) -> None:
    case = Case("", (caller, "GetItem", T), "implicit", "", **policies)
    assert decide(case).sentence(request_of(case)) == (
        f"User: {CALLERS[caller].arn} is not authorized to perform: dynamodb:GetItem on resource: {T} {cause}"
    )


@pytest.mark.parametrize(
    ("trust", "cause"),
    [
        (trusting(OTHER), "because no role trust policy allows the sts:AssumeRole action"),
        (trusting("*", "Deny"), "with an explicit deny in the role trust policy"),
    ],
)
def test_sentence_of_a_trust_policy(trust: Any, cause: str) -> None:
    case = Case("", ("session", "sts:AssumeRole", ROLE_TO_ASSUME), "implicit", "", identity=ALL, trust=trust)
    sentence = decide(case).sentence(request_of(case))
    asked = f"sts:AssumeRole on resource: {ROLE_TO_ASSUME}"
    assert sentence == f"User: {SESSION_ARN} is not authorized to perform: {asked} {cause}"


def test_a_sentence_may_show_another_resource() -> None:
    case = Case("", ("alice", "ListTables", "*"), "implicit", "")
    shown = decide(case).sentence(request_of(case), f"{TABLES}/*")
    assert f"on resource: {TABLES}/* because" in shown


def test_a_decision_names_the_policy_and_the_statement() -> None:
    statements = [allow("*") | {"Sid": "All"}, deny("PutItem") | {"Sid": "NoPut"}]
    read = Case("", ("alice", "GetItem", T), "allow", "", identity=statements)
    write = Case("", ("alice", "PutItem", T), "explicit", "", identity=statements)
    assert decide(read) == Decision(True, True, "identity-based policy", "id", "All")
    assert decide(write) == Decision(False, True, "identity-based policy", "id", "NoPut")


def test_all_matching_statements_are_found() -> None:
    case = Case(
        "",
        ("alice", "GetItem", T),
        "explicit",
        "",
        identity=[allow("*") | {"Sid": "All"}, deny("GetItem") | {"Sid": "No"}, allow("PutItem")],
        boundary=allow("Get*"),
        resource=[to("*", allow("GetItem", T)), to(OTHER, allow("GetItem", T))],
    )
    found = [
        (kind, policy.name, statement.sid, statement.allow)
        for kind, policy, statement in matching(request_of(case), policies_of(case))
    ]
    assert found == [
        ("resource-based policy", "rp", "", True),
        ("identity-based policy", "id", "No", False),
        ("identity-based policy", "id", "All", True),
        ("permissions boundary", "pb", "", True),
    ]


def test_a_failing_evaluation_denies() -> None:
    def fail(_action: str, _request: Request) -> bool:
        raise ZeroDivisionError("a bug")

    broken = CompiledPolicy("identity", "p", (PolicyStatement("s", True, fail, None),), (), frozenset())
    request = request_of(Case("", ("alice", "GetItem", T), "allow", ""))
    decision = evaluate(request, Policies([broken]))
    assert not decision.allowed
    assert decision.error == "ZeroDivisionError('a bug')"
    assert decision.sentence(request).endswith(
        "because no identity-based policy allows the dynamodb:GetItem action"
    )


@pytest.mark.parametrize("operator", ["Bool", "ForAllValues:Bool", "ForAnyValue:Bool"])
@pytest.mark.parametrize("value", [True, 1, ["true"]])
def test_a_context_of_a_wrong_type_denies(operator: str, value: Any) -> None:
    denied = deny("*", **{operator: {"a:b": "true"}})
    case = Case(
        "", ("alice", "GetItem", T), "allow", "", identity=[allow("*"), denied], context={"a:b": value}
    )
    decision = decide(case)
    assert not decision.allowed
    assert decision.error
