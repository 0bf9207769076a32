"""Malformed documents: the service's sentence for each, and hostile ones are rejected early."""

from __future__ import annotations

import json
from typing import Any

import pytest
from policy_cases import OWNER, T, allow, to, trusting

from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.documents import DOCUMENT_CHARACTERS_MAX
from faradisc.auth.policy.model import PolicyError, PolicyKind

SYNTAX = "Syntax errors in policy."
LEGACY = "The policy failed legacy parsing"
GET = allow("GetItem", T)


def document(*statements: Any, **elements: Any) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [*statements], **elements}


def changed(**elements: Any) -> dict[str, Any]:
    """Returns a policy of one statement with elements changed, or without those that are None."""
    made = GET | elements
    return document({name: value for name, value in made.items() if value is not None})


IDENTITY: list[tuple[str, Any, str]] = [
    ("no JSON", "{", SYNTAX),
    ("empty text", "", SYNTAX),
    ("a list", "[]", SYNTAX),
    ("a text", '"x"', SYNTAX),
    ("a repeated name", '{"Version":"2012-10-17","Version":"2012-10-17","Statement":[]}', SYNTAX),
    (
        "NaN",
        '{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"x":{"y":NaN}}}]}',
        SYNTAX,
    ),
    ("a number of many digits", '{"Statement":' + "9" * 5000 + "}", SYNTAX),
    ("deep nesting", "[" * 100_000, SYNTAX),
    ("a character outside Latin-1", '{"Id":"\u20ac","Statement":[]}', SYNTAX),
    ("a control character", '{"Id":\x0b"x","Statement":[]}', SYNTAX),
    ("an unknown element", document(GET, Conditions={}), SYNTAX),
    ("an unknown version", document(GET, Version="2013-10-17"), SYNTAX),
    ("a version of another type", document(GET, Version=2012), SYNTAX),
    ("a version that is a list", document(GET, Version=["2012-10-17"]), SYNTAX),
    ("an Id of another type", document(GET, Id=1), SYNTAX),
    ("no Statement", {"Version": "2012-10-17"}, SYNTAX),
    ("no statements", document(), SYNTAX),
    ("a statement that is a text", document("Allow"), SYNTAX),
    ("a list in the list", document([GET]), SYNTAX),
    ("an unknown element of a statement", changed(Foo="x"), SYNTAX),
    ("an element in other case", changed(action="x"), SYNTAX),
    ("no Effect", changed(Effect=None), SYNTAX),
    ("another Effect", changed(Effect="Permit"), SYNTAX),
    ("an Effect of another type", changed(Effect=["Allow"]), SYNTAX),
    ("an Effect in other case", changed(Effect="allow"), LEGACY),
    ("Action and NotAction", changed(NotAction="dynamodb:GetItem"), SYNTAX),
    ("Resource and NotResource", changed(NotResource=T), SYNTAX),
    ("a number as action", changed(Action=1), SYNTAX),
    ("an object as action", changed(Action={}), SYNTAX),
    ("a number among resources", changed(Resource=[T, 1]), SYNTAX),
    ("a Sid of another type", changed(Sid=1), SYNTAX),
    ("a Condition that is a list", changed(Condition=[]), SYNTAX),
    ("an operator that is a text", changed(Condition={"Bool": "true"}), SYNTAX),
    ("a value that is an object", changed(Condition={"Bool": {"aws:x": {}}}), SYNTAX),
    ("a value that is null", changed(Condition={"Bool": {"aws:x": None}}), SYNTAX),
    ("a list in a list of values", changed(Condition={"Bool": {"aws:x": [["true"]]}}), SYNTAX),
    ("an unknown operator", changed(Condition={"StringIs": {"aws:x": "y"}}), SYNTAX),
    ("an empty operator", changed(Condition={"": {"aws:x": "y"}}), SYNTAX),
    ("an unknown set operator", changed(Condition={"ForSomeValues:Bool": {"aws:x": "true"}}), SYNTAX),
    ("NullIfExists", changed(Condition={"NullIfExists": {"aws:x": "true"}}), SYNTAX),
    ("a set operator with Null", changed(Condition={"ForAnyValue:Null": {"aws:x": "true"}}), SYNTAX),
    ("a set operator alone", changed(Condition={"ForAnyValue:": {"aws:x": "true"}}), SYNTAX),
    ("no date", changed(Condition={"DateLessThan": {"aws:CurrentTime": "soon"}}), LEGACY),
    ("no day", changed(Condition={"DateLessThan": {"aws:CurrentTime": "2020-02-30"}}), LEGACY),
    ("a variable as date", changed(Condition={"DateLessThan": {"aws:CurrentTime": "${aws:x}"}}), LEGACY),
    (
        "a Sid twice",
        document(GET | {"Sid": "a"}, GET | {"Sid": "a"}),
        "Statement IDs (SID) in a single policy must be unique.",
    ),
    (
        "a Sid with a blank",
        changed(Sid="a b"),
        "Statement IDs (SID) must be alpha-numeric. "
        "Check that your input satisfies the regular expression [0-9A-Za-z]*",
    ),
    ("no actions", changed(Action=None), "Policy statement must contain actions."),
    ("an empty list of actions", changed(Action=[]), "Policy statement must contain actions."),
    (
        "an empty list of other actions",
        changed(Action=None, NotAction=[]),
        "Policy statement must contain actions.",
    ),
    ("no resources", changed(Resource=None), "Policy statement must contain resources."),
    ("an empty list of resources", changed(Resource=[]), "Policy statement must contain resources."),
    ("a name as resource", changed(Resource="Games"), 'Resource Games must be in ARN format or "*".'),
    (
        "a path as resource",
        changed(Resource="table:Games"),
        'Resource table:Games must be in ARN format or "*".',
    ),
    ("nothing but arn", changed(Resource="arn:"), 'Resource arn: must be in ARN format or "*".'),
    (
        "another partition",
        changed(Resource="arn:azure:dynamodb:us-east-1:1:table/T"),
        'Partition "azure" is not valid for resource "arn:azure:dynamodb:us-east-1:1:table/T".',
    ),
    (
        "a pattern of services",
        changed(Resource="arn:aws:dynamo*:us-east-1:1:table/T"),
        "Resource vendor must be fully qualified and cannot contain regexes.",
    ),
    (
        "no service",
        changed(Resource="arn:aws"),
        "Resource vendor must be fully qualified and cannot contain regexes.",
    ),
    (
        "an action without service",
        changed(Action="GetItem"),
        "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
    ),
    (
        "an empty action",
        changed(Action=[""]),
        "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
    ),
    (
        "two actions in one text",
        changed(Action="dynamodb:GetItem,dynamodb:PutItem"),
        "Actions/Condition can contain only one colon.",
    ),
    (
        "a user of a region",
        changed(Resource=f"arn:aws:iam:us-east-1:{OWNER}:user/alice"),
        f"IAM resource arn:aws:iam:us-east-1:{OWNER}:user/alice cannot contain region information.",
    ),
    (
        "a bucket of a region",
        changed(Resource="arn:aws:s3:us-east-1::bucket"),
        "Resource arn:aws:s3:us-east-1::bucket can not contain region information.",
    ),
    ("a service with a blank", changed(Action="dynamo db:GetItem"), "Vendor dynamo db is not valid"),
    ("a pattern as service", changed(Action="dynamo*:GetItem"), "Vendor dynamo* is not valid"),
    ("a variable as service", changed(Action="${aws:username}"), "Vendor ${aws is not valid"),
    ("a Principal", changed(Principal="*"), "Policy document should not specify a principal."),
    ("a NotPrincipal", changed(NotPrincipal="*"), "Policy document should not specify a principal."),
]


