"""Users, groups and roles: creation, lists, deletion, membership, tags, and the keys of users."""

from __future__ import annotations

from typing import Any, Final

from faradisc.auth.credentials_file import new_key
from faradisc.auth.identities import Group, Identities, ManagedPolicy, Role, User, UserKey, new_id
from faradisc.services.iam.asking import (
    QUOTAS,
    Ask,
    Members,
    check_quota,
    checked_policy,
    checked_tags,
    described,
    find,
    managed,
    named,
    own_policy,
    page,
    size_of,
    table,
    tag_list,
)
from faradisc.services.iam.errors import DeleteConflict, EntityAlreadyExists, LimitExceeded, NoSuchEntity

KEYS_MAX: Final = 2
GROUPS_MAX: Final = 10
TRUST_CHARACTERS_MAX: Final = 2048

_CLASSES: Final[dict[str, Any]] = {"User": User, "Group": Group, "Role": Role}


def create(state: Identities, ask: Ask) -> Members:
    request = ask.request
    name = request[f"{ask.kind}Name"]
    entities = table(state, ask.kind)
    if name.lower() in entities:
        raise EntityAlreadyExists(f"{ask.kind} with name {name} already exists.")
    check_quota(f"{ask.kind}sPerAccount", len(entities), QUOTAS[ask.kind])
    entity = _CLASSES[ask.kind](
        name=name,
        id=new_id(_CLASSES[ask.kind].id_prefix, ask.entropy),
        created_s=ask.now_s,
        path=request.get("Path", "/"),
        **(_role_members(request) if ask.kind == "Role" else {}),
    )
    if ask.kind != "Group":
        entity.tags = checked_tags(request.get("Tags", ()), {}, ask.kind)
        if "PermissionsBoundary" in request:
            managed(state, request["PermissionsBoundary"], ask)
            entity.boundary = request["PermissionsBoundary"]
    entities[name.lower()] = entity
    return {ask.kind: described(entity, ask.account)}


def _role_members(request: Any) -> dict[str, Any]:
    return {
        "trust": _checked_trust(request["AssumeRolePolicyDocument"]),
        "description": request.get("Description", ""),
        "session_s_max": request.get("MaxSessionDuration", 3600),
    }


def _checked_trust(document: str) -> str:
    checked_policy(document, "trust")
    if size_of(document) > TRUST_CHARACTERS_MAX:
        raise LimitExceeded(f"Cannot exceed quota for ACLSizePerRole: {TRUST_CHARACTERS_MAX}")
    return document


def get(state: Identities, ask: Ask) -> Members:
    if ask.kind == "User" and ask.caller.kind == "account" and "UserName" not in ask.request:
        root = {"Path": "/", "UserId": ask.account, "Arn": ask.caller.arn, "CreateDate": 0}
        return {"User": {**root, "UserName": "root"}}
    return {ask.kind: described(named(state, ask), ask.account)}


def get_group(state: Identities, ask: Ask) -> Members:
    group = named(state, ask)
    members = [
        (user.name, described(user, ask.account, whole=False))
        for user in state.users.values()
        if group.name.lower() in user.groups
    ]
    return {"Group": described(group, ask.account), **page("Users", ask, members)}


def list_all(state: Identities, ask: Ask) -> Members:
    prefix = ask.request.get("PathPrefix", "/")
    return page(
        f"{ask.kind}s",
        ask,
        (
            (entity.name, described(entity, ask.account, whole=False))
            for entity in table(state, ask.kind).values()
            if entity.path.startswith(prefix)
        ),
    )


def delete(state: Identities, ask: Ask) -> Members:
    entity = named(state, ask)
    key = entity.name.lower()
    if entity.attached:
        raise DeleteConflict("Cannot delete entity, must detach all policies first.")
    if entity.inline:
        raise DeleteConflict("Cannot delete entity, must delete policies first.")
    if isinstance(entity, User):
        if entity.keys:
            raise DeleteConflict("Cannot delete entity, must delete access keys first.")
        if entity.groups:
            raise DeleteConflict("Cannot delete entity, must remove users from group first.")
    if isinstance(entity, Group) and any(key in user.groups for user in state.users.values()):
        raise DeleteConflict("Cannot delete entity, must remove users from group first.")
    del table(state, ask.kind)[key]
    return {}


