"""`faradisc iam OPERATION`: the operations and options of `aws iam`, on a credentials file, without a server.

Commands and options are made of the service model when they are called.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import click

from faradisc.cli.failing import fail
from faradisc.server.setting import ENVIRONMENT_PREFIX
from faradisc.server.settings import ServerSettings

if TYPE_CHECKING:
    from faradisc.protocol.service_model import Shape

_FILE: Final = "file://"
_KINDS: Final[dict[str, Any]] = {"integer": int, "boolean": bool}
_LISTED: Final = frozenset(
    {
        "CreateUser",
        "CreateAccessKey",
        "ListUsers",
        "PutUserPolicy",
        "AttachUserPolicy",
        "CreatePolicy",
        "CreateGroup",
        "AddUserToGroup",
        "PutGroupPolicy",
        "CreateRole",
        "PutRolePolicy",
        "SimulatePrincipalPolicy",
    }
)
"""Operations that `--help` shows. The others work too; their list is AWS's."""


class _Operations(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        from faradisc.services.iam.registry import IAM  # noqa: PLC0415 - for this command only

        return sorted(map(_dashed, IAM))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from faradisc.protocol.service_model import load  # noqa: PLC0415
        from faradisc.services.iam.registry import IAM, NOT_OFFERED  # noqa: PLC0415

        name = next((each for each in IAM if _dashed(each) == cmd_name), None)
        if name is None:
            return None
        shape = load("iam").operations[name].input
        hidden = NOT_OFFERED.get(name, frozenset())
        return click.Command(
            cmd_name,
            params=_common()
            + [
                _option(member, each, required=member in shape.required)
                for member, each in shape.members.items()
                if member not in hidden
            ],
            callback=partial(_run, name),
            help=f"{name}, as AWS documents it.",
            hidden=name not in _LISTED,
        )


def _option(member: str, shape: Shape, *, required: bool) -> click.Option:
    several = shape.type == "list"
    return click.Option(
        [f"--{_dashed(member)}", member],
        required=required,
        multiple=several,
        type=_KINDS.get(shape.type, str),
        is_flag=shape.type == "boolean",
        help="Repeatable; structures as Key=NAME,Value=TEXT." if several else None,
    )


def _dashed(name: str) -> str:
    """Returns `list-mfa-devices` of `ListMFADevices`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def _common() -> list[click.Parameter]:
    return [
        click.Option(
            ["--credentials-file", "path"],
            required=True,
            envvar=ENVIRONMENT_PREFIX + "CREDENTIALS_FILE",
            show_envvar=True,
            metavar="FILE",
            help="File of access keys and identities, made by `faradisc credentials add`.",
        ),
        click.Option(
            ["--account"],
            default=ServerSettings().account,
            show_default=True,
            envvar=ENVIRONMENT_PREFIX + "ACCOUNT",
            help="Account number in ARNs, as the server has it.",
        ),
    ]


@click.group(cls=_Operations)
def iam() -> None:
    """Manage users, groups, roles and policies in a credentials file.

    The commands and options are those of `aws iam`; those for users, groups, roles and policies that are not
    listed here work too. file://PATH stands for the content of a file. A running server reads changes in a
    second, and takes the same commands from `aws iam --endpoint-url`.
    """


def _run(name: str, path: str, account: str, **values: Any) -> None:
    from faradisc.auth.credentials_file import CredentialsFile  # noqa: PLC0415
    from faradisc.auth.keyring import FileKeyring  # noqa: PLC0415
    from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415
    from faradisc.clock import SystemClock, SystemEntropy  # noqa: PLC0415
    from faradisc.errors import ApiError  # noqa: PLC0415
    from faradisc.operations.call import Call  # noqa: PLC0415
    from faradisc.protocol.other_services.answering import check_members  # noqa: PLC0415
    from faradisc.protocol.service_model import load  # noqa: PLC0415
    from faradisc.services.iam.registry import IAM  # noqa: PLC0415
    from faradisc.services.iam.service import Iam  # noqa: PLC0415
    from faradisc.storage.immediate import run  # noqa: PLC0415

    request = {
        member: [_value(each) for each in value] if isinstance(value, tuple) else _value(value)
        for member, value in values.items()
        if value not in (None, ())
    }
    try:
        keyring = FileKeyring(CredentialsFile(path), account)
        check_members(load("iam").operations[name], request, 0)
        service = Iam("iam", IAM, keyring, SystemClock(), SystemEntropy())
        members = run(service.execute(Call(name, request, True, "us-east-1", account)))
    except SealedFileError as error:
        fail(str(error))
    except ApiError as error:
        fail(f"{error.wire_name()}: {error.message}")
    if members:
        click.echo(_shown(members))


def _value(given: Any) -> Any:
    """Returns a file's content of `file://...`, a structure of `Key=a,Value=b`, or the value itself."""
    if not isinstance(given, str):
        return given
    if given.startswith(_FILE):
        try:
            return Path(given.removeprefix(_FILE)).read_text()
        except (OSError, ValueError) as error:
            fail(f"The file {given.removeprefix(_FILE)} cannot be read ({error}).")
    found = re.fullmatch(r"Key=([^,]*),Value=(.*)", given, re.DOTALL)
    return given if found is None else {"Key": found[1], "Value": found[2]}


def _shown(members: dict[str, Any]) -> str:
    """Returns the members of an answer as `aws iam` prints them, with documents and times readable."""
    import orjson  # noqa: PLC0415 - slow to import

    def readable(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: readable(key, each) for key, each in value.items()}
        if isinstance(value, list):
            return [readable(name, each) for each in value]
        if name.endswith("Document"):
            return orjson.loads(unquote(value))
        return datetime.fromtimestamp(value, UTC).isoformat() if name.endswith("Date") else value

    return orjson.dumps(readable("", members), option=orjson.OPT_INDENT_2).decode()
