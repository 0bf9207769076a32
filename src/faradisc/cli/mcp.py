"""`faradisc mcp`: a server of the Model Context Protocol over standard input and output."""

from __future__ import annotations

import os

import click

from faradisc.cli.databases import endpoint
from faradisc.cli.failing import fail


@click.command()
@endpoint
@click.option("--write", is_flag=True, help="Add the tools that write: items, PartiQL, tables.")
def mcp(*, url: str, region: str | None, write: bool) -> None:
    """Serve an endpoint to a language model: tables, items, queries, streams, throttles, advice, plans.

    Speaks the Model Context Protocol on standard input and output. Reads only, unless --write is given.
    `--url aws` is Amazon DynamoDB.
    """
    try:
        from faradisc.tools.mcp.server import made, run  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        fail(f"mcp needs {missing}, which is not installed. Run: pip install 'faradisc[mcp]'", 2)
    chosen = region or os.environ.get("AWS_REGION") or "us-east-1"
    run(made(None if url == "aws" else url, chosen, write=write))
