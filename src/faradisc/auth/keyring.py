"""The keyring of a server: keys of the account, of users and of sessions, each with its policies.

All three come from one file, which is read again when it changes. When it can no longer be read, everything
stays in force and an error is logged once: a missing file must not lock all clients out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from faradisc.auth.credentials_file import CredentialsFile
from faradisc.auth.identities import Group, Identities, Role, User
from faradisc.auth.identity import Identity
from faradisc.auth.keys import AccessKey
from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.model import CompiledPolicy, Policies, PolicyError, PolicyKind, Principal
from faradisc.auth.sealed_file import SealedFileError
from faradisc.auth.session_tokens import RoleSession, seal, unseal
from faradisc.clock import Entropy

log = logging.getLogger("faradisc.auth")

T = TypeVar("T")

TEMPORARY: Final = "ASIA"
_POLICIES_MAX: Final = 4096
"""Compiled policies that are cached."""
_NOTHING: Final = '{"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}'


class FileKeyring:
    """Belongs to one thread, as the database does."""

    def __init__(self, file: CredentialsFile, account: str = "000000000000") -> None:
        """Raises SealedFileError."""
        self.account = account
        self.generation = 0
        self._file = file
        self._seen = file.state()
        self._load()

    def _load(self) -> None:
        self._keys, self.identities, self._sealing_key = self._file.contents()
        self._users = {key_id: user for user in self.identities.users.values() for key_id in user.keys}
        """By access key."""
        self._known: dict[str, Identity] = {}
        """Identities of users, by id."""

    # --- Changes ---------------------------------------------------------------------------------

    def refresh(self) -> None:
        state = self._file.state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._load()
        except (SealedFileError, KeyError, TypeError, ValueError) as error:
            log.error("the access keys stay as they were: %s", error)
            return
        self.generation += 1
        log.warning("read %s again: %d access keys", self._file.path, len(self._keys) + len(self._users))

    def change(self, change: Callable[[Identities], T], entropy: Entropy) -> T:
        """Changes the identities, on the disk and for the next request. Returns what `change` returns.

        Raises SealedFileError, and what `change` raises; nothing is changed then.
        """
        result = self._file.change_identities(change, entropy)
        self._seen = self._file.state()
        self._load()  # all of it: another process may have changed the file since it was read
        self.generation += 1
        return result

    # --- Keys ------------------------------------------------------------------------------------

    def find(self, key_id: str, token: str | None = None) -> AccessKey | None:
        key = self._keys.get(key_id)
        if key is not None:
            return key
        user = self._users.get(key_id)
        if user is not None:
            own = user.keys[key_id]
            return AccessKey(key_id, own.secret, identity=self.identity_of(user)) if own.active else None
        if token is None or not key_id.startswith(TEMPORARY):
            return None
        session = unseal(token, key_id, self._sealing_key)
        if session is None:
            return None
        identity = self.identity_of_session(session)
        if identity is None:
            return None
        return AccessKey(key_id, session.secret, token, session.expires_s, identity)

    def token_of(self, session: RoleSession, key_id: str, entropy: Entropy) -> str:
        return seal(session, key_id, self._sealing_key, entropy)

    # --- Identities ------------------------------------------------------------------------------

    def identity_of(self, user: User) -> Identity:
        known = self._known.get(user.id)
        if known is None:
            arn = user.arn(self.account)
            principal = Principal(arn, self.account, "user", name=user.name, user_id=user.id, tags=user.tags)
            known = self._known[user.id] = Identity(principal, self.policies_of(user))
        return known

    def identity_of_session(self, session: RoleSession) -> Identity | None:
        """Returns None when the user or role is no longer there, or the account's key that it began with."""
        of_user = session.origin.startswith("arn:") or (not session.origin and session.kind != "account")
        if not of_user and session.origin not in self._keys:
            return None
        if session.kind == "account":
            arn = f"arn:aws:iam::{self.account}:root"
            root = Principal(arn, self.account, "account", user_id=self.account, issued_s=session.issued_s)
            return Identity(root, Policies(), session)
        if session.kind == "user":
            user = self.identities.users.get(session.holder)
            if user is None or user.id != session.holder_id:
                return None
            known = self.identity_of(user)
            return Identity(replace(known.principal, issued_s=session.issued_s), known.policies, session)
        role = self.identities.roles.get(session.holder)
        if role is None or role.id != session.holder_id:
            return None
        return Identity(self._session_principal(role, session), self.policies_of(role, session), session)

    def _session_principal(self, role: Role, session: RoleSession) -> Principal:
        """Tags of the session replace those of the role, whatever the case of their keys."""
        over = {key.lower() for key in session.tags}
        kept = {key: value for key, value in role.tags.items() if key.lower() not in over}
        return Principal(
            f"arn:aws:sts::{self.account}:assumed-role/{role.name}/{session.name}",
            self.account,
            "session",
            user_id=f"{role.id}:{session.name}",
            session_name=session.name,
            role_arn=role.arn(self.account),
            tags=kept | session.tags,
            issued_s=session.issued_s,
            source_identity=session.source_identity,
        )

    def policies_of(self, holder: User | Group | Role, session: RoleSession | None = None) -> Policies:
        """Returns the compiled policies; if one of them cannot be used, policies that deny everything."""
        boundary = None if isinstance(holder, Group) else holder.boundary
        try:
            limits = None
            if session is not None and session.policies is not None:
                limits = [compiled(text, "session policy") for text in session.policies]
                limits += [self._managed(arn) for arn in session.policy_arns]
            return Policies(
                identity=self._own(holder),
                boundary=None if boundary is None else self._managed(boundary),
                session=limits,
            )
        except (PolicyError, LookupError) as error:
            log.error("%s has no rights: %s", holder.arn(self.account), error)
            return Policies(identity=[compiled(_NOTHING, "unusable policy")])

    def _own(self, holder: User | Group | Role) -> list[CompiledPolicy]:
        groups = [self.identities.groups[name] for name in holder.groups] if isinstance(holder, User) else []
        policies = []
        for each in (holder, *groups):
            place = f"{each.kind.lower()}{each.path}{each.name}"
            policies += [compiled(text, f"{place}:{name}") for name, text in each.inline.items()]
            policies += [self._managed(arn) for arn in each.attached]
        return policies

    def _managed(self, arn: str) -> CompiledPolicy:
        """Raises PolicyError, LookupError."""
        policy = self.identities.managed_policy(arn, self.account)
        if policy is None:
            raise LookupError(f"there is no policy {arn}")
        return compiled(policy.document, arn)


@lru_cache(_POLICIES_MAX)
def compiled(document: str, name: str, kind: PolicyKind = "identity") -> CompiledPolicy:
    """Raises PolicyError."""
    return compile_policy(document, kind, name=name)
