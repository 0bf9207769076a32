"""Ends a command with an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

import click

T = TypeVar("T")


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Ends the program with one sentence on standard error."""
    click.echo(f"faradisc: {sentence}", err=True)
    raise SystemExit(code)


def done_or_failed(action: Callable[[], T]) -> T:
    """Returns what an action on a sealed file returns. Ends the program when the file cannot be used."""
    from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415 - slow to import

    try:
        return action()
    except SealedFileError as error:
        fail(str(error))
