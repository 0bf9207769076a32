"""The service models of the installed botocore as items.

A service's items are its shapes, each under its own name, and one document of everything else (metadata,
operations, documentation) under `#service`. An item over the size limit is split: each part has some entries
of its largest map, in order, and its number; the first part has the other attributes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import botocore

from examples.botocore_corpus.typed import NotStorable, Typed, item_size_bytes, size_bytes, to_typed

ITEM_SIZE_BYTES_MAX = 400 * 1024
PARTITION_KEY = "Service"
SORT_KEY = "Shape"
TYPE = "type"
SERVICE_DOCUMENT = "#service"

Item = dict[str, Typed]

_DATA = Path(botocore.__file__).parent / "data"


def all_services() -> list[str]:
    """Returns all services as "name/version", sorted."""
    return sorted(
        f"{path.parent.parent.name}/{path.parent.name}" for path in _DATA.glob("*/*/service-2.json.gz")
    )


@cache
def _model(service: str) -> dict[str, Any]:
    packed = (_DATA / service / "service-2.json.gz").read_bytes()
    return json.loads(gzip.decompress(packed), parse_float=Decimal)


def shape_names(service: str) -> Iterator[tuple[str, str]]:
    """Yields name and type of each document of the service, before splitting."""
    yield SERVICE_DOCUMENT, "service"
    for name, shape in _model(service)["shapes"].items():
        yield name, shape[TYPE]


def items_of(service: str, shape: str) -> list[Item]:
    """Returns one document as one item, or as several if it is too large.

    Raises NotStorable when it cannot be split.
    """
    model = _model(service)
    if shape == SERVICE_DOCUMENT:
        document = {TYPE: "service", **{name: value for name, value in model.items() if name != "shapes"}}
    else:
        document = model["shapes"][shape]
    item = {name: to_typed(value) for name, value in document.items()}
    if PARTITION_KEY in item or SORT_KEY in item:
        raise NotStorable(f"an attribute named {PARTITION_KEY} or {SORT_KEY}")
    item = {PARTITION_KEY: {"S": service}, SORT_KEY: {"S": shape}, **item}
    return [item] if item_size_bytes(item) <= ITEM_SIZE_BYTES_MAX else _split(item)


def document_of(sort_key: str) -> str:
    """Returns the name of the document of an item's sort key."""
    name, _, part = sort_key.rpartition("#")
    return name if name and part.isdigit() else sort_key


def _split(item: Item) -> list[Item]:
    largest = max(
        (name for name in item if "M" in item[name]), key=lambda name: size_bytes(item[name]), default=None
    )
    if largest is None:
        raise NotStorable(f"{item_size_bytes(item)} bytes without a map to split")
    parts: list[Item] = []
    part = {**item, "part": {"N": "1"}, largest: {"M": {}}}
    size = item_size_bytes(part)
    for name, member in item[largest]["M"].items():
        more = 1 + len(name.encode()) + size_bytes(member)
        if size + more > ITEM_SIZE_BYTES_MAX and part[largest]["M"]:
            parts.append(part)
            part = _next_part(item, len(parts) + 1, largest)
            size = item_size_bytes(part)
        if size + more > ITEM_SIZE_BYTES_MAX:
            raise NotStorable(f"{size + more} bytes that cannot be split further, at {largest}.{name}")
        part[largest]["M"][name] = member
        size += more
    return [*parts, part]


def _next_part(item: Item, number: int, largest: str) -> Item:
    return {
        PARTITION_KEY: item[PARTITION_KEY],
        SORT_KEY: {"S": f"{item[SORT_KEY]['S']}#{number}"},
        TYPE: item[TYPE],
        "part": {"N": str(number)},
        largest: {"M": {}},
    }
