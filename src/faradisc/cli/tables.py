"""Tables on the standard output, made by rich. Imported only by commands that print one."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

WIDTH_MAX = 100_000
"""Width of output that is not a terminal: no value is wrapped or truncated."""


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = (), indent: int = 0
) -> None:
    """Prints rows in columns. right: names of the columns that are aligned to the right.

    A terminal gets a header and colours, and long values are wrapped to its width. Other output has one line
    per row, without header and colours; two spaces or more separate its columns.
    """
    terminal = sys.stdout.isatty()
    table = Table(box=None, show_header=terminal, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=not terminal, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    console = Console(
        force_terminal=terminal, width=None if terminal else WIDTH_MAX, highlight=False, markup=False
    )
    with console.capture() as captured:
        console.print(Padding(table, (0, 0, 0, indent), expand=False))
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
