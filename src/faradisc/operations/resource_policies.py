"""PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy: the policy of a table or a stream.

A table's policy covers its indexes, and goes with the table; that of a stream stays while the stream can be
read. A change holds for the next request; the service takes some seconds. Source: iam.md section 7.

Checks of PutResourcePolicy: the resource exists -> size -> document, actions, principals -> the caller keeps
the right to change it -> revision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from faradisc.auth.policy.documents import RawStatement, read_document
from faradisc.auth.policy.model import PolicyError
from faradisc.auth.resource_policy import ResourcePolicy
from faradisc.engine.streams.stream import Stream
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import PolicyNotFoundException, ValidationException
from faradisc.limits import RESOURCE_POLICY_BYTES_MAX
from faradisc.operations.access.authorizer import keeps_right
from faradisc.operations.access.grants import STREAM_ACTIONS, TABLE_ACTIONS, compiled
from faradisc.operations.access.needs import SERVICE
from faradisc.operations.call import Backend, Call

_INVALID: Final = "One or more parameter values were invalid: Invalid policy document: "
_NOT_FOUND: Final = "Resource-based policy not found for the provided ResourceArn: "
_NO_POLICY: Final = "NO_POLICY"
"""The ExpectedRevisionId of a resource without a policy."""

_FIXING_KEYS: Final = frozenset(
    f"aws:{name}"
    for name in (
        *("principalaccount", "principalarn", "principalorgid", "principalorgpaths", "sourceaccount"),
        *("sourcearn", "sourcevpc", "sourcevpce", "userid", "principalservicename"),
        *("principalservicenameslist", "principalisawsservice", "ec2instancesourcevpc", "sourceorgid"),
        "sourceorgpaths",
    )
)
"""Conditions under which an Allow for all principals is not public."""
_FIXING_OPERATORS: Final = frozenset({"stringequals", "stringlike", "arnequals", "arnlike", "bool"})

Change = Callable[[ResourcePolicy | None], ResourcePolicy | None]


async def put_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    holder = _holder(backend, call)
    document: str = call.request["Policy"]
    check_document(document, STREAM_ACTIONS if isinstance(holder, Stream) else TABLE_ACTIONS)
    confirmed = call.request.get("ConfirmRemoveSelfResourceAccess", False)
    if call.caller is not None and not confirmed and not keeps_right(backend, call, compiled(document)):
        # Assumed: the text.
        raise ValidationException(
            f"{_INVALID}The policy takes away your own permission to change it; "
            "set ConfirmRemoveSelfResourceAccess to true to confirm"
        )
    revision = new_revision(backend)

    def change(present: ResourcePolicy | None) -> ResourcePolicy:
        nonlocal revision
        _check_revision(call, holder, present)
        if present is not None and present.document == document:
            revision = present.revision
            return present
        return ResourcePolicy(document, revision)

    await _change(backend, holder, change)
    return {"RevisionId": revision}


async def get_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    policy = _holder(backend, call).state.policy
    if policy is None:
        raise PolicyNotFoundException(_NOT_FOUND + call.request["ResourceArn"])
    return {"Policy": policy.document, "RevisionId": policy.revision}


async def delete_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the revision of the deleted policy; nothing if there was none and none was expected."""
    holder = _holder(backend, call)
    deleted: list[ResourcePolicy] = []

    def change(present: ResourcePolicy | None) -> None:
        _check_revision(call, holder, present)
        if present is not None:
            deleted.append(present)
        elif "ExpectedRevisionId" in call.request:
            raise PolicyNotFoundException(_NOT_FOUND + call.request["ResourceArn"])

    await _change(backend, holder, change)
    return {"RevisionId": deleted[0].revision} if deleted else {}


def new_revision(backend: Backend) -> str:
    """Returns the id of a new policy: digits, as the service's are."""
    return str(int.from_bytes(backend.entropy.token_bytes(7)))


def _holder(backend: Backend, call: Call) -> Table | Stream:
    """Returns the table or stream. Raises ResourceNotFoundException, ValidationException."""
    arn = call.request["ResourceArn"]
    if not arn.startswith("arn:"):
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    if "/stream/" in arn:
        return backend.catalog.stream(arn)
    return backend.catalog.for_control(arn, call.region, call.account)


def _check_revision(call: Call, holder: Table | Stream, present: ResourcePolicy | None) -> None:
    """Raises PolicyNotFoundException unless the policy is the one that the request expects."""
    expected = call.request.get("ExpectedRevisionId")
    current = _NO_POLICY if present is None else present.revision
    if expected is None or expected == current:
        return
    name = holder.name if isinstance(holder, Table) else holder.state.table_name
    if present is None:
        raise PolicyNotFoundException(_NOT_FOUND + call.request["ResourceArn"])
    if expected == _NO_POLICY:
        raise PolicyNotFoundException(
            f"{_NOT_FOUND}Requested policy update expecting none to be present for table {name}, "
            f"but a policy exists with revision id {current}."
        )
    raise PolicyNotFoundException(
        f"{_NOT_FOUND}Requested update for policy with revision id {expected}, "
        f"but the policy associated to target table {name} has revision id {current}."
    )


async def _change(backend: Backend, holder: Table | Stream, change: Change) -> None:
    if isinstance(holder, Stream):
        await backend.catalog.streams.set_policy(holder, change)
        return

    def change_state(state: TableState) -> bool:
        state.policy = change(state.policy)
        return False

    await backend.catalog.update(holder, change_state, while_in_use=True)


# --- Documents -------------------------------------------------------------------------------------


def check_document(document: str, actions: frozenset[str] = TABLE_ACTIONS) -> None:
    """Checks the policy of a resource that has these actions. Raises ValidationException."""
    if len(document.encode("utf-8", "surrogatepass")) > RESOURCE_POLICY_BYTES_MAX:
        # Assumed: the text.
        raise ValidationException(f"{_INVALID}The policy is larger than {RESOURCE_POLICY_BYTES_MAX} bytes")
    try:
        _, statements = read_document(document, "resource")
        compiled(document)
    except PolicyError as error:
        raise ValidationException(_INVALID + str(error)) from None
    unknown = [
        action
        for statement in statements
        for action in statement.actions
        if not _is_offered(action, actions) and not statement.not_actions
    ]
    if unknown:
        names = ", ".join(f'"{action}"' for action in dict.fromkeys(unknown))
        raise ValidationException(f"{_INVALID}The following action names are invalid: {names}")
    if any(_is_public(statement) for statement in statements):
        # Assumed: the text.
        raise ValidationException(f"{_INVALID}The policy grants public access")


def _is_offered(action: str, actions: frozenset[str]) -> bool:
    """Whether a policy may name an action; of one with wildcards, whether it covers any that it may name."""
    service, _, name = action.partition(":")
    if action == "*" or (service.lower() == SERVICE and ("*" in name or "?" in name)):
        return True
    return service.lower() == SERVICE and name.lower() in {each.lower() for each in actions}


def _is_public(statement: RawStatement) -> bool:
    """Whether it allows public (iam.md section 7.4)."""
    if not statement.allow:
        return False
    principals = statement.principals
    named = [principals] if not isinstance(principals, dict) else list(principals.values())
    public = any("*" in (each if isinstance(each, list) else [each]) for each in named)
    if not public and not statement.not_principals:
        return False
    return not any(
        operator.lower() in _FIXING_OPERATORS
        and key.lower() in _FIXING_KEYS
        and all(value and not set("*?$") & set(value) for value in values)
        and (key.lower() != "aws:principalisawsservice" or values == ["true"])
        for operator, key, values in statement.conditions
    )
