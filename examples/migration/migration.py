"""The steps of the migration. Each may be repeated, and all run while programs read and write."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from examples.migration.orders import FLAGS, NEW, OLD, Order, parse, revision_is, transact


class Migration:
    def __init__(
        self,
        documents: Any,
        settle: Callable[[], None],
        *,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        """documents: the client of a boto3 resource.

        settle: waits until every instance of the program has read the flags again and finished the requests
        that it began before.
        """
        self._db = documents
        self._settle = settle
        self._sleep = sleep

    def switch(self, *, write: str, read: str) -> None:
        """Sets the flags, and waits until all instances obey them."""
        self._db.put_item(TableName=FLAGS, Item={"name": "orders", "write": write, "read": read})
        self._settle()

    def roll_back(self) -> None:
        """Returns to the old table, which every write has reached until the last step."""
        self.switch(write="old+new", read="old")

    # --- Backfill ----------------------------------------------------------------------------------

    def backfill_from_export(self, bucket: str, read: Callable[[str], bytes]) -> int:
        """Copies what an export of the old table has. Returns the number of orders that were copied.

        Reads nothing from the table: exports come from its backups. read: returns the content of an object of
        the bucket. Only after all instances write to both tables.
        """
        arn = self._db.describe_table(TableName=OLD)["Table"]["TableArn"]
        begun = self._db.export_table_to_point_in_time(TableArn=arn, S3Bucket=bucket, S3Prefix="orders")
        export = begun["ExportDescription"]
        while export["ExportStatus"] == "IN_PROGRESS":
            self._sleep(1)
            answer = self._db.describe_export(ExportArn=export["ExportArn"])
            export = answer["ExportDescription"]
        if export["ExportStatus"] != "COMPLETED":
            raise RuntimeError(f"the export failed: {export.get('FailureMessage')}")
        return sum(self._copy(order) for order in exported(export["ExportManifest"], read))

    def backfill_by_scan(self, units_per_second: float) -> int:
        """Copies by a Scan that consumes so many read units. Returns the number of orders that were copied.

        Only after all instances write to both tables. Another run finds what the first has left out: nothing.
        """
        return sum(self._copy(order) for order in self._scan(OLD, units_per_second))

    def remove_orphans(self, units_per_second: float) -> int:
        """Deletes new orders whose old one is gone: deleted by an instance that did not yet write to both
        tables. Returns their number."""
        count = 0
        for order in self._scan(NEW, units_per_second):
            gone = {"TableName": OLD, "Key": order.key(OLD), **revision_is(None)}
            delete = {"TableName": NEW, "Key": order.key(NEW), **revision_is(order.revision)}
            count += transact(self._db, [{"ConditionCheck": gone}, {"Delete": delete}])
        return count

    def _copy(self, order: Order) -> bool:
        """Copies an order that is still as it was read, unless its copy is as new.

        Otherwise it was changed since, by an instance that has written the new table as well.
        """
        still = {"TableName": OLD, "Key": order.key(OLD), **revision_is(order.revision)}
        put = {
            "TableName": NEW,
            "Item": order.item(NEW),
            "ConditionExpression": "attribute_not_exists(revision) OR revision < :revision",
            "ExpressionAttributeValues": {":revision": order.revision},
        }
        return transact(self._db, [{"ConditionCheck": still}, {"Put": put}])

    def _scan(self, table: str, units_per_second: float) -> Iterator[Order]:
        more: dict[str, Any] = {}
        while True:
            page = self._db.scan(TableName=table, Limit=100, ReturnConsumedCapacity="TOTAL", **more)
            yield from (parse(item) for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            self._sleep(page["ConsumedCapacity"]["CapacityUnits"] / units_per_second)
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    # --- Comparison --------------------------------------------------------------------------------

    def differences(self, units_per_second: float) -> list[str]:
        """Returns the ids of the orders that differ. Exact under load: both items are read at one time."""
        found: set[str] = set()
        for table in (OLD, NEW):
            for order in self._scan(table, units_per_second):
                gets = [{"Get": {"TableName": name, "Key": order.key(name)}} for name in (OLD, NEW)]
                answers = self._db.transact_get_items(TransactItems=gets)["Responses"]
                old, new = (parse(each["Item"]) if "Item" in each else None for each in answers)
                if old != new:
                    found.add(order.order)
        return sorted(found)


def exported(manifest: str, read: Callable[[str], bytes]) -> Iterator[Order]:
    """Yields the orders of an export; manifest: the key of its summary."""
    files = manifest.replace("manifest-summary.json", "manifest-files.json")
    for line in read(files).splitlines():
        for row in gzip.decompress(read(json.loads(line)["dataFileS3Key"])).splitlines():
            item = json.loads(row)["Item"]
            yield parse({name: TypeDeserializer().deserialize(value) for name, value in item.items()})
