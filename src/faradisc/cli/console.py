"""`faradisc console`: the web console for any endpoint."""

from __future__ import annotations

import os

import click

from faradisc.cli.databases import url_option
from faradisc.tools.console.app import ConsoleError, bound, serve


@click.command()
@url_option
@click.option("--region", default=None, help="Region of the requests (AWS_REGION, else us-east-1).")
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to listen on.")
@click.option("--port", default=8008, show_default=True, help="Port to listen on; 0 takes any free one.")
def console(url: str, region: str | None, host: str, port: int) -> None:
    """Serve the console: tables, items, queries, streams and throughput in a browser.

    It asks the endpoint with the credentials of its environment; a browser can enter another key.
    """
    try:
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise ConsoleError(
                "The console listens on this machine only; forward its port to reach it from elsewhere."
            )
        endpoint = None if url == "aws" else url
        listener = bound(host, port)
        shown = f"[{host}]" if ":" in host else host
        click.echo(
            f"Console of {endpoint or 'Amazon DynamoDB'} on http://{shown}:{listener.getsockname()[1]}"
        )
        serve(endpoint, region or os.environ.get("AWS_REGION") or "us-east-1", listener)
    except ConsoleError as error:
        raise click.ClickException(str(error)) from None
