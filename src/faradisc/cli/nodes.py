"""`faradisc nodes`: lists the servers over one PostgreSQL."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import click

from faradisc.cli.databases import opened_shared, url_option
from faradisc.cli.failing import fail


@click.command()
@url_option
@click.option("--store", help="postgresql://... or postgres:DIRECTORY, instead of --url.")
@click.option("--json", "as_json", is_flag=True, help="The list as JSON.")
def nodes(url: str, *, store: str | None, as_json: bool) -> None:
    """List the servers over one PostgreSQL: version, heartbeat and background jobs of each.

    A server is dead 10 seconds after its last heartbeat; the others then take over its jobs.
    """
    found, problems = _stored(store) if store else _served(url)
    if as_json:
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo("No servers: this database is in a directory, or nothing has served the store for a day.")
        return
    from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

    rows = [
        (each["id"], each["address"], each["version"], each["status"], f"{each['age_s']} s", _jobs(each))
        for each in found
    ]
    print_table(("node", "address", "version", "status", "heartbeat", "jobs"), rows)
    for sentence in problems:
        click.echo(sentence, err=True)


def _jobs(node: dict[str, Any]) -> str:
    return ", ".join(node["leases"]) or "-"


def _served(url: str) -> tuple[list[dict[str, Any]], list[str]]:
    found: list[dict[str, Any]] = page(url, "GET", "/_faradisc/nodes")
    problems: list[str] = page(url, "GET", "/health/ready").get("problems", [])
    return found, problems


def page(url: str, method: str, path: str, document: object = None) -> Any:
    """Returns what an administration page of a server says; ends the command with a sentence if it says
    nothing."""
    from faradisc.errors import Unreachable  # noqa: PLC0415
    from faradisc.tools.transfer.endpoints import Remote  # noqa: PLC0415 - botocore is slow to import

    try:
        with closing(Remote(url, None, local=True)) as server:
            status, body = server.page(method, path, json.dumps(document or {}).encode())
        answer = json.loads(body)
    except Unreachable as error:
        fail(str(error))
    except ValueError:
        answer = None
    if status == 400 and answer and "error" in answer:
        fail(str(answer["error"]))
    if status == 503 and answer is None:
        fail(f"{url} is starting, stopping or busy; try again in a moment.")
    if status not in (200, 503) or answer is None:
        fail(
            f"{url} answered {status} to {method} {path}: it is not a Faradisc server, or its "
            "administration does not accept this address or these credentials."
        )
    return answer


def _stored(place: str) -> tuple[list[dict[str, Any]], list[str]]:
    from faradisc.clock import SystemClock  # noqa: PLC0415 - for this option only
    from faradisc.engine.cluster.nodes import described_nodes  # noqa: PLC0415
    from faradisc.errors import StorageError  # noqa: PLC0415
    from faradisc.server.setting import SettingsError  # noqa: PLC0415
    from faradisc.server.settings import ServerSettings  # noqa: PLC0415
    from faradisc.storage.postgres.routed import RoutedStore  # noqa: PLC0415

    try:
        with opened_shared(ServerSettings(store=place)) as (store, run):
            found: list[dict[str, Any]] = run(described_nodes(store, SystemClock()))
            if not isinstance(store, RoutedStore):
                return found, []
            run(store.recovery.step())
            return found, store.recovery.problems()
    except (StorageError, SettingsError) as error:
        fail(str(error))
