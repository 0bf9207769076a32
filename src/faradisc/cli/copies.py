"""`faradisc restore-copy` and `faradisc promote`, for the continuous copy; `check --copy` is in check.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from faradisc.cli.backups import seconds_of_moment
from faradisc.cli.databases import LOCAL_URL, address
from faradisc.cli.failing import fail
from faradisc.server.setting import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    from faradisc.engine.copying.place import CopyPlace

T = TypeVar("T")
endpoint_option = click.option(
    "--s3-endpoint",
    default="",
    envvar=ENVIRONMENT_PREFIX + "S3_ENDPOINT",
    help="S3 endpoint of an s3:// place, if it is not Amazon's.",
)


def with_place(where: str, endpoint: str, action: Callable[[CopyPlace], T], failed: Callable[[str], T]) -> T:
    """Returns what an action on a copy returns, or what `failed` does with the reason."""
    from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415 - for these commands only
    from faradisc.engine.copying.format import CopyError  # noqa: PLC0415
    from faradisc.engine.copying.place import unreachable  # noqa: PLC0415
    from faradisc.engine.objects.api import BucketError  # noqa: PLC0415
    from faradisc.errors import StorageError  # noqa: PLC0415
    from faradisc.server.copying import place_of  # noqa: PLC0415
    from faradisc.server.setting import SettingsError  # noqa: PLC0415

    try:
        place = place_of(where, endpoint)
        try:
            return action(place)
        except BucketError as error:
            raise unreachable(place, error) from error
    except (CopyError, SealedFileError, SettingsError, StorageError) as error:
        return failed(str(error))
    except OSError as error:
        return failed(f"{error.filename or where}: {error.strerror or error}.")


@click.command("restore-copy")
@click.argument("place")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--at", help="Moment to restore: 2026-11-20T10:00:00Z, or seconds since 1970; else the newest.")
@click.option(
    "--keys",
    default="",
    metavar="FILE",
    help="The keys/master.json that was kept of the copied directory, for tables that it encrypts with a key "
    "of its own. Not needed where the copy has it, sealed with FARADISC_KEYS_PASSPHRASE.",
)
@click.option("--without-keys", is_flag=True, help="Restore although encrypted tables cannot be read.")
@endpoint_option
def restore_copy(
    place: str, directory: Path, *, at: str | None, keys: str, without_keys: bool, s3_endpoint: str
) -> None:
    """Make the data directory DIRECTORY of the continuous copy at PLACE: s3://bucket/prefix, or a directory.

    DIRECTORY is new or empty; an interrupted restore begins again.
    """
    from faradisc.engine.copying.restoring import RestoredCopy, restore  # noqa: PLC0415
    from faradisc.engine.encryption.services import KEYS_VARIABLE  # noqa: PLC0415
    from faradisc.server.copy_keys import adopt_keys, keys_for  # noqa: PLC0415
    from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

    at_ns = None if at is None else int(seconds_of_moment(at) * 1e9)
    steps: dict[str, Progress] = {}

    def progress(what: str, share: float) -> None:
        for other in steps.keys() - {what}:
            steps.pop(other).end()
        steps.setdefault(what, Progress(100, what, "%")).reach(int(share * 100))

    def restored_from(found: CopyPlace) -> RestoredCopy:
        given = keys or os.environ.get(KEYS_VARIABLE, "")
        needed = None if without_keys else keys_for(found, directory, given, adopt=bool(keys))
        complete = partial(adopt_keys, directory, needed)
        return restore(found, directory, at_ns=at_ns, progress=progress, complete=complete)

    restored = with_place(place, s3_endpoint, restored_from, fail)
    for each in steps.values():
        each.end()
    moment = datetime.fromtimestamp(restored.time_ns / 1e9, UTC)
    click.echo(
        f"{directory} has all commits up to {moment:%Y-%m-%d %H:%M:%S}Z. Serve it: faradisc serve --data-dir "
        f"{directory}" + (f" --copy-to {place}" if restored.is_end else "")
    )


@click.command()
@click.option(
    *("--url", "--endpoint-url", "url"),
    default=LOCAL_URL,
    show_default=True,
    envvar=ENVIRONMENT_PREFIX + "URL",
    callback=address,
    help="Endpoint of the standby.",
)
@click.option(
    "--old-has-stopped",
    is_flag=True,
    help="The primary has stopped, and will not start again: for one that does not answer in its copy.",
)
def promote(url: str, *, old_has_stopped: bool) -> None:
    """Make a standby (`serve --follow`) the primary.

    The primary hands over: it answers nothing more, stores the rest in the copy, and stops. If it does not
    react, a standby of the copy waits until the primary's lease has ended.
    """
    from faradisc.cli.nodes import page  # noqa: PLC0415

    answer = page(url, "POST", "/_faradisc/copy", {"promote": True, "confirmed": old_has_stopped})
    if answer.get("fault"):
        fail(answer["fault"])
    click.echo(f"{url} is the primary now.")
