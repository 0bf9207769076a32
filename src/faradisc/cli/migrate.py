"""`faradisc migrate`: changes a test suite that is written for another tool."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from faradisc.cli.failing import fail


@click.group()
def migrate() -> None:
    """Change tests that are written for another tool."""


@migrate.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Change the files; otherwise only print the difference.")
def moto(paths: tuple[Path, ...], *, write: bool) -> None:
    """Turn Python files, and those in directories, from moto to faradisc.local.patch.

    Prints the difference, and notes on what is left to be looked at. Files of other services keep moto for
    those.
    """
    from faradisc.tools.migrating.moto import migrate as migrated  # noqa: PLC0415 - seldom needed

    changed = 0
    for path in _files(paths):
        try:
            before = path.read_bytes().decode()
            after = migrated(before)
        except (SyntaxError, UnicodeDecodeError) as error:
            click.echo(f"{path}: left as it is, since it is not valid Python ({error})", err=True)
            continue
        except OSError as error:
            fail(f"{path} cannot be read: {error.strerror or error}.")
        for note in after.notes:
            click.echo(f"{path}: {note}", err=True)
        if after.text == before:
            continue
        changed += 1
        lines = (before.splitlines(keepends=True), after.text.splitlines(keepends=True))
        click.echo("".join(unified_diff(*lines, str(path), str(path))), nl=False)
        if write:
            path.write_bytes(after.text.encode())
    done = "changed" if write else "to be changed; --write changes them"
    click.echo(f"{changed} {'file' if changed == 1 else 'files'} {done}", err=True)


def _files(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            fail(f"{path} does not exist.")
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]
