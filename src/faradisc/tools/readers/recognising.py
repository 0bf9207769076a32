"""What a file is, by its first bytes and its structure, before anything is created."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

FIRST_BYTES = 1 << 16
LINE_BYTES_MAX = 1 << 23
DOCUMENT_BYTES_MAX = 1 << 28
"""A longer document is not parsed to see what it is."""


class InputKind(Enum):
    """A kind of file: what it is called, and how it is used."""

    CLOUDFORMATION = ("a CloudFormation template", "`faradisc seed` reads it")
    SERVERLESS = ("a serverless.yml", "`faradisc seed` reads it")
    TERRAFORM_SHOWN = ("the output of `terraform show -json`", "`faradisc seed` reads it")
    TERRAFORM = ("a Terraform configuration", "`faradisc seed` reads it")
    WORKBENCH = ("a NoSQL Workbench model", "`faradisc seed` and `faradisc import` read it")
    TABLES = ("a definition of a table", "`faradisc seed` reads it, and `faradisc import` as --definition")
    BATCH = ("a BatchWriteItem request", "`faradisc seed` and `faradisc import` read it")
    ITEMS = ("a list of items", "`faradisc import` reads it, and `faradisc seed` as items/TABLE.json")
    ITEM_LINES = (
        "items, one in a line",
        "`faradisc import` reads it, and `faradisc seed` as items/TABLE.jsonl",
    )
    EXPORT_LINES = ("DynamoDB JSON lines", "`faradisc import` reads it")
    ION = ("Ion", "`faradisc import` reads it")
    MANIFEST = ("a manifest of an export", "`faradisc import` reads the directory it is in")
    METRICS = ("metrics of CloudWatch", "`faradisc plan --trace` reads it")
    TRACE = ("a recorded trace", "`faradisc plan --trace` reads it")
    PLAN = ("a plan", "`faradisc plan` reads it")
    COMPRESSED = ("a compressed file", "`faradisc import` reads it")
    COLUMNS = ("a Parquet or Arrow file", "`faradisc import` reads DynamoDB JSON, Ion and CSV")
    OTHER_BINARY = ("no text", "it is not read")
    OTHER_ENCODING = ("text in UTF-16 or UTF-32", "save it as UTF-8")

    def __init__(self, title: str, use: str) -> None:
        self.title = title
        self.use = use


_MAGIC = (
    (b"\x1f\x8b", InputKind.COMPRESSED),
    (b"\x28\xb5\x2f\xfd", InputKind.COMPRESSED),
    (b"\xe0\x01\x00\xea", InputKind.ION),
    (b"$ion_1_0", InputKind.ION),
    (b"PAR1", InputKind.COLUMNS),
    (b"ARROW1", InputKind.COLUMNS),
    (b"\xff\xff\xff\xff", InputKind.COLUMNS),
    (b"\xff\xfe", InputKind.OTHER_ENCODING),
    (b"\xfe\xff", InputKind.OTHER_ENCODING),
    (b"\x00\x00\xfe\xff", InputKind.OTHER_ENCODING),
)
_DOCUMENT = re.compile(rb'\[|\{\s*(\n|"Items"\s*:)')
_REQUESTS = frozenset({"PutRequest", "DeleteRequest"})


def kind_of_file(path: Path) -> InputKind | None:
    """Returns the kind of a file of items or a document in JSON; None for other texts, as CSV and YAML.

    Reads the first bytes, and the whole of a document in JSON. Raises OSError.
    """
    with path.open("rb") as file:
        first = file.read(FIRST_BYTES)
        found = kind_of_bytes(first)
        if found is not None:
            return found
        text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not text.startswith((b"{", b"[")):
            return None
        if b"\n" not in text:
            text += file.read(LINE_BYTES_MAX)
        line, _, rest = text.partition(b"\n")
        try:
            return kind_of_line(orjson.loads(line), alone=not rest.strip())
        except orjson.JSONDecodeError:
            pass
        document = text + file.read(DOCUMENT_BYTES_MAX)
    try:
        return kind_of_document(orjson.loads(document))
    except orjson.JSONDecodeError:
        # Damaged: the reader of documents says where, unless these are lines, whose reader goes on.
        return InputKind.ITEMS if _DOCUMENT.match(document) else None


def kind_of_bytes(first: bytes) -> InputKind | None:
    """Returns the kind of a file that is no text in UTF-8, by its first bytes; None for a text."""
    for magic, kind in _MAGIC:
        if first.startswith(magic):
            return kind
    return InputKind.OTHER_BINARY if b"\x00" in first else None


def kind_of_line(line: Any, *, alone: bool) -> InputKind | None:
    """Returns the kind of a file whose first line is a document by itself. alone: it is the only line."""
    if isinstance(line, Mapping):
        if "faradisc_trace" in line:
            return InputKind.TRACE
        if any(isinstance(line.get(name), Mapping) for name in ("Item", "NewImage", "Keys", "OldImage")):
            return InputKind.EXPORT_LINES
        if alone and (found := kind_of_document(line)) is not None:
            return found
        return InputKind.ITEM_LINES
    return kind_of_document(line) if alone else None


def kind_of_document(document: Any) -> InputKind | None:
    """Returns the kind of a document in JSON or YAML; None for one of no known structure."""
    if isinstance(document, list):
        return _kind_of_list(document)
    if not isinstance(document, Mapping):
        return None
    if isinstance(document.get("Resources"), Mapping):
        return InputKind.CLOUDFORMATION
    if "service" in document and "provider" in document:
        return InputKind.SERVERLESS
    if "format_version" in document and "terraform_version" in document:
        return InputKind.TERRAFORM_SHOWN
    if isinstance(document.get("DataModel"), list):
        return InputKind.WORKBENCH
    if "MetricDataResults" in document or "Datapoints" in document:
        return InputKind.METRICS
    if "manifestFilesS3Key" in document:
        return InputKind.MANIFEST
    if isinstance(document.get("Items"), list):
        return InputKind.ITEMS
    if _is_definition(document):
        return InputKind.TABLES
    requests = document.get("RequestItems", document)
    if isinstance(requests, Mapping) and requests and all(map(_is_requests, requests.values())):
        return InputKind.BATCH
    if "traffic" in document and "tables" in document:
        return InputKind.PLAN
    if isinstance(document.get("tables", document.get("Tables")), list):
        return InputKind.TABLES
    return None


def _kind_of_list(document: list[Any]) -> InputKind | None:
    kinds = {kind_of_document(each) for each in islice(document, 100)}
    if kinds in ({InputKind.TABLES}, {InputKind.BATCH}):
        return kinds.pop()
    return InputKind.ITEMS


def _is_definition(document: Mapping[Any, Any]) -> bool:
    described = (document, *(document.get(name) for name in ("Table", "TableDescription")))
    return any(isinstance(each, Mapping) and "KeySchema" in each for each in described) or isinstance(
        document.get("Table"), Mapping
    )


def _is_requests(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, Mapping) and bool(_REQUESTS & each.keys()) for each in value)
    )
