"""Exports and imports, alone on one core: `python -m bench.exchange [--items N]`.

Measures the CPU time of the working process, and megabytes of item data as DynamoDB counts them. Wall clock
says little, because steps wait for the disk. Memory is the largest resident set.

Three shapes of items: 12 attributes in 400 bytes; 5 attributes in 953 bytes, most of it one text; and the
first again with four optional attributes and a list of 0 to 3 members: lines of 64 forms.
"""

import argparse
import gc
import gzip
import resource
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from bench.workloads import INDEXED_TABLE, PLAIN_TABLE, Population, table_definition
from faradisc.engine.exchange.locations import directories
from faradisc.model.values.size import item_size
from faradisc.tools.transfer.endpoints import Directory

BUCKET = "bucket"
MB = 1_000_000
KEYS = ("pk", "sk", "owner", "views")
OPTIONAL = ("status", "score", "verified", "address")
LONG_BYTES = 900
Item = dict[str, Any]
Shape = Callable[[Population, int], Item]
"""Returns the item with a number."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000, help="a multiple of 100 (100000)")
    parser.add_argument("--zlib", action="store_true", help="as if ISA-L were not installed")
    options = parser.parse_args()
    if options.zlib:
        sys.modules["isal"] = None  # type: ignore[assignment] - makes its import fail
    print("| What | items | MB | MB/s of CPU | peak memory, MB | longest step, ms |")
    print("|---|---|---:|---:|---:|---:|")
    for shape in (_many, _long, _varied):
        for table in (PLAIN_TABLE, INDEXED_TABLE):
            _measure(options.items, table, shape)
            gc.collect()  # a closed database is a cycle, and holds its caches until it is found


def _many(population: Population, number: int) -> Item:
    """Returns the benchmark's item: 400 bytes, 12 attributes."""
    return population.item(number)


def _long(population: Population, number: int) -> Item:
    item = population.item(number)
    text = (item["note"]["S"] * 5)[:LONG_BYTES]
    return {**{name: item[name] for name in KEYS}, "note": {"S": text}}


def _varied(population: Population, number: int) -> Item:
    item = population.item(number)
    chance = zlib.crc32(str(number).encode())
    for bit, name in enumerate(OPTIONAL):
        if chance >> bit & 1:
            del item[name]
    item["tags"] = {"L": item["tags"]["L"][:1] * (chance >> 8 & 3)}
    return item


def _measure(items: int, table: str, shape: Shape) -> None:
    root = Path(tempfile.mkdtemp(prefix="faradisc-bench-"))
    try:
        source = root / "s3" / BUCKET / "in"
        source.mkdir(parents=True)
        population = Population(items)
        size = 0
        with gzip.open(source / "items.json.gz", "wb", compresslevel=1) as out:
            for number in range(items):
                item = shape(population, number)
                size += item_size(item)
                out.write(b'{"Item":' + orjson.dumps(item) + b"}\n")
        database = Directory(root / "data", directories(root / "s3", root / "logs"))
        forms = ", 64 forms" if shape is _varied else ""
        what = f"{size // items} bytes{forms}" + (", one index" if table == INDEXED_TABLE else "")
        request = {
            "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
            "TableCreationParameters": table_definition(table),
        }
        arn = database.call("ImportTable", request)["ImportTableDescription"]["ImportArn"]
        _timed(database, "import, gzip", what, size)
        done = database.call("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]
        assert done["ImportedItemCount"] == items, done
        recovery = {"PointInTimeRecoveryEnabled": True}
        database.call(
            "UpdateContinuousBackups", {"TableName": table, "PointInTimeRecoverySpecification": recovery}
        )
        table_arn = database.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
        for format_ in ("DYNAMODB_JSON", "ION"):
            request = {"TableArn": table_arn, "S3Bucket": BUCKET, "ExportFormat": format_}
            arn = database.call("ExportTableToPointInTime", request)["ExportDescription"]["ExportArn"]
            _timed(database, f"export, {format_}", what, size)
            description = database.call("DescribeExport", {"ExportArn": arn})["ExportDescription"]
            assert description["ItemCount"] == items, description
        database.close()
    finally:
        shutil.rmtree(root)


def _timed(database: Directory, name: str, what: str, size: int) -> None:
    began = time.process_time()
    longest = 0.0
    busy = True
    while busy:
        step = time.process_time()
        busy = database.work()
        longest = max(longest, time.process_time() - step)
    rate = size / MB / (time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"| {name} | {what} | {size / MB:.0f} | {rate:.1f} | {peak:.0f} | {longest * 1000:.0f} |", flush=True
    )


if __name__ == "__main__":
    main()