def invalid(value: str, form: str = "AWS") -> str:
    return f'Invalid principal in policy: "{form}":"{value}"'


RESOURCE: list[tuple[str, Any, str]] = [
    ("no Principal", document(GET), "Missing required field Principal"),
    ("Principal and NotPrincipal", changed(Principal="*", NotPrincipal="*"), SYNTAX),
    ("a name as Principal", document(GET | {"Principal": "alice"}), 'Invalid principal in policy: "alice"'),
    ("no names", document(GET | {"Principal": {}}), 'Invalid principal in policy: "{}"'),
    ("a list as Principal", document(GET | {"Principal": ["*"]}), "Invalid principal in policy: \"['*']\""),
    ("an empty list of names", document(to({"AWS": []}, GET)), invalid("[]")),
    ("an empty name", document(to({"AWS": ""}, GET)), invalid("")),
    ("a number as name", document(to({"AWS": 1}, GET)), invalid("1")),
    ("a user's name", document(to("alice", GET)), invalid("alice")),
    ("eleven digits", document(to("1" * 11, GET)), invalid("1" * 11)),
    (
        "a pattern of users",
        document(to(f"arn:aws:iam::{OWNER}:user/*", GET)),
        invalid(f"arn:aws:iam::{OWNER}:user/*"),
    ),
    ("a group", document(to(f"arn:aws:iam::{OWNER}:group/g", GET)), invalid(f"arn:aws:iam::{OWNER}:group/g")),
    ("an unknown form", document(to({"Azure": "x"}, GET)), invalid("x", "Azure")),
    (
        "no resources",
        document(to("*", {"Effect": "Allow", "Action": "*"})),
        "Missing required field Resource",
    ),
]
VALUES = [
    *(("NumericEquals", "ten"), ("NumericLessThan", ""), ("NumericEqualsIfExists", "1e3")),
    *(("DateLessThan", "soon"), ("DateEquals", "2020-13-01")),
    *(("IpAddress", "home"), ("IpAddress", "10.0.0.0/33"), ("NotIpAddress", "10.0.0.256")),
    *(("Bool", "yes"), ("ForAnyValue:Bool", "1"), ("BinaryEquals", "no base64"), ("Null", "perhaps")),
]


