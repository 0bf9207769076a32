"""Whom a statement of a resource policy or trust policy names (iam.md section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from faradisc.auth.policy.model import DIRECT, PolicyError, Principal

Grant = Callable[[Principal, bool], int]

_FORMS: Final = ("AWS", "Service", "Federated", "CanonicalUser")
_AWS: Final = re.compile(
    r"arn:(?P<partition>[\w-]+):iam::(?P<root>[0-9]{12}):root"
    r"|(?P<account>[0-9]{12})"
    r"|arn:[\w-]+:iam::[0-9]{12}:(?:user|role)/[\w+=,.@/-]+"
    r"|arn:[\w-]+:sts::[0-9]{12}:(?:assumed-role/[\w+=,.@-]+|federated-user)/[\w+=,.@-]+"
    r"|A(?:IDA|ROA)[A-Z0-9]+|\*",
    re.ASCII,
)


def read_principals(element: Any) -> frozenset[str]:
    """Returns the callers that a Principal or NotPrincipal element names, the account for its root.

    Services and identity providers make no requests here, so they are checked for their form only.
    Raises PolicyError.
    """
    if element == "*":
        return frozenset({"*"})
    if not isinstance(element, Mapping) or not element:
        raise _invalid(element)
    names: set[str] = set()
    for form, values in element.items():
        texts = values if isinstance(values, list) else [values]
        if form not in _FORMS or not texts:
            raise _invalid(values, form)
        for text in texts:
            if not isinstance(text, str) or not text:
                raise _invalid(text, form)
            if form == "AWS":
                found = _AWS.fullmatch(text)
                if found is None:
                    raise _invalid(text, form)
                names.add(found["root"] or text)
    return frozenset(names)


def _invalid(value: Any, form: str = "") -> PolicyError:
    shown = f'"{form}":"{value}"' if form else f'"{value}"'
    return PolicyError(f"Invalid principal in policy: {shown[:300]}")


def named(names: frozenset[str]) -> Grant:
    """Returns how directly a Principal element names a caller: the most direct of its names."""

    def grant(principal: Principal, _bounded: bool) -> int:
        return max((degree for name, degree in principal.names.items() if name in names), default=0)

    return grant


def not_named(names: frozenset[str], *, allow: bool) -> Grant:
    """Returns whether a NotPrincipal element leaves a caller to the statement.

    A Deny spares only a caller of whom everything is listed (account, role, session), and none that has a
    permissions boundary. An Allow passes over a caller of whom anything is listed.
    """

    def grant_if_unnamed(principal: Principal, _bounded: bool) -> int:
        return 0 if names & principal.names.keys() else DIRECT

    def deny_unless_named(principal: Principal, bounded: bool) -> int:
        own = {principal.account}
        if principal.kind != "account":
            own |= {principal.arn, principal.role_arn} - {""}
        return 0 if not bounded and ("*" in names or own <= names) else DIRECT

    return grant_if_unnamed if allow else deny_unless_named
