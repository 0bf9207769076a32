"""`faradisc credentials add|list|revoke`: access keys of a server with `--auth strict`."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import click

from faradisc.cli.failing import done_or_failed, fail

KEY_ID = re.compile(r"[A-Za-z0-9_]{3,128}")
SECRET_CHARACTERS_MIN = 8
_FILE = click.option(
    "--credentials-file",
    "path",
    required=True,
    envvar="FARADISC_CREDENTIALS_FILE",
    show_envvar=True,
    metavar="FILE",
    help="File of the access keys, with encrypted secrets.",
)


@click.group()
def credentials() -> None:
    """Manage the access keys of a server that verifies signatures.

    Secrets are encrypted with the key in FILE.key, or with the passphrase in FARADISC_CREDENTIALS_PASSPHRASE
    if that is set when FILE is created. A running server reads changes within a second.
    """


@credentials.command()
@_FILE
@click.option("--access-key-id", metavar="ID", help="Id of the key; by default a random one.")
@click.option("--secret-stdin", is_flag=True, help="Read the secret from the standard input.")
@click.option(
    "--temporary",
    type=click.IntRange(1, 31_536_000),
    metavar="SECONDS",
    help="Create a temporary key with a session token.",
)
def add(path: str, access_key_id: str | None, secret_stdin: bool, temporary: int | None) -> None:
    """Add an access key and print it as environment variables. The secret is printed only now."""
    from faradisc.auth.credentials_file import CredentialsFile, new_key  # noqa: PLC0415
    from faradisc.auth.keys import AccessKey  # noqa: PLC0415
    from faradisc.clock import SystemClock, SystemEntropy  # noqa: PLC0415 - as `serve` does, late

    entropy = SystemEntropy()
    now_s = SystemClock().now_ns() // 1_000_000_000
    made = new_key(entropy, expires_s=None if temporary is None else now_s + temporary)
    if access_key_id is not None and not KEY_ID.fullmatch(access_key_id):
        fail("An access key id is 3 to 128 letters, digits and underscores.")
    secret = sys.stdin.readline().rstrip("\r\n") if secret_stdin else made.secret
    if len(secret) < SECRET_CHARACTERS_MIN:
        fail(f"A secret has at least {SECRET_CHARACTERS_MIN} characters.")
    key = AccessKey(access_key_id or made.key_id, secret, made.token, made.expires_s)
    done_or_failed(lambda: CredentialsFile(path).add(key, now_s, entropy))
    click.echo(f"AWS_ACCESS_KEY_ID={key.key_id}")
    if not secret_stdin:
        click.echo(f"AWS_SECRET_ACCESS_KEY={key.secret}")
    if key.token is not None:
        click.echo(f"AWS_SESSION_TOKEN={key.token}")


@credentials.command(name="list")
@_FILE
def list_(path: str) -> None:
    """List the access keys: id, creation, end of a temporary key. Secrets are never printed."""
    from faradisc.auth.credentials_file import CredentialsFile  # noqa: PLC0415
    from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

    rows = [
        (key_id, f"created {_time(created_s)}", "" if expires_s is None else f"until {_time(expires_s)}")
        for key_id, created_s, expires_s in done_or_failed(CredentialsFile(path).listed)
    ]
    if rows:
        print_table(("access key id", "created", "end"), rows)


@credentials.command()
@_FILE
@click.argument("access_key_id")
def revoke(path: str, access_key_id: str) -> None:
    """Delete an access key."""
    from faradisc.auth.credentials_file import CredentialsFile  # noqa: PLC0415

    done_or_failed(lambda: CredentialsFile(path).revoke(access_key_id))
    click.echo(f"revoked {access_key_id}")


def _time(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
