"""Users, groups, roles and managed policies of the account, as they are stored.

Names are unique whatever their case, so each kind is a dict by lower-case name. Source: iam.md sections 3.6
and 8.2.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import orjson

from faradisc.clock import Entropy
from faradisc.records import dataclass, field

_BASE32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@dataclass(slots=True)
class UserKey:
    """An access key of a user."""

    secret: str = field(repr=False)
    created_s: int
    active: bool = True


@dataclass(slots=True, kw_only=True)
class Entity:
    kind: ClassVar[str]
    """`User`, as in the names of operations and members."""
    id_prefix: ClassVar[str]
    name: str
    id: str
    created_s: int
    path: str = "/"

    def arn(self, account: str) -> str:
        return f"arn:aws:iam::{account}:{self.kind.lower()}{self.path}{self.name}"


@dataclass(slots=True, kw_only=True)
class Holder(Entity):
    """An entity that has policies."""

    inline: dict[str, str] = field(default_factory=dict)
    """Documents by name."""
    attached: list[str] = field(default_factory=list)
    """ARNs of managed policies."""


@dataclass(slots=True, kw_only=True)
class Group(Holder):
    kind = "Group"
    id_prefix = "AGPA"


@dataclass(slots=True, kw_only=True)
class User(Holder):
    kind = "User"
    id_prefix = "AIDA"
    boundary: str | None = None
    """ARN of a managed policy."""
    tags: dict[str, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    """Keys of `Identities.groups`."""
    keys: dict[str, UserKey] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Role(Holder):
    kind = "Role"
    id_prefix = "AROA"
    boundary: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    trust: str
    """Document of the policy that says who may assume the role."""
    description: str = ""
    session_s_max: int = 3600


@dataclass(slots=True)
class PolicyVersion:
    document: str
    created_s: int


@dataclass(slots=True, kw_only=True)
class ManagedPolicy(Entity):
    kind = "Policy"
    id_prefix = "ANPA"
    updated_s: int
    description: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    versions: dict[str, PolicyVersion]
    """`v1` and so on, oldest first."""
    default: str = "v1"
    newest: int = 1
    """Number of the newest version there was."""

    @property
    def document(self) -> str:
        return self.versions[self.default].document


@dataclass(slots=True)
class Identities:
    users: dict[str, User] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    policies: dict[str, ManagedPolicy] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: bytes) -> Identities:
        """Returns what `stored` returned the bytes of. Raises ValueError, KeyError, TypeError."""
        raw: dict[str, dict[str, dict[str, Any]]] = orjson.loads(stored)
        for user in raw["users"].values():
            user["keys"] = {key_id: UserKey(**key) for key_id, key in user["keys"].items()}
        for policy in raw["policies"].values():
            policy["versions"] = {name: PolicyVersion(**each) for name, each in policy["versions"].items()}
        return cls(
            {name: User(**each) for name, each in raw["users"].items()},
            {name: Group(**each) for name, each in raw["groups"].items()},
            {name: Role(**each) for name, each in raw["roles"].items()},
            {name: ManagedPolicy(**each) for name, each in raw["policies"].items()},
        )

    def stored(self) -> bytes:
        return orjson.dumps(self)

    def managed_policy(self, arn: str, account: str) -> ManagedPolicy | None:
        """Returns a policy of the account, or one of AWS that is offered here; None if there is none."""
        policy = AWS_POLICIES.get(arn) or self.policies.get(arn.rpartition("/")[2].lower())
        if policy is not None and (arn in AWS_POLICIES or policy.arn(account) == arn):
            return policy
        return None

    @property
    def holders(self) -> list[User | Group | Role]:
        return [*self.users.values(), *self.groups.values(), *self.roles.values()]


def new_id(prefix: str, entropy: Entropy) -> str:
    """Returns an entity's id in AWS's form, `AIDA` and 17 letters or digits."""
    return prefix + bytes(_BASE32[byte & 31] for byte in entropy.token_bytes(17)).decode()


def _aws_policy(name: str, *actions: str) -> ManagedPolicy:
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    document = orjson.dumps({"Version": "2012-10-17", "Statement": statement}).decode()
    return ManagedPolicy(
        name=name,
        id=f"ANPA{name.upper()}"[:21],
        created_s=0,
        updated_s=0,
        versions={"v1": PolicyVersion(document, 0)},
    )


_READS: Final = ("BatchGetItem", "GetItem", "Query", "Scan", "PartiQLSelect", "Describe*", "List*")
AWS_POLICIES: Final = {
    f"arn:aws:iam::aws:policy/{policy.name}": policy
    for policy in (
        _aws_policy("AdministratorAccess", "*"),
        _aws_policy("AmazonDynamoDBFullAccess", "dynamodb:*", "application-autoscaling:*", "cloudwatch:*"),
        _aws_policy("AmazonDynamoDBReadOnlyAccess", *(f"dynamodb:{action}" for action in _READS)),
    )
}
"""AWS's managed policies that concern the services here, reduced to these services."""
