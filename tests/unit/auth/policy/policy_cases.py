"""What the tables of cases are written with: callers, resources, statements, sources; and their evaluation.

A case is data: policies, a request, the decision, and where the service's answer comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import (
    CompiledPolicy,
    Decision,
    Policies,
    PolicyKind,
    Principal,
    Request,
    Value,
)

OWNER, OTHER = "111111111111", "222222222222"
TABLES = f"arn:aws:dynamodb:us-east-1:{OWNER}:table"
T = f"{TABLES}/Games"
T2 = f"{TABLES}/Secret"
INDEX = f"{T}/index/ByTop"
STREAM = f"{T}/stream/2024-02-12T18:57:26.492"
ROLE = f"arn:aws:iam::{OWNER}:role/service/Reader"
SESSION_ARN = f"arn:aws:sts::{OWNER}:assumed-role/Reader/S"
ROLE_TO_ASSUME = f"arn:aws:iam::{OWNER}:role/Admin"

# Where answers come from. iam.md has the facts; these are its sources.
ELEMENTS = "IAM User Guide, policy elements"
GRAMMAR = "IAM User Guide, grammar"
OPERATORS = "IAM User Guide, condition operators"
SEVERAL = "IAM User Guide, keys with several values"
VARIABLES = "IAM User Guide, policy variables"
GLOBAL_KEYS = "IAM User Guide, global condition keys"
EVALUATION = "IAM User Guide, evaluation logic"
ACROSS = "IAM User Guide, evaluation between accounts"
PRINCIPALS = "IAM User Guide, Principal"
NOT_PRINCIPAL = "IAM User Guide, NotPrincipal"
BOUNDARIES = "IAM User Guide, permissions boundaries"
SESSIONS = "IAM User Guide, session policies"
ITEMS = "DynamoDB Developer Guide, fine-grained access control"
TRANSACTIONS = "DynamoDB Developer Guide, IAM with transactions"
PARTIQL = "DynamoDB Developer Guide, IAM with PartiQL"
VECTORS = "DynamoDB Developer Guide, security of vector search"
TAGS = "DynamoDB Developer Guide, attribute-based access control"
RESOURCE_POLICIES = "DynamoDB Developer Guide, resource-based policies"
STREAMS = "DynamoDB Developer Guide, policies for streams"
REFERENCE = "Service Authorization Reference, DynamoDB"
STS_API = "STS API Reference"
OBSERVED = "answers of the service, quoted in public"
SIMULATOR = "iam-simulate, tests of its engine"
IMPLEMENTED = "other implementations"
ASSUMED = "no source"

CALLERS = {
    "alice": Principal(
        f"arn:aws:iam::{OWNER}:user/staff/alice", OWNER, "user", "alice", "AIDAALICE", tags={"team": "red"}
    ),
    "bob": Principal(f"arn:aws:iam::{OWNER}:user/bob", OWNER, "user", "bob", "AIDABOB"),
    "session": Principal(
        SESSION_ARN,
        OWNER,
        "session",
        user_id="AROAREADER:S",
        session_name="S",
        role_arn=ROLE,
        tags={"Tenant": "t1"},
        issued_s=1_700_000_000,
    ),
    "federated": Principal(
        f"arn:aws:sts::{OWNER}:federated-user/fred",
        OWNER,
        "federated",
        user_id=f"{OWNER}:fred",
        role_arn=f"arn:aws:iam::{OWNER}:user/staff/alice",
        issued_s=1_700_000_000,
    ),
    "root": Principal(f"arn:aws:iam::{OWNER}:root", OWNER, "account", user_id=OWNER),
    "xena": Principal(f"arn:aws:iam::{OTHER}:user/xena", OTHER, "user", "xena", "AIDAXENA"),
    "foreign session": Principal(
        f"arn:aws:sts::{OTHER}:assumed-role/Far/S",
        OTHER,
        "session",
        user_id="AROAFAR:S",
        session_name="S",
        role_arn=f"arn:aws:iam::{OTHER}:role/Far",
        issued_s=1_700_000_000,
    ),
    "foreign root": Principal(f"arn:aws:iam::{OTHER}:root", OTHER, "account", user_id=OTHER),
}
USERS = {name: caller.arn for name, caller in CALLERS.items()}

Statement = dict[str, Any]
Policy = Statement | Sequence[Statement]
Expected = Literal["allow", "implicit", "explicit"]


def _action(name: str) -> str:
    return name if ":" in name or name == "*" else f"dynamodb:{name}"


def allow(action: str | list[str], resource: str | list[str] = "*", **condition: Any) -> Statement:
    """Returns an Allow. A name without a service is DynamoDB's; keywords are condition operators."""
    return statement("Allow", action, resource, **condition)


def deny(action: str | list[str], resource: str | list[str] = "*", **condition: Any) -> Statement:
    return statement("Deny", action, resource, **condition)


def statement(effect: str, action: str | list[str], resource: str | list[str], **condition: Any) -> Statement:
    actions = [_action(name) for name in ([action] if isinstance(action, str) else action)]
    made: Statement = {"Effect": effect, "Action": actions, "Resource": resource}
    return made | {"Condition": condition} if condition else made


def to(principal: str | dict[str, Any], made: Statement) -> Statement:
    """Returns a statement of a resource policy: an ARN, account or `*` as Principal."""
    named = principal if isinstance(principal, dict) or principal == "*" else {"AWS": principal}
    return made | {"Principal": named}


def trusting(
    principal: str, effect: str = "Allow", action: str = "sts:AssumeRole", **condition: Any
) -> Statement:
    """Returns a statement of a trust policy."""
    made: Statement = {"Effect": effect, "Action": action, "Principal": {"AWS": principal}}
    return made | {"Condition": condition} if condition else made


@dataclass(frozen=True)
class Case:
    """A request against policies. None: there is no policy of that type."""

    name: str
    ask: tuple[str, str, str]
    """Caller, action, resource."""
    expected: Expected
    source: str
    identity: Policy = ()
    boundary: Policy | None = None
    session: Policy | None = None
    resource: Policy | None = None
    trust: Policy | None = None
    context: Mapping[str, Value] = field(default_factory=dict)
    version: str | None = "2012-10-17"
    because: str = ""
    """The type of policy that the decision names; not checked if empty."""


def compiled(statements: Policy, kind: PolicyKind, version: str | None, name: str = "") -> CompiledPolicy:
    document: dict[str, Any] = {"Statement": statements if isinstance(statements, dict) else [*statements]}
    return compile_policy(document | ({"Version": version} if version else {}), kind, name=name)


def policies_of(case: Case) -> Policies:
    """Returns the compiled policies of a case. An identity without statements has no policy at all."""
    identity = [compiled(case.identity, "identity", case.version, "id")] if case.identity else []
    boundary = None if case.boundary is None else compiled(case.boundary, "identity", case.version, "pb")
    session = None if case.session is None else [compiled(case.session, "identity", case.version, "sp")]
    resource = None
    if case.resource is not None:
        resource = compiled(case.resource, "resource", case.version, "rp")
    elif case.trust is not None:
        resource = compiled(case.trust, "trust", case.version, "trust")
    return Policies(identity, boundary, session, resource)


def request_of(case: Case) -> Request:
    caller, action, resource = case.ask
    account = resource.split(":")[4] if resource != "*" else CALLERS[caller].account
    return Request(CALLERS[caller], _action(action), resource, account, case.context)


def decide(case: Case) -> Decision:
    return evaluate(request_of(case), policies_of(case))


def outcome(decision: Decision) -> Expected:
    if decision.allowed:
        return "allow"
    return "explicit" if decision.explicit else "implicit"
