"""python -m examples.guide_tables: creates the four tables, loads them and runs six queries."""

from __future__ import annotations

import argparse
import json
from typing import Any

from examples.endpoint import DEFAULT_URL, connect
from examples.guide_tables.load import create_tables, delete_tables, load_items
from examples.guide_tables.queries import QUERIES


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.guide_tables", description=__doc__)
    parser.add_argument("--endpoint-url", default=DEFAULT_URL, help="default: %(default)s")
    parser.add_argument("--keep", action="store_true", help="do not delete the tables")
    options = parser.parse_args()
    client = connect(options.endpoint_url)
    create_tables(client)
    print(f"{load_items(client)} items in 4 tables\n")
    for sentence, method, request in QUERIES:
        print(f"{sentence}: {method} on {request['TableName']}")
        for item in _items_of(getattr(client, method)(**request)):
            print("   ", json.dumps(item, default=repr))
        print()
    if not options.keep:
        delete_tables(client)


def _items_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    if "Items" in answer:
        return answer["Items"]
    return [answer.get("Item") or answer["Attributes"]]


if __name__ == "__main__":
    main()