# --- Groups ----------------------------------------------------------------------------------------


def add_user_to_group(state: Identities, ask: Ask) -> Members:
    group, user = named(state, ask), find(state, "User", ask.request["UserName"])
    key = group.name.lower()
    if key not in user.groups:
        check_quota("GroupsPerUser", len(user.groups), GROUPS_MAX)
        user.groups.append(key)
    return {}


def remove_user_from_group(state: Identities, ask: Ask) -> Members:
    group, user = named(state, ask), find(state, "User", ask.request["UserName"])
    if group.name.lower() not in user.groups:
        raise NoSuchEntity(f"The user with name {user.name} is not in the group {group.name}.")
    user.groups.remove(group.name.lower())
    return {}


def list_groups_for_user(state: Identities, ask: Ask) -> Members:
    groups = [state.groups[name] for name in named(state, ask).groups]
    return page("Groups", ask, ((each.name, described(each, ask.account)) for each in groups))


# --- Roles -----------------------------------------------------------------------------------------


def update_assume_role_policy(state: Identities, ask: Ask) -> Members:
    named(state, ask).trust = _checked_trust(ask.request["PolicyDocument"])
    return {}


def update_role(state: Identities, ask: Ask) -> Members:
    role = named(state, ask)
    role.description = ask.request.get("Description", role.description)
    role.session_s_max = ask.request.get("MaxSessionDuration", role.session_s_max)
    return {}


# --- Tags ------------------------------------------------------------------------------------------


def _tagged(state: Identities, ask: Ask, *, change: bool = True) -> User | Role | ManagedPolicy:
    if ask.kind == "Policy":
        return own_policy(state, ask) if change else managed(state, ask.request["PolicyArn"], ask)
    found: User | Role = named(state, ask)
    return found


def tag(state: Identities, ask: Ask) -> Members:
    entity = _tagged(state, ask)
    entity.tags = checked_tags(ask.request["Tags"], entity.tags, ask.kind)
    return {}


def untag(state: Identities, ask: Ask) -> Members:
    entity = _tagged(state, ask)
    gone = {key.lower() for key in ask.request["TagKeys"]}
    entity.tags = {key: value for key, value in entity.tags.items() if key.lower() not in gone}
    return {}


def list_tags(state: Identities, ask: Ask) -> Members:
    found = tag_list(_tagged(state, ask, change=False).tags)
    return page("Tags", ask, ((tag["Key"], tag) for tag in found))


# --- Keys of users ---------------------------------------------------------------------------------


def create_access_key(state: Identities, ask: Ask) -> Members:
    user = named(state, ask)
    check_quota("AccessKeysPerUser", len(user.keys), KEYS_MAX)
    made = new_key(ask.entropy)
    user.keys[made.key_id] = UserKey(made.secret, ask.now_s)
    shown = _key_members(user, made.key_id)
    return {"AccessKey": {**shown, "SecretAccessKey": made.secret}}


def list_access_keys(state: Identities, ask: Ask) -> Members:
    user = named(state, ask)
    return page("AccessKeyMetadata", ask, ((key_id, _key_members(user, key_id)) for key_id in user.keys))


def _key_members(user: User, key_id: str) -> Members:
    key = user.keys[key_id]
    return {
        "UserName": user.name,
        "AccessKeyId": key_id,
        "Status": "Active" if key.active else "Inactive",
        "CreateDate": key.created_s,
    }


def update_access_key(state: Identities, ask: Ask) -> Members:
    user, key_id = _user_of_key(state, ask)
    user.keys[key_id].active = ask.request["Status"] == "Active"
    return {}


def delete_access_key(state: Identities, ask: Ask) -> Members:
    user, key_id = _user_of_key(state, ask)
    del user.keys[key_id]
    return {}


def _user_of_key(state: Identities, ask: Ask) -> tuple[User, str]:
    key_id = ask.request["AccessKeyId"]
    user: User = named(state, ask)
    if key_id not in user.keys:
        raise NoSuchEntity(f"The Access Key with id {key_id} cannot be found.")
    return user, key_id
