"""`faradisc keys`: the master keys of encrypted tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from faradisc.cli.failing import done_or_failed, fail

if TYPE_CHECKING:
    from faradisc.engine.encryption.key_file import KeyFile

DAY_S = 86_400
_PIECE_BYTES = 64 * 1024
_FILE = click.option(
    "--keys",
    "path",
    required=True,
    envvar="FARADISC_KEYS",
    show_envvar=True,
    metavar="FILE",
    help="File of the master keys, which are encrypted in it.",
)
_KEY = click.argument("key")


@click.group()
def keys() -> None:
    """Manage the master keys of tables that are encrypted with a key of their own.

    KEY is a key id, an alias such as alias/orders, or the ARN of either. The file is encrypted with the key
    in FILE.key, or with the passphrase in FARADISC_KEYS_PASSPHRASE if that is set when FILE is created. A
    running server sees changes at once.
    """


@keys.command()
@_FILE
@click.option("--alias", metavar="NAME", help="An alias of the key, such as alias/orders.")
@click.option("--description", default="", help="What the key is for.")
@click.option("--region", default="us-east-1", show_default=True, help="Region in the ARN.")
@click.option("--account", default="000000000000", show_default=True, help="Account in the ARN.")
def create(path: str, alias: str | None, description: str, region: str, account: str) -> None:
    """Create a master key and print its ARN.

    The first one creates FILE too, with the key alias/aws/dynamodb of tables that name none.
    """
    from faradisc.clock import SystemEntropy  # noqa: PLC0415 - as `serve` does, late

    file, now_s = _file(path), _now_s()
    checked = None if alias is None else _alias(alias)
    made = done_or_failed(
        lambda: file.create(now_s, SystemEntropy(), region=region, account=account, description=description)
    )
    if checked is not None:
        done_or_failed(lambda: file.set_alias(checked, made["arn"], now_s))
    click.echo(made["arn"])


@keys.command(name="list")
@_FILE
def list_(path: str) -> None:
    """List the master keys: ARN, state, aliases."""
    from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

    entries = done_or_failed(lambda: _file(path).read())["keys"].values()
    print_table(
        ("key", "state", "aliases"),
        [(each["arn"], _state(each), ", ".join(each["aliases"])) for each in entries],
    )


@keys.command()
@_FILE
@_KEY
def describe(path: str, key: str) -> None:
    """Show one master key."""
    from faradisc.engine.encryption.key_file import find_entry  # noqa: PLC0415

    _, entry = done_or_failed(lambda: find_entry(_file(path).read(), key))
    click.echo(f"arn          {entry['arn']}")
    click.echo(f"state        {_state(entry)}")
    click.echo(f"aliases      {', '.join(entry['aliases'])}")
    click.echo(f"description  {entry['description']}")
    click.echo(f"created      {_time(entry['created_s'])}")
    click.echo(f"versions     {len(entry['versions'])}")


@keys.command()
@_FILE
@_KEY
def rotate(path: str, key: str) -> None:
    """Give a master key a new version. Servers wrap the data keys of their tables with it."""
    from faradisc.clock import SystemEntropy  # noqa: PLC0415

    entry = done_or_failed(lambda: _file(path).rotate(key, _now_s(), SystemEntropy()))
    click.echo(f"{entry['arn']} has {len(entry['versions'])} versions")


@keys.command()
@_FILE
@_KEY
def disable(path: str, key: str) -> None:
    """Disable a master key: its tables cannot be read or written until it is enabled again."""
    _change(path, key, lambda entry: entry.update(state="Disabled"))


@keys.command()
@_FILE
@_KEY
def enable(path: str, key: str) -> None:
    """Enable a master key again."""
    _change(path, key, lambda entry: entry.update(state="Enabled"))


@keys.command(name="schedule-deletion")
@_FILE
@_KEY
@click.option("--days", type=click.IntRange(7, 30), default=30, show_default=True, help="Days until then.")
def schedule_deletion(path: str, key: str, days: int) -> None:
    """Delete a master key after some days, in which it cannot be used."""
    deletion_s = _now_s() + days * DAY_S
    _change(path, key, lambda entry: entry.update(deletion_s=deletion_s))


@keys.command(name="cancel-deletion")
@_FILE
@_KEY
def cancel_deletion(path: str, key: str) -> None:
    """Keep a master key whose deletion is scheduled. It is disabled afterwards, as in KMS."""

    def cancel(entry: dict[str, Any]) -> None:
        if entry.pop("deletion_s", None) is not None:
            entry["state"] = "Disabled"

    _change(path, key, cancel)


@keys.command()
@_FILE
@_KEY
@click.option("--yes", is_flag=True, help="Delete it: nothing that it protects can ever be read again.")
def delete(path: str, key: str, *, yes: bool) -> None:
    """Delete a master key at once, and with it all data of its tables and backups."""
    if not yes:
        fail("Nothing that this key protects can be read after its deletion; add --yes if that is intended.")
    done_or_failed(lambda: _file(path).delete(key, _now_s()))
    click.echo(f"deleted {key}")


@keys.command()
@_FILE
@click.argument("name")
@_KEY
def alias(path: str, name: str, key: str) -> None:
    """Make the alias NAME, such as alias/orders, name a master key. Tables keep the key that they have."""
    checked = _alias(name)
    done_or_failed(lambda: _file(path).set_alias(checked, key, _now_s()))


@keys.command(name="open")
@click.argument("file", type=click.File("rb"))
def open_(file: BinaryIO) -> None:
    """Write the content of FILE, an exported data file that is sealed, to the standard output.

    The keys are those that FARADISC_KEYS or FARADISC_KMS_ENDPOINT names.
    """
    from faradisc.clock import SystemEntropy  # noqa: PLC0415
    from faradisc.engine.encryption.data_keys import DataKeys  # noqa: PLC0415
    from faradisc.engine.encryption.services import of_environment  # noqa: PLC0415
    from faradisc.engine.exchange.sealed_objects import opened  # noqa: PLC0415
    from faradisc.engine.formats.compression import InputDamaged  # noqa: PLC0415
    from faradisc.engine.sealing.sealer import KeyDenied  # noqa: PLC0415
    from faradisc.engine.sealing.sealers import Sealers  # noqa: PLC0415
    from faradisc.storage.immediate import run  # noqa: PLC0415

    sealers, service = Sealers(), done_or_failed(of_environment)
    if service is not None:
        DataKeys(sealers, SystemEntropy(), service)
    try:
        content = run(opened(file, sealers))
        while piece := content.read(_PIECE_BYTES):
            sys.stdout.buffer.write(piece)
    except (InputDamaged, KeyDenied) as error:
        fail(f"{file.name} cannot be opened: {error}")


def _file(path: str) -> KeyFile:
    from faradisc.engine.encryption.key_file import KeyFile  # noqa: PLC0415 - for these commands only

    return KeyFile(path)


def _now_s() -> int:
    from faradisc.clock import SystemClock  # noqa: PLC0415

    return SystemClock().now_ns() // 1_000_000_000


def _alias(name: str) -> str:
    from faradisc.engine.encryption.key_file import ALIAS  # noqa: PLC0415

    if not ALIAS.fullmatch(name):
        fail("An alias is `alias/` and 1 to 250 letters, digits, slashes, underscores and hyphens.")
    return name


def _change(path: str, key: str, change: Callable[[dict[str, Any]], None]) -> None:
    entry = done_or_failed(lambda: _file(path).change_key(key, _now_s(), change))
    click.echo(f"{entry['arn']}: {_state(entry)}")


def _state(entry: dict[str, Any]) -> str:
    if "deletion_s" in entry:
        return f"is deleted on {_time(entry['deletion_s'])}"
    return str(entry["state"]).lower()


def _time(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
