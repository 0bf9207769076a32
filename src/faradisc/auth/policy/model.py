"""Requests, compiled policies and decisions.

    policy = compile_policy(text, "identity", name="ReadGames")              compiling.py
    decision = evaluate(request, Policies(identity=[policy]))                evaluate.py
    if not decision.allowed:
        raise AccessDeniedException(decision.sentence(request))

Facts: iam.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from time import gmtime, strftime
from typing import Final, Literal

from faradisc.records import dataclass, field

PolicyKind = Literal["identity", "resource", "trust"]
"""The grammar of a document. Boundaries and session policies are written as identity policies are."""

PolicyType = Literal[
    "identity-based policy",
    "resource-based policy",
    "permissions boundary",
    "session policy",
    "role trust policy",
]
"""The part that a policy plays for one request, in the words of denial sentences (iam.md section 6.1)."""

IDENTITY: Final = "identity-based policy"
RESOURCE: Final = "resource-based policy"
BOUNDARY: Final = "permissions boundary"
SESSION: Final = "session policy"
TRUST: Final = "role trust policy"

ACCOUNT: Final = 1
"""How directly a Principal element names a caller. Its account: the caller's policies must allow too."""
PARENT: Final = 2
"""A session's role, or the user behind a federated user: boundary and session policies still count."""
DIRECT: Final = 3
"""The caller itself, or everything: boundary and session policies do not count in the same account."""

PrincipalKind = Literal["account", "user", "session", "federated"]

Value = str | tuple[str, ...]
"""Of a condition key: one text, or the texts of a key that may have several."""

_PRINCIPAL_TYPES: Final[Mapping[PrincipalKind, str]] = {
    "account": "Account",
    "user": "User",
    "session": "AssumedRole",
    "federated": "FederatedUser",
}


class PolicyError(ValueError):
    """A malformed policy document. Its text is the service's sentence; `detail` says where and what."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


@dataclass(frozen=True)
class Principal:
    """The caller, after authentication.

    `kind` is "account" for the account itself (root, with all rights), "user", "session" for a session of a
    role, and "federated" for a user of GetFederationToken. GetSessionToken's keys are the user's own.
    """

    arn: str
    """As denial sentences show it (iam.md section 6.1)."""
    account: str
    """12 digits."""
    kind: PrincipalKind
    name: str = ""
    """Of a user: aws:username."""
    user_id: str = ""
    """aws:userid: `AIDA...`, `AROA...:session`, `ACCOUNT:name` or the account."""
    session_name: str = ""
    role_arn: str = ""
    """Of a session: its role, with the path. Of a federated user: the user that asked for it."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """aws:PrincipalTag: the tags of the user or role, under those of the session."""
    issued_s: int | None = None
    """Epoch seconds at which temporary credentials were issued; None for long-term keys."""
    source_identity: str = ""
    """As AssumeRole was given it, here or for an earlier session of the same caller."""

    @cached_property
    def names(self) -> Mapping[str, int]:
        """The names of the caller in Principal elements, and how direct they are (iam.md section 3.2)."""
        names = {"*": DIRECT, self.account: ACCOUNT}
        if self.kind == "account":
            return names
        ids = {self.arn: DIRECT, self.user_id: DIRECT, self.role_arn: PARENT}
        if self.kind == "session":
            ids[self.user_id.partition(":")[0]] = PARENT
        return names | {name: grant for name, grant in ids.items() if name}

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """The condition keys that follow from the caller, lower-cased (iam.md section 5)."""
        keys = {
            "aws:principalarn": self.role_arn if self.kind == "session" else self.arn,
            "aws:principalaccount": self.account,
            "aws:principaltype": _PRINCIPAL_TYPES[self.kind],
            "aws:principalisawsservice": "false",
            "aws:viaawsservice": "false",
        }
        if self.kind == "user":
            keys["aws:username"] = self.name
        if self.user_id:
            keys["aws:userid"] = self.user_id
        if self.issued_s is not None:
            keys["aws:tokenissuetime"] = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(self.issued_s))
            keys["aws:multifactorauthpresent"] = "false"
        if self.source_identity:
            keys["aws:sourceidentity"] = self.source_identity
        keys |= {f"aws:principaltag/{key.lower()}": value for key, value in self.tags.items()}
        return keys


@dataclass(slots=True, eq=False)
class Request:
    """One action on one resource. An operation that needs several pairs is several requests."""

    principal: Principal
    action: str
    """`dynamodb:GetItem`."""
    resource: str
    """An ARN; `*` for an action without resources, such as dynamodb:ListTables (iam.md section 1.2)."""
    resource_account: str
    """The account that owns the resource; the caller's where `resource` is `*`."""
    context: Mapping[str, Value] = field(default_factory=dict)
    """Condition keys, lower-cased (`dynamodb:leadingkeys`); an absent key is not there. Keys of the principal
    and aws:ResourceAccount need not be here; they count where they are."""

    def value(self, key: str) -> Value | None:
        """Returns the value of a condition key, lower-cased, or None if it is absent."""
        value = self.context.get(key)
        if value is None:
            value = self.principal.keys.get(key)
            if value is None and key == "aws:resourceaccount":
                return self.resource_account
        return value


@dataclass(frozen=True, slots=True, eq=False)
class PolicyStatement:
    """One compiled statement."""

    sid: str
    allow: bool
    applies: Callable[[str, Request], bool]
    """Whether action (lower-cased), resource and conditions match. The principal is not asked."""
    grant: Callable[[Principal, bool], int] | None
    """How directly its Principal names a caller, 0 if not at all; the flag says whether the caller has a
    boundary. None in identity policies."""


@dataclass(frozen=True, slots=True, eq=False)
class CompiledPolicy:
    """A policy document, compiled once and evaluated often."""

    kind: PolicyKind
    name: str
    allows: tuple[PolicyStatement, ...]
    denies: tuple[PolicyStatement, ...]
    keys: frozenset[str]
    """Condition keys and variables that it names, lower-cased; for simulations."""


@dataclass(frozen=True, slots=True, eq=False)
class Policies:
    """All policies that count for one request. None: there is no such policy, which is not an empty one."""

    identity: Sequence[CompiledPolicy] = ()
    """The user's and its groups', or the role's."""
    boundary: CompiledPolicy | None = None
    session: Sequence[CompiledPolicy] | None = None
    resource: CompiledPolicy | None = None
    """The resource's policy; for sts:AssumeRole the role's trust policy."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer, and the policy that it comes from, for the audit log."""

    allowed: bool
    explicit: bool
    """A statement decided: an Allow or a Deny. False where no statement allowed, or none was needed."""
    kind: PolicyType
    """The type of the policy that decided; of a denial by default, the type that had to allow and did not."""
    policy: str = ""
    """The name of the policy; empty where none decided."""
    sid: str = ""
    error: str = ""
    """Why evaluation failed, which denies; empty where it did not."""

    def sentence(self, request: Request, resource: str | None = None) -> str:
        """Returns the service's sentence for a denial (iam.md section 6.1).

        `resource` is what it shows where that differs from the request's (`table/*` of ListTables).
        """
        action = request.action
        if not self.explicit:
            cause = f"because no {self.kind} allows the {action} action"
        else:
            article = {IDENTITY: "an", TRUST: "the"}.get(self.kind, "a")
            cause = f"with an explicit deny in {article} {self.kind}"
        return (
            f"User: {request.principal.arn} is not authorized to perform: {action} "
            f"on resource: {resource or request.resource} {cause}"
        )
