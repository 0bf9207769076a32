"""The caller of a request whose key is a user's or a session's."""

from __future__ import annotations

from typing import Any

from faradisc.auth.policy.model import Policies, Principal
from faradisc.auth.session_tokens import RoleSession
from faradisc.records import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """A principal and its policies. The account's own keys have none: their requests are not tested.

    It never changes. A keyring returns another one after a change of the principal's policies, of its groups
    or tags, and with it a new `generation`.
    """

    principal: Principal
    policies: Policies
    """Without a resource's."""
    session: RoleSession | None = None
    """Of temporary credentials."""
    decided: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    """Cache of decisions (operations/access/authorizer.py)."""
