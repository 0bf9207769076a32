"""`faradisc place`: where tables are on a store of several PostgreSQLs, and moving them."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from faradisc.cli.databases import url_option
from faradisc.cli.failing import fail
from faradisc.cli.nodes import page

PATH = "/_faradisc/places"
POLL_S = 1.0


@click.command()
@click.argument("table", required=False)
@click.argument("to", required=False, type=click.IntRange(min=0), metavar="[PLACE]")
@click.option("--spread", is_flag=True, help="Divide TABLE's slots over all places.")
@click.option("--balance", is_flag=True, help="Propose moves that make the loads more equal.")
@click.option("--yes", is_flag=True, help="With --balance: make these moves.")
@click.option("--add", type=int, metavar="PLACE", help="Let new tables be put at a place.")
@click.option("--drain", type=int, metavar="PLACE", help="Move all tables away from a place.")
@click.option("--wait", is_flag=True, help="Show the progress of moves until they have ended.")
@url_option
@click.option("--json", "as_json", is_flag=True, help="Places and tables as JSON.")
def place(
    table: str | None,
    to: int | None,
    *,
    spread: bool,
    balance: bool,
    yes: bool,
    add: int | None,
    drain: int | None,
    wait: bool,
    url: str,
    as_json: bool,
) -> None:
    """List the PostgreSQLs of the servers' store with the tables at each, or move TABLE to PLACE.

    A table is read and written while it moves. The servers do it, one table at a time, and go on after any of
    them has ended; so this command may end.
    """
    asked: dict[str, Any] = {}
    for name, value in (("add", add), ("drain", drain)):
        if value is not None:
            asked[name] = value
    if table is not None and (to is not None or spread):
        asked.update({"table": table, **({"spread": True} if spread else {"to": to})})
    elif table is not None or spread:
        raise click.UsageError("Name a table, and a place or --spread.")
    if balance:
        asked["balance"] = True
    if len(asked.keys() - {"to", "spread"}) > 1:
        raise click.UsageError("Ask for one change at a time.")
    if balance and not yes:
        moves = page(url, "GET", f"{PATH}?balance")["proposals"]
        for each in moves:
            click.echo(f"{each['table']} to place {each['to']}")
        click.echo(
            "Make these moves with --yes."
            if moves
            else "The loads are as equal as moves of tables make them."
        )
        return
    document = page(url, "POST", PATH, asked) if asked else page(url, "GET", PATH)
    while True:
        moving = [each for each in document["tables"] if each["moving"]]
        if not wait or not moving:
            break
        for each in moving:
            click.echo(f"{each['table']}: {each['moving']['done']:.0%}", err=True)
        time.sleep(POLL_S)
        document = page(url, "GET", PATH)
    if as_json:
        click.echo(json.dumps(document))
    else:
        _show(document)
    if any(each["status"] == "down" for each in document["places"]):
        fail("A place is down; its tables cannot be used.")


def _show(document: dict[str, Any]) -> None:
    from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

    rows = []
    for each in document["places"]:
        old = (
            f"{len(each['prepared'])} prepared, {each['prepared'][0]['age_s']:.0f} s"
            if each["prepared"]
            else ""
        )
        words = "; ".join(filter(None, (each["status"], each["reason"], old)))
        rows.append(
            (
                str(each["place"]),
                each["address"],
                f"{each['tables']} tables",
                f"{each['bytes']:,} bytes",
                f"{each['load']:g} units/s",
                words,
            )
        )
    print_table(
        ("place", "address", "tables", "size", "load", "status"), rows, right=("tables", "size", "load")
    )
    lines = []
    for each in document["tables"]:
        moving = each["moving"]
        words = f"{moving['done']:.0%} moved to {_numbers(moving['to'])}" if moving else ""
        lines.append(
            (
                each["table"],
                _numbers(each["places"]),
                f"{each['bytes']:,} bytes",
                f"{each['load']:g} units/s",
                words,
            )
        )
    print_table(("table", "place", "size", "load", "moving"), lines, right=("size", "load"))


def _numbers(places: list[int]) -> str:
    return ", ".join(map(str, places))
