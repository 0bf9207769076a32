"""Ends a command with an error."""

from __future__ import annotations

from typing import NoReturn

import click


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Ends the program with one sentence on standard error."""
    click.echo(f"faradisc: {sentence}", err=True)
    raise SystemExit(code)
