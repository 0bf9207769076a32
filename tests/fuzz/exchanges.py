"""Requests for exports, imports and bulk puts; the bucket of the world is almost empty."""

from __future__ import annotations

from random import Random
from typing import Any

from fixtures.exchanging import recoverable
from fixtures.in_process import InProcess

from .tables import TABLES

Request = dict[str, Any]
BUCKETS = ("bucket", "nowhere")
PREFIXES = ("", "in/", "nothing/", "in/../in/")
LINES = b'{"Item":{"id":{"S":"a"},"k":{"S":"b"}}}\nno line\n{"Item":{}}\n'
"""What the bucket holds, under `in/lines.json`."""
_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
_TASK = "01700000000000-0123abcd"
_begun: dict[str, str] = {}
"""ARNs of the tasks that every world begins with, by kind."""


def begin_tasks(process: InProcess) -> None:
    """Begins one task of each kind in a new world, and enables recovery of its tables."""
    for table in TABLES:
        recoverable(process, table.name)
    begun = process.call("ExportTableToPointInTime", TableArn=_ARN + TABLES[0].name, S3Bucket=BUCKETS[0])
    _begun["export"] = begun["ExportDescription"]["ExportArn"]
    begun = process.call(
        "StartBulkPutItems", **start_bulk_put_items(Random(0)) | {"TableName": TABLES[0].name}
    )
    _begun["bulk-operation"] = begun["BulkOperationDescription"]["BulkOperationArn"]
    begun = process.call(
        "ImportTable",
        S3BucketSource={"S3Bucket": BUCKETS[0]},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters={
            "TableName": "Imported",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    _begun["import"] = begun["ImportTableDescription"]["ImportArn"]


def _arn(rng: Random, kind: str) -> str:
    """Returns the ARN of a task of that kind, mostly of an existing one."""
    if rng.random() < 0.7:
        return _begun.get(kind, _ARN + "none")
    return f"{_ARN}{rng.choice(TABLES).name}/{kind}/{_TASK}"


def _maybe(rng: Random, chance: float, **members: Any) -> Request:
    return members if rng.random() < chance else {}


def import_table(rng: Random) -> Request:
    definition = dict(rng.choice(TABLES).definition())
    parameters = {
        name: definition[name]
        for name in ("AttributeDefinitions", "KeySchema", "BillingMode", "ProvisionedThroughput")
        if name in definition
    }
    indexes = {name: definition[name] for name in ("GlobalSecondaryIndexes",) if name in definition}
    if "LocalSecondaryIndexes" not in definition:
        parameters |= indexes
    return {
        "S3BucketSource": {"S3Bucket": rng.choice(BUCKETS), "S3KeyPrefix": rng.choice(PREFIXES)},
        "InputFormat": rng.choice(("DYNAMODB_JSON", "ION", "CSV")),
        "TableCreationParameters": {"TableName": f"Imported.{rng.randrange(12)}", **parameters},
        **_maybe(rng, 0.4, InputCompressionType=rng.choice(("NONE", "GZIP", "ZSTD"))),
        **_maybe(rng, 0.3, ClientToken=rng.choice("ab")),
        **_maybe(rng, 0.2, InputFormatOptions={"Csv": {"Delimiter": ";", "HeaderList": ["id", "k", "n"]}}),
    }


def describe_import(rng: Random) -> Request:
    return {"ImportArn": _arn(rng, "import")}


def list_imports(rng: Random) -> Request:
    return _maybe(rng, 0.5, PageSize=rng.choice((1, 25))) | _maybe(
        rng, 0.3, TableArn=_ARN + rng.choice(TABLES).name
    )


def export_table(rng: Random) -> Request:
    incremental = rng.random() < 0.3
    window = {"ExportFromTime": 1_700_000_000, "ExportViewType": "NEW_IMAGE"}
    wanted = {
        "FilterExpression": "attribute_exists(n) AND n > :n",
        "ProjectionExpression": "n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
    }
    return {
        "TableArn": _ARN + rng.choice(TABLES).name,
        "S3Bucket": rng.choice(BUCKETS),
        **_maybe(rng, 0.4, S3Prefix=rng.choice(PREFIXES)),
        **_maybe(rng, 0.5, ExportFormat=rng.choice(("DYNAMODB_JSON", "ION"))),
        **_maybe(rng, 0.3, ClientToken=rng.choice("ab")),
        **_maybe(rng, 0.2, FilterSpecification=wanted),
        **({"ExportType": "INCREMENTAL_EXPORT"} if incremental else {}),
        **({"IncrementalExportSpecification": window} if incremental else {}),
    }


def describe_export(rng: Random) -> Request:
    return {"ExportArn": _arn(rng, "export")}


def list_exports(rng: Random) -> Request:
    return _maybe(rng, 0.5, MaxResults=rng.choice((1, 25))) | _maybe(
        rng, 0.3, TableArn=_ARN + rng.choice(TABLES).name
    )


def start_bulk_put_items(rng: Random) -> Request:
    return {
        "TableName": rng.choice(TABLES).name,
        "InputS3Configuration": {
            "S3Bucket": rng.choice(BUCKETS),
            "S3KeyPrefix": rng.choice(PREFIXES),
            "InputFormat": rng.choice(("DYNAMODB_JSON", "ION")),
        },
        "OutputS3Configuration": {
            "S3Bucket": rng.choice(BUCKETS),
            "OutputType": rng.choice((["ERROR"], ["CONDITION_CHECK_FAILURE", "ERROR"])),
        },
        **_maybe(rng, 0.3, ClientToken=rng.choice("ab")),
        **_maybe(rng, 0.3, MaxWriteRequestUnits=1024),
    }


def describe_bulk_operation(rng: Random) -> Request:
    return {"BulkOperationArn": _arn(rng, "bulk-operation")}


def list_bulk_operations(rng: Random) -> Request:
    return _maybe(rng, 0.5, MaxResults=rng.choice((1, 25)))
