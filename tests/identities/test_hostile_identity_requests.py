"""Forms that no client sends: IAM and STS answer each with an error of theirs, and never with a 500."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from faradisc.protocol.http import HttpRequest
from faradisc.protocol.service_model import load
from faradisc.services.iam import registry
from fixtures.identity_world import ACCOUNT, ADMIN, IdentityWorld, entity_arn, trust
from fixtures.searching import examples

OPERATIONS = [("iam", name) for name in sorted(registry.IAM)] + [
    ("sts", name) for name in sorted(registry.STS)
]
VERSIONS = {"iam": "2010-05-08", "sts": "2011-06-15"}


def post(world: IdentityWorld, service: str, body: str, region: str = "us-east-1") -> tuple[int, str]:
    """Sends a signed form. Returns status and body of the answer."""
    headers = {"host": "localhost", "content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    request = AWSRequest("POST", "http://localhost/", headers=headers, data=body.encode())
    SigV4Auth(Credentials(ADMIN.key_id, ADMIN.secret), service, region).add_auth(request)
    sent = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
    answer = world.answer(HttpRequest("POST", b"/", sent, body.encode()))
    return answer.status, answer.body.decode()


def form(service: str, operation: str, **members: str) -> str:
    return urlencode({"Action": operation, "Version": VERSIONS[service], **members})


@pytest.fixture
def world(identity_world: IdentityWorld) -> IdentityWorld:
    identity_world.user("alice")
    identity_world.iam.create_group(GroupName="team")
    identity_world.iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(ACCOUNT))
    return identity_world


@pytest.mark.parametrize(("service", "operation"), OPERATIONS)
def test_forms_without_members_and_with_odd_ones(world: IdentityWorld, service: str, operation: str) -> None:
    shape = load(service).operations[operation].input
    odd = ("", "x", "*", "\x00", "ü", "a" * 5000, "-1", "true", entity_arn("user/alice"), "arn:aws:iam::")
    bodies = [form(service, operation)]
    bodies += [form(service, operation, **dict.fromkeys(shape.members, text)) for text in odd]
    bodies += [
        form(service, operation, **{f"{name}.member.1": text}) for name in shape.members for text in odd[:3]
    ]
    for body in bodies:
        status, text = post(world, service, body)
        assert status in (200, 400, 403, 404, 409), (body[:200], text)
        assert (status == 200) == ("<Error" not in text)


texts = st.one_of(
    st.sampled_from(
        ["alice", "team", "reader", "/", "v1", "Active", entity_arn("role/reader"), "{}", "[]", "*"]
    ),
    st.text(max_size=12),
)


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(OPERATIONS),
    st.dictionaries(st.integers(0, 30), texts, max_size=8),
    st.sampled_from(["", ".member.1", ".member.2.Key", ".member.1.x.y", ".1", ".member"]),
)
def test_any_members_are_answered(
    world: IdentityWorld, called: tuple[str, str], chosen: dict[int, str], ending: str
) -> None:
    service, operation = called
    names = list(load(service).operations[operation].input.members) or ["None"]
    members = {
        names[number % len(names)] + (ending if number % 2 else ""): text for number, text in chosen.items()
    }
    body = "&".join(
        f"{name}={quote(text, errors='surrogatepass')}"
        for name, text in {"Action": operation, "Version": VERSIONS[service], **members}.items()
    )
    status, text = post(world, service, body)
    assert status in (200, 400, 403, 404, 409), text


@pytest.mark.parametrize(
    "document",
    [
        "[" * 50_000,
        '{"Statement":' * 10_000,
        json.dumps({"Statement": [{"Effect": "Allow", "Action": "a:b", "Resource": "*"}] * 1500}),
        json.dumps({"Statement": {"Effect": "Allow", "Action": "*" * 3000 + "a", "Resource": "*"}}),
        json.dumps({"Statement": {"Effect": ["Allow"], "Action": {}, "Resource": 7}}),
        "null",
        '"text"',
        "\u2028",
    ],
)
def test_hostile_documents_are_malformed_or_too_large(world: IdentityWorld, document: str) -> None:
    for operation, members in (
        ("PutUserPolicy", {"UserName": "alice", "PolicyName": "p", "PolicyDocument": document}),
        ("CreatePolicy", {"PolicyName": "p", "PolicyDocument": document}),
        ("UpdateAssumeRolePolicy", {"RoleName": "reader", "PolicyDocument": document}),
        ("SimulateCustomPolicy", {"PolicyInputList.member.1": document, "ActionNames.member.1": "a:b"}),
    ):
        status, text = post(world, "iam", form("iam", operation, **members))
        assert (status in (400, 409)) or operation == "SimulateCustomPolicy", text
        assert status < 500


def test_form_of_a_service_is_not_read_as_anothers(world: IdentityWorld) -> None:
    """A signature for STS carries no call of IAM: the version decides, and the scope has to fit."""
    status, text = post(world, "sts", form("iam", "CreateUser", UserName="mallory"))
    assert (status, "SignatureDoesNotMatch" in text) == (400, True) or status == 403
    assert "mallory" not in {user.name for user in world.access.keyring.identities.users.values()}  # type: ignore[union-attr]
    both = f"{form('sts', 'GetCallerIdentity')}&Version=2010-05-08&Action=DeleteUser&UserName=alice"
    post(world, "iam", both)
    post(world, "sts", both)
    for service in ("iam", "sts"):
        status, _ = post(world, service, f"Action=Nonsense&Version={VERSIONS[service]}")
        assert status in (400, 404)


def test_unsigned_forms_are_rejected(world: IdentityWorld) -> None:
    headers = {b"host": b"localhost", b"content-type": b"application/x-www-form-urlencoded"}
    for service, operation in (("iam", "ListUsers"), ("sts", "GetCallerIdentity")):
        body = form(service, operation).encode()
        answer = world.answer(HttpRequest("POST", b"/", headers, body))
        assert (answer.status, b"MissingAuthenticationToken" in answer.body) == (400, True) or (
            answer.status == 403
        )


def test_lenient_server_has_no_identities(identity_world: IdentityWorld) -> None:
    process: Any = identity_world.process
    process.database.other_services.identities = None
    status, text = post(identity_world, "iam", form("iam", "ListUsers"))
    assert (status, "--auth strict" in text) == (400, True)
