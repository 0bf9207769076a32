"""python -m examples.botocore_corpus: loads the corpus; with --verify reads it back and compares."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from examples.botocore_corpus import table
from examples.botocore_corpus.run import Phase, run
from examples.botocore_corpus.source import all_services
from examples.endpoint import DEFAULT_URL, connect

_DIFFERENCES_SHOWN = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.botocore_corpus", description=__doc__)
    parser.add_argument("--endpoint-url", default=DEFAULT_URL, help="default: %(default)s")
    parser.add_argument("--services", type=int, metavar="N", help="only the first N services")
    parser.add_argument("--verify", action="store_true", help="read everything back and compare")
    parser.add_argument("--verify-only", action="store_true", help="verify a table that is already loaded")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default 1")
    parser.add_argument(
        "--replace", action="store_true", help=f"delete an existing table {table.TABLE} first"
    )
    options = parser.parse_args()
    console = Console()
    make_client = partial(connect, options.endpoint_url)
    client = make_client()
    if options.replace and not options.verify_only and table.TABLE in client.list_tables()["TableNames"]:
        table.delete(client)
    columns = (TextColumn("{task.description:>6}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        phases = run(
            make_client,
            all_services()[: options.services],
            progress=progress,
            workers=max(1, options.workers),
            load=not options.verify_only,
            verify=options.verify or options.verify_only,
        )
    return _report(console, phases)


def _report(console: Console, phases: list[Phase]) -> int:
    summary = Table("pass", "items", "MB", "requests", "retried", "seconds", "MB/s", "differences")
    for phase in phases:
        megabytes = phase.tally.size_bytes / 1e6
        summary.add_row(
            phase.name,
            f"{len(phase.tally.keys):,}",
            f"{megabytes:,.1f}",
            f"{phase.tally.requests:,}",
            f"{phase.tally.retried:,}",
            f"{phase.seconds:,.1f}",
            f"{megabytes / phase.seconds:,.1f}",
            f"{len(phase.differences):,}",
        )
    console.print(summary)
    differences = [f"{phase.name}: {difference}" for phase in phases for difference in phase.differences]
    for difference in differences[:_DIFFERENCES_SHOWN]:
        console.print(difference, markup=False, highlight=False, soft_wrap=True)
    if len(differences) > _DIFFERENCES_SHOWN:
        console.print(f"... and {len(differences) - _DIFFERENCES_SHOWN:,} more")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
