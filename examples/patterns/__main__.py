"""python -m examples.patterns [NAME ...]: runs patterns, in this process or against an endpoint."""

from __future__ import annotations

import argparse
import importlib

from examples.patterns.setup import Clients
from faradisc.local import LocalDatabase
from faradisc.tools.consumers.starting import make_client

PATTERNS = ("outbox", "idempotent", "sharded_counter", "feed", "order_saga", "search_index", "cache")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.patterns", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PATTERNS)}; default: all")
    parser.add_argument("--endpoint-url", help="default: a database in this process")
    options = parser.parse_args()
    unknown = set(options.names) - set(PATTERNS)
    if unknown:
        parser.error(f"no such pattern: {', '.join(sorted(unknown))}")
    with LocalDatabase() as database:
        if options.endpoint_url:
            clients = Clients(
                make_client("dynamodb", options.endpoint_url),
                make_client("dynamodbstreams", options.endpoint_url),
            )
        else:
            clients = Clients(database.client("dynamodb"), database.client("dynamodbstreams"))
        for name in options.names or PATTERNS:
            print(f"--- {name}")
            importlib.import_module(f"examples.patterns.{name}").main(clients)


if __name__ == "__main__":
    main()
