"""From a policy document to its statements, with the errors of a malformed one.

The checks have the service's order as far as it is known (iam.md section 8.3): syntax, Effect, Sid, actions,
resources, principals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from faradisc.auth.policy.conditions import LEGACY
from faradisc.auth.policy.model import PolicyError, PolicyKind
from faradisc.records import dataclass

DOCUMENT_CHARACTERS_MAX: Final = 131_072
"""The most that any operation takes (iam.md section 8.3); quotas per kind of policy are smaller."""
VERSIONS: Final = ("2008-10-17", "2012-10-17")
SYNTAX: Final = "Syntax errors in policy."

_EITHER: Final = ("Principal", "Action", "Resource")
"""Elements that may stand as they are, or with `Not` before them."""
_ELEMENTS: Final = frozenset({"Sid", "Effect", "Condition", *_EITHER, *(f"Not{name}" for name in _EITHER)})
_TEXT: Final = re.compile(r"[\t\n\r\x20-\xff]*")
_SID: Final = re.compile(r"[0-9A-Za-z]*")
_VENDOR: Final = re.compile(r"[a-zA-Z0-9.-]+|\*")
_PARTITION: Final = re.compile(r"aws(?:-[a-z]+)*|.*[*?].*")


@dataclass(frozen=True, slots=True)
class RawStatement:
    """The checked elements of a statement, lists also where the document has one value."""

    sid: str
    allow: bool
    actions: list[str]
    not_actions: bool
    resources: list[str]
    not_resources: bool
    principals: Any
    """As written; None in an identity policy."""
    not_principals: bool
    conditions: list[tuple[str, str, list[str]]]
    """Operator, key, values."""


def read_document(document: str | Mapping[str, Any], kind: PolicyKind) -> tuple[str, list[RawStatement]]:
    """Returns the Version and the statements. Raises PolicyError; the length is checked first."""
    policy = _parse(document, kind)
    if not isinstance(policy, dict) or not policy.keys() <= {"Version", "Id", "Statement"}:
        raise PolicyError(SYNTAX, "a policy is an object with Version, Id and Statement")
    version = policy.get("Version", VERSIONS[0])
    if version not in VERSIONS or not isinstance(policy.get("Id", ""), str):
        raise PolicyError(SYNTAX, f"Version is one of {', '.join(VERSIONS)}, and Id a text")
    raw = policy.get("Statement")
    statements: list[Any] = raw if isinstance(raw, list) else [raw]
    if not statements:
        if kind == "resource":
            raise PolicyError("Could not parse the policy: Statement is empty!")
        raise PolicyError(SYNTAX, "Statement is empty")
    for number, statement in enumerate(statements, 1):
        _check_syntax(statement, f"statement {number}")
    _check_meaning(statements, kind)
    return version, [_statement(statement) for statement in statements]


_ORDER: Final = ("Sid", "Effect", *(name + each for each in _EITHER for name in ("", "Not")), "Condition")
_ACCOUNT: Final = re.compile(r"[0-9]{12}")


def canonical(document: str) -> str:
    """Returns the form in which the service keeps a resource policy that `read_document` accepts: without
    spaces, elements in one order, lists of one as their element, accounts as the ARNs of their roots.

    Source: iam.md section 7.1.
    """
    policy = json.loads(document)
    raw = policy["Statement"]
    statements = [_canonical_statement(each) for each in (raw if isinstance(raw, list) else [raw])]
    ordered = {name: policy[name] for name in ("Version", "Id") if name in policy}
    return json.dumps({**ordered, "Statement": statements}, separators=(",", ":"), ensure_ascii=False)


def _canonical_statement(statement: dict[str, Any]) -> dict[str, Any]:
    ordered = {name: _single(statement[name]) for name in _ORDER if name in statement}
    ordered["Effect"] = statement["Effect"].capitalize()
    for name in ("Principal", "NotPrincipal"):
        if isinstance(callers := ordered.get(name), dict):
            ordered[name] = {kind: _single(_roots(named)) for kind, named in callers.items()}
    if "Condition" in ordered:
        ordered["Condition"] = {
            operator: {key: _single(values) for key, values in keys.items()}
            for operator, keys in ordered["Condition"].items()
        }
    return ordered


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _roots(named: Any) -> Any:
    if isinstance(named, list):
        return [_roots(each) for each in named]
    is_account = isinstance(named, str) and _ACCOUNT.fullmatch(named)
    return f"arn:aws:iam::{named}:root" if is_account else named


def _parse(document: str | Mapping[str, Any], kind: PolicyKind) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("an object has the same name twice")
        return found

    def reject(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        text = document if isinstance(document, str) else json.dumps(document)
        if len(text) > DOCUMENT_CHARACTERS_MAX:
            raise ValueError(f"more than {DOCUMENT_CHARACTERS_MAX} characters")
        if not _TEXT.fullmatch(text):
            raise ValueError("a character other than U+0009, U+000A, U+000D and U+0020 to U+00FF")
        return json.loads(text, object_pairs_hook=unique, parse_constant=reject)
    except (ValueError, TypeError, RecursionError) as error:
        sentence = SYNTAX if kind == "identity" else "This policy contains invalid Json"
        raise PolicyError(sentence, str(error)) from None


def _texts(value: Any) -> list[str] | None:
    """Returns one text or a list of texts as a list, None for anything else."""
    values = value if isinstance(value, list) else [value]
    return values if all(isinstance(each, str) for each in values) else None


def _values(value: Any) -> list[str] | None:
    """Returns the values of a condition key as texts; booleans and numbers may stand without quotes."""
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | bool | int | float) for each in values):
        return None
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values]


def _check_syntax(statement: Any, where: str) -> None:
    def require(holds: bool, problem: str) -> None:
        if not holds:
            raise PolicyError(SYNTAX, f"{where}: {problem}")

    if not isinstance(statement, dict):
        raise PolicyError(SYNTAX, f"{where} is not an object")
    unknown = sorted(statement.keys() - _ELEMENTS)
    require(not unknown, f"unknown element {', '.join(unknown)}")
    for name in _EITHER:
        require(name not in statement or f"Not{name}" not in statement, f"both {name} and Not{name}")
    for name in ("Action", "NotAction", "Resource", "NotResource"):
        require(_texts(statement.get(name, "")) is not None, f"{name} is a text or a list of texts")
    require(isinstance(statement.get("Sid", ""), str), "Sid is a text")
    effect = statement.get("Effect")
    require(isinstance(effect, str) and effect.lower() in {"allow", "deny"}, "Effect is Allow or Deny")
    operators = statement.get("Condition", {})
    require(isinstance(operators, dict), "Condition is an object")
    for name, keys in operators.items():
        require(isinstance(keys, dict), f"{name} is an object of condition keys")
        require(
            all(_values(values) is not None for values in keys.values()),
            f"the values of {name} are texts, numbers, booleans, or lists of them",
        )


def _check_meaning(statements: list[dict[str, Any]], kind: PolicyKind) -> None:
    spellings = {statement["Effect"] for statement in statements}
    if kind != "resource" and not spellings <= {"Allow", "Deny"}:
        raise PolicyError(LEGACY, "Effect is Allow or Deny, in this spelling")
    sids = [statement["Sid"] for statement in statements if statement.get("Sid")]
    if len(set(sids)) < len(sids) and kind == "resource":
        raise PolicyError("The Statement Ids in the policy are not unique")
    if len(set(sids)) < len(sids):
        raise PolicyError("Statement IDs (SID) in a single policy must be unique.")
    if kind == "identity" and not all(map(_SID.fullmatch, sids)):
        raise PolicyError(
            "Statement IDs (SID) must be alpha-numeric. "
            "Check that your input satisfies the regular expression [0-9A-Za-z]*"
        )
    for statement in statements:
        _check_parts(statement, kind)
    for action in _all(statements, "Action"):
        _check_action(action)
    if kind == "trust":
        for statement in statements:
            _check_trust(statement)


def _check_trust(statement: dict[str, Any]) -> None:
    """Raises PolicyError unless a statement of a trust policy speaks of STS, to callers that there can be."""
    if not all(action == "*" or action.lower().startswith("sts:") for action in _all([statement], "Action")):
        raise PolicyError("AssumeRole policy may only specify STS AssumeRole actions.")
    principals = statement["Principal"]
    services = principals.get("Service", []) if isinstance(principals, dict) else []
    for service in _texts(services) or ():
        if "." not in service:
            raise PolicyError(f'Invalid principal in policy: "Service":"{service[:300]}"')


def _check_parts(statement: dict[str, Any], kind: PolicyKind) -> None:
    """What every statement of this kind must have and must not have."""
    if not (statement.get("Action") or statement.get("NotAction")):
        raise PolicyError("Policy statement must contain actions.")
    prohibited = {"trust": ("Resource", "NotResource", "NotPrincipal")}.get(kind, ())
    for name in prohibited:
        if name in statement:
            raise PolicyError(f"Has prohibited field {name}")
    if kind != "trust" and not (statement.get("Resource") or statement.get("NotResource")):
        if kind == "resource":
            raise PolicyError("Missing required field Resource")
        raise PolicyError("Policy statement must contain resources.")
    for resource in _all([statement], "Resource"):
        _check_resource(resource)
    names_callers = "Principal" in statement or "NotPrincipal" in statement
    if kind == "identity" and names_callers:
        raise PolicyError("Policy document should not specify a principal.")
    if kind != "identity" and not names_callers:
        raise PolicyError("Missing required field Principal")


def _all(statements: Iterable[dict[str, Any]], element: str) -> Iterable[str]:
    for statement in statements:
        yield from _texts(statement.get(element, statement.get(f"Not{element}", []))) or ()


def _check_resource(resource: str) -> None:
    if resource == "*":
        return
    prefix, _, rest = resource.partition(":")
    if prefix != "arn" or not rest:
        raise PolicyError(f'Resource {resource[:300]} must be in ARN format or "*".')
    partition, _, rest = rest.partition(":")
    if not _PARTITION.fullmatch(partition):
        raise PolicyError(f'Partition "{partition[:300]}" is not valid for resource "{resource[:300]}".')
    vendor, _, rest = rest.partition(":")
    if not vendor or {"*", "?"} & set(vendor):
        raise PolicyError("Resource vendor must be fully qualified and cannot contain regexes.")
    region = rest.partition(":")[0]
    if vendor == "iam" and region:
        raise PolicyError(f"IAM resource {resource[:300]} cannot contain region information.")
    if vendor == "s3" and region and ":accesspoint/" not in rest:
        raise PolicyError(f"Resource {resource[:300]} can not contain region information.")


def _check_action(action: str) -> None:
    vendor, colon, name = action.partition(":")
    if not colon and action != "*":
        raise PolicyError("Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.")
    if ":" in name:
        raise PolicyError("Actions/Condition can contain only one colon.")
    if not _VENDOR.fullmatch(vendor):
        raise PolicyError(f"Vendor {vendor[:300]} is not valid")


def _statement(statement: dict[str, Any]) -> RawStatement:
    return RawStatement(
        sid=statement.get("Sid", ""),
        allow=statement["Effect"].capitalize() == "Allow",
        actions=list(_all([statement], "Action")),
        not_actions="NotAction" in statement,
        resources=list(_all([statement], "Resource")),
        not_resources="NotResource" in statement,
        principals=statement.get("Principal", statement.get("NotPrincipal")),
        not_principals="NotPrincipal" in statement,
        conditions=[
            (operator, key, _values(values) or [])
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        ],
    )