@pytest.mark.parametrize(("operator", "value"), VALUES)
def test_values_that_an_operator_cannot_compare_are_malformed(operator: str, value: str) -> None:
    """A denial of what nothing can match would deny nothing."""
    denial = changed(Effect="Deny", Condition={operator: {"aws:x": value}})
    with pytest.raises(PolicyError) as caught:
        compile_policy(denial, "identity")
    assert str(caught.value) == LEGACY


TRUST: list[tuple[str, Any, str]] = [
    (
        "an action of another service",
        document(trusting("*") | {"Action": ["sts:AssumeRole", "s3:GetObject"]}),
        "AssumeRole policy may only specify STS AssumeRole actions.",
    ),
    (
        "a service without its domain",
        document(trusting("*") | {"Principal": {"Service": ["lambda"]}}),
        invalid("lambda", "Service"),
    ),
    ("no JSON", "{", "This policy contains invalid Json"),
    ("a Resource", document(trusting("*") | {"Resource": "*"}), "Has prohibited field Resource"),
    ("a NotResource", document(trusting("*") | {"NotResource": T}), "Has prohibited field NotResource"),
    (
        "a NotPrincipal",
        document({"Effect": "Allow", "Action": "*", "NotPrincipal": "*"}),
        "Has prohibited field NotPrincipal",
    ),
    (
        "no Principal",
        document({"Effect": "Allow", "Action": "sts:AssumeRole"}),
        "Missing required field Principal",
    ),
]

MALFORMED = [
    *(("identity", *row) for row in IDENTITY),
    *(("resource", *row) for row in RESOURCE),
    *(("trust", *row) for row in TRUST),
]


@pytest.mark.parametrize(("kind", "name", "malformed", "sentence"), MALFORMED, ids=lambda x: str(x)[:40])
def test_malformed_document(kind: PolicyKind, name: str, malformed: Any, sentence: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compile_policy(malformed, kind)
    assert str(caught.value) == sentence


def test_a_detail_says_where_and_what() -> None:
    with pytest.raises(PolicyError) as caught:
        compile_policy(document(GET, GET | {"Efect": "Allow"}), "identity")
    assert caught.value.detail == "statement 2: unknown element Efect"


def test_the_length_is_limited_before_anything_is_read() -> None:
    longest = '{"Statement":[]}'.ljust(DOCUMENT_CHARACTERS_MAX)
    for text, detail in ((longest, "Statement is empty"), (longest + " ", "more than 131072 characters")):
        with pytest.raises(PolicyError) as caught:
            compile_policy(text, "identity")
        assert caught.value.detail == detail


def test_what_json_cannot_write_is_malformed() -> None:
    endless: dict[str, Any] = {}
    endless["Statement"] = endless
    for given in (endless, {"Statement": {1, 2}}, {"Statement": object()}):
        with pytest.raises(PolicyError):
            compile_policy(given, "identity")


def test_a_text_and_its_object_are_the_same_policy() -> None:
    for given in (document(GET), json.dumps(document(GET)), json.dumps(document(GET), indent=4)):
        policy = compile_policy(given, "identity", name="n")
        assert (policy.name, len(policy.allows), len(policy.denies)) == ("n", 1, 0)


def test_characters_outside_latin_1_are_written_as_escapes() -> None:
    policy = compile_policy(document(allow("*", StringEquals={"aws:x": "\u20ac"})), "identity")
    assert len(policy.allows) == 1


def test_the_keys_of_a_policy_are_those_of_conditions_and_variables() -> None:
    resource = f"{T}/${{aws:PrincipalTag/Team, 'x'}}"
    made = document(allow("GetItem", resource, StringLike={"aws:UserAgent": "a${aws:username}${*}"}))
    keys = {"aws:principaltag/team", "aws:useragent", "aws:username"}
    assert compile_policy(made, "identity").keys == keys
    assert compile_policy(made | {"Version": "2008-10-17"}, "identity").keys == {"aws:useragent"}
