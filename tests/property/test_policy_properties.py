"""Laws of policy evaluation that hold for any policies and any request.

What it proves: denials only take away and allows only give, in every type of policy; the order of statements
and the case of actions do not matter; operators, negations, IfExists and set operators agree as documented.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.conditions import condition
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import Policies, PolicyError, Principal, Request, Value
from faradisc.auth.policy.patterns import like
from fixtures.searching import examples

OWNER, OTHER = "111111111111", "222222222222"
TABLES = f"arn:aws:dynamodb:us-east-1:{OWNER}:table"
ROLE = f"arn:aws:iam::{OWNER}:role/R"
CALLERS = (
    Principal(f"arn:aws:iam::{OWNER}:user/alice", OWNER, "user", "alice", "AIDAALICE", tags={"team": "a"}),
    Principal(f"arn:aws:sts::{OWNER}:assumed-role/R/S", OWNER, "session", user_id="AROAR:S", role_arn=ROLE),
    Principal(f"arn:aws:sts::{OWNER}:federated-user/f", OWNER, "federated", user_id=f"{OWNER}:f"),
    Principal(f"arn:aws:iam::{OWNER}:root", OWNER, "account", user_id=OWNER),
    Principal(f"arn:aws:iam::{OTHER}:user/xena", OTHER, "user", "xena", "AIDAXENA"),
)
ACTIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "s3:GetObject")
RESOURCES = (f"{TABLES}/T", f"{TABLES}/T/index/I", f"{TABLES}/alice", f"{TABLES}/U")
TEXTS = ("a", "ab", "alice", "*", "a?", "", "10", "10.0.0.1", "true", ROLE)

action_patterns = st.sampled_from(
    (*ACTIONS, "*", "dynamodb:*", "dynamodb:Get*", "dynamodb:?utItem", "DYNAMODB:query")
)
resource_patterns = st.sampled_from(
    (
        *RESOURCES,
        "*",
        f"{TABLES}/*",
        f"{TABLES}/T/*",
        f"{TABLES}/${{aws:username}}",
        "arn:aws:dynamodb:*:*:table/?",
    )
)
principal_names = st.sampled_from(("*", OWNER, OTHER, ROLE, *(caller.arn for caller in CALLERS)))
texts = st.sampled_from(TEXTS)
contexts = st.fixed_dictionaries(
    {}, optional={"t:single": texts, "t:several": st.lists(texts, max_size=3, unique=True).map(tuple)}
)
POSITIVE = ("StringEquals", "StringEqualsIgnoreCase", "StringLike", "IpAddress")
NEGATIONS = dict(
    zip(
        POSITIVE,
        ("StringNotEquals", "StringNotEqualsIgnoreCase", "StringNotLike", "NotIpAddress"),
        strict=True,
    )
)
OTHERS = (
    "NumericEquals",
    "NumericNotEquals",
    "NumericLessThan",
    "Bool",
    "BinaryEquals",
    "ArnLike",
    "ArnNotLike",
)
VALUES = {
    "IpAddress": ("10.0.0.1", "10.0.0.0/8", "2001:db8::/32"),
    "NotIpAddress": ("10.0.0.1", "10.0.0.0/8", "2001:db8::/32"),
    "NumericEquals": ("10", "-1", "2.5"),
    "NumericNotEquals": ("10", "-1", "2.5"),
    "NumericLessThan": ("10", "-1", "2.5"),
    "Bool": ("true", "false"),
    "BinaryEquals": ("YQ==", "YWI="),
}
"""Of operators that take no other values."""


def comparisons(*operators: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    """Operators with values that they take."""
    any_text = (*TEXTS, "${aws:username}", "${t:single}", "a*", "10.0.0.0/8")
    return st.sampled_from(operators).flatmap(
        lambda operator: st.tuples(
            st.just(operator),
            st.lists(st.sampled_from(VALUES.get(operator, any_text)), min_size=1, max_size=3),
        )
    )


compared = comparisons(*POSITIVE, *NEGATIONS.values(), *OTHERS)
prefixes = st.sampled_from(("", "ForAllValues:", "ForAnyValue:"))
keys = st.sampled_from(("t:single", "t:several"))


@st.composite
def statements(draw: st.DrawFn, *, principal: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"Effect": draw(st.sampled_from(("Allow", "Allow", "Deny")))}
    made[draw(st.sampled_from(("Action", "Action", "NotAction")))] = draw(
        st.lists(action_patterns, min_size=1, max_size=2)
    )
    made[draw(st.sampled_from(("Resource", "Resource", "NotResource")))] = draw(
        st.lists(resource_patterns, min_size=1, max_size=2)
    )
    if draw(st.booleans()):
        operator, listed = draw(compared)
        name = draw(prefixes) + operator + draw(st.sampled_from(("", "IfExists")))
        made["Condition"] = {name: {draw(keys): listed}}
    if principal:
        named = draw(st.sampled_from(("Principal", "Principal", "NotPrincipal")))
        made[named] = {"AWS": draw(st.lists(principal_names, min_size=1, max_size=2))}
    return made


@dataclass(frozen=True)
class World:
    """Statements of each type of policy, and a request."""

    identity: list[dict[str, Any]]
    boundary: list[dict[str, Any]] | None
    session: list[dict[str, Any]] | None
    resource: list[dict[str, Any]] | None
    request: Request

    def part(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = getattr(self, name)
        return found

    def parts(self) -> list[str]:
        """Returns the types of policies that have statements."""
        return [name for name in ("identity", "boundary", "session", "resource") if getattr(self, name)]

    def decision(self) -> tuple[bool, bool]:
        """Returns whether the request is allowed, and whether explicitly denied."""
        compiled = {
            name: compile_policy(
                {"Version": "2012-10-17", "Statement": self.part(name)},
                "resource" if name == "resource" else "identity",
            )
            for name in self.parts()
        }
        decision = evaluate(
            self.request,
            Policies(
                [compiled["identity"]] if "identity" in compiled else [],
                compiled.get("boundary"),
                [compiled["session"]] if "session" in compiled else None,
                compiled.get("resource"),
            ),
        )
        assert decision.error == ""
        return decision.allowed, decision.explicit and not decision.allowed


requests = st.builds(
    Request,
    st.sampled_from(CALLERS),
    st.sampled_from(ACTIONS),
    st.sampled_from(RESOURCES),
    st.just(OWNER),
    contexts,
)
own = st.lists(statements(), min_size=1, max_size=3)
worlds = st.builds(
    World,
    st.lists(statements(), max_size=3),
    st.none() | own,
    st.none() | own,
    st.none() | st.lists(statements(principal=True), min_size=1, max_size=3),
    requests,
)


@given(worlds, st.data())
def test_a_deny_more_never_allows_more(world: World, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["identity", *world.parts()]))
    denial = data.draw(statements(principal=name == "resource")) | {"Effect": "Deny"}
    position = data.draw(st.integers(0, len(world.part(name))))
    changed = [*world.part(name)]
    changed.insert(position, denial)
    allowed, explicit = replace(world, **{name: changed}).decision()
    before, denied_before = world.decision()
    assert before or not allowed
    assert explicit or not denied_before


@given(worlds, st.data())
def test_an_allow_less_never_allows_more(world: World, data: st.DataObject) -> None:
    """A policy that loses its last statement stays, without effect, so that no boundary disappears."""
    allows = [
        (name, number)
        for name in world.parts()
        for number, made in enumerate(world.part(name))
        if made["Effect"] == "Allow"
    ]
    if not allows:
        return
    name, number = data.draw(st.sampled_from(allows))
    nothing = {"Effect": "Allow", "Action": "x:y", "Resource": "*"}
    if name == "resource":
        nothing |= {"Principal": "*"}
    changed = [nothing if each == number else made for each, made in enumerate(world.part(name))]
    allowed, explicit = replace(world, **{name: changed}).decision()
    assert world.decision()[0] or not allowed
    assert explicit == world.decision()[1]


@given(worlds, st.data())
def test_the_order_of_statements_is_irrelevant(world: World, data: st.DataObject) -> None:
    shuffled = {name: data.draw(st.permutations(world.part(name))) for name in world.parts()}
    assert replace(world, **shuffled).decision() == world.decision()


@given(worlds)
def test_an_action_is_the_same_in_any_case(world: World) -> None:
    swapped = {
        name: [
            {
                key: [text.swapcase() for text in value] if key.endswith("Action") else value
                for key, value in made.items()
            }
            for made in world.part(name)
        ]
        for name in world.parts()
    }
    request = replace(world.request, action=world.request.action.swapcase())
    assert replace(world, **swapped).decision() == world.decision()
    assert replace(world, request=request).decision() == world.decision()


@given(worlds)
def test_boundary_and_session_policies_only_take_away(world: World) -> None:
    allowed, _ = world.decision()
    if world.request.principal.kind != "federated":
        without = replace(world, boundary=None, session=None)
        if world.resource is None or not any("NotPrincipal" in made for made in world.resource):
            assert without.decision()[0] or not allowed


def opposite(made: dict[str, Any], element: str) -> dict[str, Any]:
    """Returns a statement with Action in place of NotAction, or the other way round."""
    other = element[3:] if element.startswith("Not") else f"Not{element}"
    return {(other if key == element else key): value for key, value in made.items()}


@given(worlds, statements(), st.sampled_from(("Action", "Resource")))
def test_not_action_and_not_resource_are_complements(
    world: World, made: dict[str, Any], element: str
) -> None:
    """Of a statement and its complement exactly one matches, where the rest of it matches."""
    bare = {key: value for key, value in made.items() if key != "Condition"} | {"Effect": "Allow"}
    other = "Resource" if element == "Action" else "Action"
    bare = {key: value for key, value in bare.items() if not key.endswith(other)} | {other: "*"}
    present = element if element in bare else f"Not{element}"
    alice = replace(world.request, principal=CALLERS[0])
    one, complement = (
        World([each], None, None, None, alice).decision()[0] for each in (bare, opposite(bare, present))
    )
    assert one != complement


def holds(name: str, key: str, given_values: list[str], context: dict[str, Value]) -> bool:
    request = Request(CALLERS[0], ACTIONS[0], RESOURCES[0], OWNER, context)
    return condition(name, key, given_values, variables=True)(request)


@given(prefixes, compared, keys, contexts)
def test_if_exists_is_true_without_the_key(
    prefix: str, comparison: tuple[str, list[str]], key: str, context: dict[str, Value]
) -> None:
    operator, listed = comparison
    expected = context.get(key) in {None, ()} or holds(prefix + operator, key, listed, context)
    assert holds(f"{prefix}{operator}IfExists", key, listed, context) == expected


@given(comparisons(*POSITIVE), contexts)
def test_a_negated_operator_is_the_negation(
    comparison: tuple[str, list[str]], context: dict[str, Value]
) -> None:
    operator, listed = comparison
    positive = holds(operator, "t:single", listed, context)
    assert holds(NEGATIONS[operator], "t:single", listed, context) == (not positive)


@given(comparisons(*POSITIVE), contexts)
def test_any_value_matches_unless_all_do_not(
    comparison: tuple[str, list[str]], context: dict[str, Value]
) -> None:
    operator, listed = comparison
    none = holds(f"ForAllValues:{NEGATIONS[operator]}", "t:several", listed, context)
    assert holds(f"ForAnyValue:{operator}", "t:several", listed, context) == (not none)


@given(keys, contexts)
def test_a_key_is_absent_or_present(key: str, context: dict[str, Value]) -> None:
    assert holds("Null", key, ["true"], context) != holds("Null", key, ["false"], context)


@given(compared, keys, contexts, st.data())
def test_the_order_of_values_is_irrelevant(
    comparison: tuple[str, list[str]], key: str, context: dict[str, Value], data: st.DataObject
) -> None:
    operator, listed = comparison
    shuffled = data.draw(st.permutations(listed))
    assert holds(operator, key, shuffled, context) == holds(operator, key, listed, context)


def matches_by_definition(pattern: str, text: str) -> bool:
    """Matches by the definition of wildcards, without any shortcut."""
    reached = [True] + [False] * len(text)
    for character in pattern:
        if character == "*":
            reached = [any(reached[: end + 1]) for end in range(len(text) + 1)]
        else:
            reached = [False] + [reached[end] and character in {"?", text[end]} for end in range(len(text))]
    return reached[-1]


@examples(1000)
@given(st.text("ab*?\n", max_size=8), st.text("ab\n", max_size=8))
def test_wildcards_match_by_their_definition(pattern: str, text: str) -> None:
    request = Request(CALLERS[0], "", "", OWNER)
    assert like(pattern, variables=False)(text, request) == matches_by_definition(pattern, text)


@given(st.text("ab*?${}", max_size=6), st.text("ab*?", max_size=6))
def test_the_value_of_a_variable_is_literal(value: str, text: str) -> None:
    request = Request(CALLERS[0], "", "", OWNER, {"t:single": value})
    assert like("${t:single}", variables=True)(text, request) == (text == value)
    assert like("x${t:single}*", variables=True)(f"x{text}", request) == text.startswith(value)


ELEMENTS = (
    "Version",
    "Statement",
    "Effect",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Principal",
    "AWS",
)
MORE = (
    "Sid",
    "Id",
    "Condition",
    "StringEquals",
    "2012-10-17",
    "Allow",
    "Deny",
    "dynamodb:GetItem",
    "*",
    "arn:aws:",
)
words = st.sampled_from((*ELEMENTS, *MORE, "aws:username", "${aws:username", "", OWNER))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words | st.text(max_size=5)
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)


@given(
    documents | worlds.map(lambda world: {"Statement": world.identity}),
    st.sampled_from(("identity", "resource", "trust")),
    requests,
)
def test_any_document_is_malformed_or_evaluated(document: Any, kind: Any, request: Request) -> None:
    try:
        policy = compile_policy(json.dumps(document), kind)
    except PolicyError as error:
        assert str(error)
        return
    resource = None if kind == "identity" else policy
    decision = evaluate(request, Policies([policy] if kind == "identity" else [], resource=resource))
    assert decision.error == ""
