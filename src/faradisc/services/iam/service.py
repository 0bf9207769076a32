"""Executes one operation of IAM or STS: its rights, its handler, the change on the disk."""

from __future__ import annotations

from collections.abc import Mapping
from time import gmtime, strftime
from typing import Any

from faradisc.auth.keyring import FileKeyring
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import Decision, Policies, Principal, Request, Value
from faradisc.auth.sealed_file import SealedFileError
from faradisc.clock import Clock, Entropy
from faradisc.operations.access.authorizer import Observer
from faradisc.operations.call import Call
from faradisc.services.iam.asking import Ask, Members, name_in, table
from faradisc.services.iam.errors import AccessDenied, ServiceFailure, ValidationError
from faradisc.services.iam.registry import NOT_OFFERED, IamOperation


class Iam:
    """One of the two services."""

    def __init__(
        self,
        name: str,
        operations: Mapping[str, IamOperation],
        keyring: FileKeyring,
        clock: Clock,
        entropy: Entropy,
        *,
        observer: Observer | None = None,
    ) -> None:
        """observer: is given each decision of a policy."""
        self._name = name
        self._operations = operations
        self._keyring = keyring
        self._clock = clock
        self._entropy = entropy
        self._observer = observer

    def knows(self, operation: str) -> bool:
        return operation in self._operations

    async def execute(self, call: Call) -> Members:
        """Raises ServiceError."""
        operation = self._operations[call.operation]
        for member in sorted(NOT_OFFERED.get(call.operation, frozenset()) & call.request.keys()):
            raise ValidationError(f"{member} is not offered by this version of Faradisc.")
        ask = self._asked(call)
        if operation.kind and call.caller is not None:
            self._check_rights(operation, ask)
        keyring = self._keyring
        if not operation.changes:
            return operation.handler(keyring.identities, ask)
        try:
            return keyring.change(lambda identities: operation.handler(identities, ask), self._entropy)
        except SealedFileError as error:
            raise ServiceFailure(str(error)) from error

    def _asked(self, call: Call) -> Ask:
        now_s = self._clock.now_ns() // 1_000_000_000
        keyring = self._keyring
        identity = None if call.caller is None else call.caller.identity
        account = Principal(
            f"arn:aws:iam::{keyring.account}:root", keyring.account, "account", user_id=keyring.account
        )

        def decided(request: Request, decision: Decision) -> None:
            if self._observer is not None:
                self._observer(call, request, decision)

        return Ask(
            operation=call.operation,
            kind=self._operations[call.operation].kind,
            request=call.request,
            caller=account if identity is None else identity.principal,
            policies=Policies() if identity is None else identity.policies,
            context=_context(call, now_s),
            session=None if identity is None else identity.session,
            access_key_id=call.access_key_id,
            keyring=keyring,
            now_s=now_s,
            entropy=self._entropy,
            decided=decided,
        )

    def _check_rights(self, operation: IamOperation, ask: Ask) -> None:
        """Raises AccessDenied."""
        action = f"{self._name}:{ask.operation}"
        resource, entity = self._resource(operation, ask)
        if ask.session is not None and ask.session.kind != "role":  # iam.md section 8.4
            raise AccessDenied(f"Cannot call {action} with credentials of GetSessionToken")
        context = dict(ask.context)
        for key, value in getattr(entity, "tags", {}).items():
            context[f"aws:resourcetag/{key.lower()}"] = context[f"iam:resourcetag/{key.lower()}"] = value
        boundary = ask.request.get("PermissionsBoundary", getattr(entity, "boundary", None))
        if boundary is not None:
            context["iam:permissionsboundary"] = boundary
        if "PolicyArn" in ask.request:
            context["iam:policyarn"] = ask.request["PolicyArn"]
        tested = Request(ask.caller, action, resource, ask.account, context)
        decision = evaluate(tested, ask.policies)
        ask.decided(tested, decision)
        if not decision.allowed:
            raise AccessDenied(decision.sentence(tested))

    def _resource(self, operation: IamOperation, ask: Ask) -> tuple[str, Any]:
        """Returns the ARN that the request is about, and the entity if it exists."""
        kind = operation.kind
        if operation.resource is not None:
            return operation.resource, None
        if kind == "source":
            return ask.request["PolicySourceArn"], None
        if kind == "Policy" and "PolicyArn" in ask.request:
            arn = ask.request["PolicyArn"]
            return arn, self._keyring.identities.managed_policy(arn, ask.account)
        name = name_in(ask)
        entity = table(self._keyring.identities, kind).get(name.lower())
        if entity is not None:
            return entity.arn(ask.account), entity
        path = ask.request.get("Path", "/")
        return f"arn:aws:iam::{ask.account}:{kind.lower()}{path}{name}", None


def _context(call: Call, now_s: int) -> dict[str, Value]:
    """Returns the condition keys that every request has, and those of its tags (iam.md section 5)."""
    context: dict[str, Value] = {
        "aws:currenttime": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(now_s)),
        "aws:epochtime": str(now_s),
        "aws:requestedregion": call.region,
    }
    caller = call.caller
    if caller is not None:
        context["aws:securetransport"] = "true" if caller.secure else "false"
        optional = (
            ("aws:sourceip", caller.address or None),
            ("aws:useragent", caller.user_agent),
            ("aws:referer", caller.referer),
        )
        context |= {key: value for key, value in optional if value is not None}
    tags = {tag["Key"]: tag["Value"] for tag in call.request.get("Tags", ())}
    keys = tuple(tags) or tuple(call.request.get("TagKeys", ()))
    if keys:
        context["aws:tagkeys"] = keys
    return context | {f"aws:requesttag/{key.lower()}": value for key, value in tags.items()}
