"""PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy: the policy of a table or a stream.

A table's policy covers its indexes, and goes with the table; that of a stream stays while the stream can be
read. A change holds for the next request; the service takes some seconds. Source: iam.md section 7.

Checks of PutResourcePolicy: the resource exists -> size -> document, actions, resources, principals -> the
caller keeps the right to change it -> revision. The canonical form of a document is kept and shown; a
document of the same form keeps its revision.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from faradisc.auth.policy.documents import VERSIONS, RawStatement, canonical, read_document
from faradisc.auth.policy.model import PolicyError
from faradisc.auth.resource_policy import ResourcePolicy
from faradisc.engine.streams.stream import Stream, StreamState
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import PolicyNotFoundException, ValidationException, invalid
from faradisc.limits import RESOURCE_POLICY_BYTES_MAX
from faradisc.operations.access.authorizer import keeps_right
from faradisc.operations.access.grants import STREAM_ACTIONS, TABLE_ACTIONS, compiled
from faradisc.operations.access.needs import SERVICE
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.resources import named_resource, parse_resource_arn

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

Kept = tuple[ResourcePolicy | None, str | None]
"""The policy of a resource, and the revision of the last deletion of one."""
Change = Callable[[ResourcePolicy | None, str | None], Kept]


async def put_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    holder = _holder(backend, call)
    document: str = call.request["Policy"]
    document = checked(document, of_stream=isinstance(holder, Stream))
    confirmed = call.request.get("ConfirmRemoveSelfResourceAccess", False)
    if call.caller is not None and not confirmed and not keeps_right(backend, call, compiled(document)):
        # Assumed: the text.
        raise ValidationException(
            f"{_INVALID}The policy takes away your own permission to change it; "
            "set ConfirmRemoveSelfResourceAccess to true to confirm"
        )

    def change(present: ResourcePolicy | None, deleted: str | None) -> Kept:
        _check_revision(call, holder, present)
        if present is not None and canonical(present.document) == document:
            return present, deleted
        before = deleted if present is None else present.revision
        return ResourcePolicy(document, new_revision(backend, before)), deleted

    policy, _ = await _change(backend, holder, change)
    assert policy is not None
    return {"RevisionId": policy.revision}


async def get_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    policy = _holder(backend, call).state.policy
    if policy is None:
        raise PolicyNotFoundException(_NOT_FOUND + call.request["ResourceArn"])
    document = canonical(policy.document)
    if not document.startswith('{"Version"'):
        document = f'{{"Version":"{VERSIONS[0]}",{document[1:]}'
    return {"Policy": document, "RevisionId": policy.revision}


async def delete_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the revision of the deleted policy, or of the last deletion; nothing if there was never a
    policy."""
    holder = _holder(backend, call)
    revision: str | None = None

    def change(present: ResourcePolicy | None, deleted: str | None) -> Kept:
        nonlocal revision
        _check_revision(call, holder, present)
        if present is None:
            revision = deleted
            return None, deleted
        revision = present.revision
        return None, new_revision(backend, revision)

    await _change(backend, holder, change)
    return {} if revision is None else {"RevisionId": revision}


def new_revision(backend: Backend, before: str | None = None) -> str:
    """Returns the id of a change: its time in milliseconds, and more than that of the change before.

    Earlier releases gave other numbers, of up to 17 digits, which are not followed.
    """
    now = backend.clock.now_ns() // 1_000_000
    follows = before is not None and len(before) == len(str(now))
    return str(max(now, int(before) + 1) if before is not None and follows else now)


def _holder(backend: Backend, call: Call) -> Table | Stream:
    """Returns the table or stream. Raises ResourceNotFoundException, ValidationException."""
    arn: str = call.request["ResourceArn"]
    table_arn, _ = parse_resource_arn(arn)
    _, partition, _, region, account, _ = table_arn.split(":", 5)
    catalog = backend.catalog
    own = catalog.tables.namespace(call.region, call.account)
    if catalog.tables.namespace(call.region, account) != own:
        raise ValidationException(
            "This action is only supported by accounts that match the resource owner\u2019s account."
        )
    if partition != "aws" or catalog.tables.namespace(region, call.account) != own:
        raise invalid(f"Invalid resource Arn: {arn}")
    return named_resource(backend, call)


