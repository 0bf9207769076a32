"""What a handler is given, and what handlers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from faradisc.auth.identities import (
    AWS_POLICIES,
    Entity,
    Identities,
    ManagedPolicy,
    Role,
    User,
)
from faradisc.auth.keyring import FileKeyring
from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.model import (
    CompiledPolicy,
    Decision,
    Policies,
    PolicyError,
    PolicyKind,
    Principal,
    Request,
    Value,
)
from faradisc.auth.session_tokens import RoleSession
from faradisc.clock import Entropy
from faradisc.records import dataclass
from faradisc.services.iam.errors import (
    InvalidInput,
    LimitExceeded,
    MalformedPolicyDocument,
    NoSuchEntity,
    ValidationError,
)

Members = dict[str, Any]
E = TypeVar("E", bound=Entity)

TAGS_MAX: Final = 50
PAGE: Final = 100
QUOTAS: Final = {"User": 5000, "Group": 300, "Role": 1000, "Policy": 1500}
"""Of each kind in an account."""


@dataclass(slots=True)
class Ask:
    """A request of an operation of IAM or STS."""

    operation: str
    kind: str
    """Of the entity that the request names: `User`, `Group`, `Role`, `Policy`; else the registry's word."""
    request: Mapping[str, Any]
    caller: Principal
    policies: Policies
    """The caller's."""
    context: Mapping[str, Value]
    """Condition keys of the request, lower-cased."""
    session: RoleSession | None
    """The caller's, of temporary credentials."""
    access_key_id: str
    keyring: FileKeyring
    now_s: int
    entropy: Entropy
    decided: Callable[[Request, Decision], None]
    """Is given each decision of a policy."""

    @property
    def account(self) -> str:
        return self.keyring.account


Handler = Callable[[Identities, Ask], Members]

_TABLES: Final = {"User": "users", "Group": "groups", "Role": "roles", "Policy": "policies"}


def table(state: Identities, kind: str) -> dict[str, Any]:
    """Returns all entities of a kind, by lower-case name."""
    entities: dict[str, Any] = getattr(state, _TABLES[kind])
    return entities


def find(state: Identities, kind: str, name: str) -> Any:
    """Raises NoSuchEntity."""
    found = table(state, kind).get(name.lower())
    if found is None:
        raise NoSuchEntity(f"The {kind.lower()} with name {name} cannot be found.")
    return found


def named(state: Identities, ask: Ask) -> Any:
    """Returns what the request names, or the calling user. Raises NoSuchEntity, ValidationError."""
    return find(state, ask.kind, name_in(ask))


def name_in(ask: Ask) -> str:
    """Raises ValidationError when the request names none and the caller is no user."""
    name: str | None = ask.request.get(f"{ask.kind}Name")
    if name is None and ask.kind == "User" and ask.caller.kind == "user":
        return ask.caller.name
    if name is None:
        raise ValidationError("Must specify userName when calling with non-User credentials")
    return name


def managed(state: Identities, arn: str, ask: Ask) -> ManagedPolicy:
    """Raises NoSuchEntity."""
    policy = state.managed_policy(arn, ask.account)
    if policy is None:
        raise NoSuchEntity(f"Policy {arn} was not found.")
    return policy


def own_policy(state: Identities, ask: Ask) -> ManagedPolicy:
    """Returns the policy to change. Raises NoSuchEntity, InvalidInput for one of AWS."""
    arn = ask.request["PolicyArn"]
    if arn in AWS_POLICIES:
        raise InvalidInput(f"ARN {arn} is not valid.")
    return managed(state, arn, ask)


# --- Members of answers ----------------------------------------------------------------------------


def described(entity: Entity, account: str, *, whole: bool = True) -> Members:
    """Returns the members of an entity; of a list's element without what lists lack (iam.md section 8.3)."""
    kind = entity.kind
    members: Members = {
        "Path": entity.path,
        f"{kind}Name": entity.name,
        f"{kind}Id": entity.id,
        "Arn": entity.arn(account),
        "CreateDate": entity.created_s,
    }
    if isinstance(entity, Role):
        members["AssumeRolePolicyDocument"] = encoded(entity.trust)
        members["MaxSessionDuration"] = entity.session_s_max
    if isinstance(entity, Role | ManagedPolicy) and entity.description:
        members["Description"] = entity.description
    if whole and isinstance(entity, User | Role) and entity.boundary is not None:
        members["PermissionsBoundary"] = {
            "PermissionsBoundaryType": "Policy",
            "PermissionsBoundaryArn": entity.boundary,
        }
    if whole and isinstance(entity, User | Role | ManagedPolicy) and entity.tags:
        members["Tags"] = tag_list(entity.tags)
    return members


def encoded(document: str) -> str:
    """Returns a document as answers have it, URL-encoded."""
    return quote(document, safe="-_.~")


def tag_list(tags: Mapping[str, str]) -> list[Members]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def page(name: str, ask: Ask, elements: Iterable[tuple[str, Any]]) -> Members:
    """Returns a page of elements in the order of their names, from after `Marker`."""
    after = ask.request.get("Marker", "")
    left = sorted((each for each in elements if each[0] > after), key=lambda each: each[0])
    size = ask.request.get("MaxItems", PAGE)
    members: Members = {
        name: [element for _, element in left[:size]],
        "IsTruncated": len(left) > size,
    }
    if len(left) > size:
        members["Marker"] = left[size - 1][0]
    return members


# --- Checks ----------------------------------------------------------------------------------------


def checked_policy(document: str, kind: PolicyKind = "identity") -> CompiledPolicy:
    """Raises MalformedPolicyDocument."""
    try:
        return compile_policy(document, kind)
    except PolicyError as error:
        raise MalformedPolicyDocument(str(error)) from error


def size_of(document: str) -> int:
    """Returns the characters that quotas count: all but white space (iam.md section 3.6)."""
    return len("".join(document.split()))


def checked_tags(tags: Iterable[Mapping[str, str]], present: Mapping[str, str], kind: str) -> dict[str, str]:
    """Returns the present tags with further ones, which replace those of the same key whatever its case.

    Raises InvalidInput, LimitExceeded.
    """
    given = {tag["Key"]: tag["Value"] for tag in tags}
    lowered = {key.lower() for key in given}
    if len(lowered) < len(list(tags)):
        raise InvalidInput("Duplicate tag keys found. Please note that Tag keys are case insensitive.")
    kept = {key: value for key, value in present.items() if key.lower() not in lowered}
    if len(kept) + len(given) > TAGS_MAX:
        raise LimitExceeded(f"The number of tags has reached the maximum limit: {kind} takes {TAGS_MAX}.")
    return kept | given


def check_quota(what: str, count: int, most: int) -> None:
    """Raises LimitExceeded when there are as many as allowed."""
    if count >= most:
        raise LimitExceeded(f"Cannot exceed quota for {what}: {most}")