def _check_revision(call: Call, holder: Table | Stream, present: ResourcePolicy | None) -> None:
    """Raises PolicyNotFoundException unless the policy is the one that the request expects."""
    expected = call.request.get("ExpectedRevisionId")
    current = _NO_POLICY if present is None else present.revision
    if expected is None or expected == current:
        return
    name = holder.name if isinstance(holder, Table) else holder.state.table_name
    if present is None:
        # The last word is assumed.
        raise PolicyNotFoundException(
            f"{_NOT_FOUND}Requested update for policy with revision id {expected}, "
            f"but table {name} has no associated policy."
        )
    if expected == _NO_POLICY:
        raise PolicyNotFoundException(
            f"{_NOT_FOUND}Requested policy update expecting none to be present for table {name}, "
            f"but a policy exists with revision id {current}."
        )
    raise PolicyNotFoundException(
        f"{_NOT_FOUND}Requested update for policy with revision id {expected}, "
        f"but the policy associated to target table {name} has revision id {current}."
    )


async def _change(backend: Backend, holder: Table | Stream, change: Change) -> Kept:
    """Returns what the holder keeps after the change."""
    if isinstance(holder, Stream):

        def change_stream(state: StreamState) -> StreamState:
            policy, deleted = change(state.policy, state.policy_deleted)
            return replace(state, policy=policy, policy_deleted=deleted)

        await backend.catalog.streams.change(holder, change_stream)
        return holder.state.policy, holder.state.policy_deleted

    def change_state(state: TableState) -> bool:
        state.policy, state.policy_deleted = change(state.policy, state.policy_deleted)
        return False

    state = (await backend.catalog.update(holder, change_state, while_in_use=True)).state
    return state.policy, state.policy_deleted


# --- Documents -------------------------------------------------------------------------------------


def checked(document: str, *, of_stream: bool = False) -> str:
    """Returns the canonical form of the policy of a table or stream. Raises ValidationException."""
    if len(document.encode("utf-8", "surrogatepass")) > RESOURCE_POLICY_BYTES_MAX:
        raise invalid(f"Maximum policy size of {RESOURCE_POLICY_BYTES_MAX} bytes exceeded")
    try:
        _, statements = read_document(document, "resource")
        compiled(document)
    except PolicyError as error:
        raise ValidationException(_INVALID + (_bare_principal(document) or str(error))) from None
    actions = STREAM_ACTIONS if of_stream else TABLE_ACTIONS
    unknown = [
        action
        for statement in statements
        for action in statement.actions
        if not _is_offered(action, actions) and not statement.not_actions
    ]
    if unknown:
        names = ", ".join(f'"{action}"' for action in dict.fromkeys(unknown))
        raise ValidationException(f"{_INVALID}The following action names are invalid: {names}")
    for resource in (each for statement in statements for each in statement.resources):
        relative = resource.split(":", 5)[-1]
        named = relative.startswith("table/") and "*" not in relative
        if named and ("/stream/" in relative) != of_stream:
            # The rest of the text is assumed.
            raise ValidationException(
                f'{_INVALID}The relative-id "{relative}" is invalid for ARN "{resource}".'
            )
    if any(_is_public(statement) for statement in statements):
        raise ValidationException(
            "Resource-based policy grants unbounded access in one or more elements. "
            "Please revise the policy to ensure least-privilege form of access"
        )
    return canonical(document)


_BARE_PRINCIPAL = re.compile(r'"(?:Not)?Principal"\s*:\s*(?="(?!\*"))')


def _bare_principal(document: str) -> str:
    """Returns the text for a Principal that is a string other than `*`; empty without one.

    Source: errors.md section 6.10, which has the text. Assumed: that the place, line and column from 1, is
    where the string begins.
    """
    found = _BARE_PRINCIPAL.search(document)
    if found is None:
        return ""
    line, before = document.count("\n", 0, found.end()) + 1, document.rfind("\n", 0, found.end())
    return f"Syntax error at position ({line},{found.end() - before})"


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
