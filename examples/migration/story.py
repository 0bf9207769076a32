"""The whole migration, step by step. `between` is called after each step, with the step's name."""

from __future__ import annotations

from collections.abc import Callable

from examples.migration.migration import Migration


def migrate(
    migration: Migration,
    between: Callable[[str], None],
    *,
    bucket: str,
    read: Callable[[str], bytes],
    units_per_second: float,
) -> None:
    """Migrates the orders. Raises RuntimeError when the tables differ before readers are switched."""
    migration.switch(write="old+new", read="old")
    between("all instances write to both tables; what was there before is in the old one")
    copied = migration.backfill_from_export(bucket, read)
    between(f"an export was copied: {copied} orders")
    copied = migration.backfill_by_scan(units_per_second)
    removed = migration.remove_orphans(units_per_second)
    between(f"a throttled Scan found {copied} more, and {removed} that were deleted")
    if differ := migration.differences(units_per_second):
        raise RuntimeError(f"the tables differ: {differ[:10]}")
    between("the tables are equal")
    migration.switch(write="old+new", read="new")
    between("readers use the new table")
    migration.roll_back()
    between("rolled back: readers use the old table, which has every write")
    migration.switch(write="old+new", read="new")
    migration.switch(write="new+old", read="new")
    between("conditions are on the new table; the old one is written for a rollback")
    if differ := migration.differences(units_per_second):
        raise RuntimeError(f"the tables differ: {differ[:10]}")
    migration.roll_back()
    between("rolled back once more, from the last step from which that is possible")
    migration.switch(write="new+old", read="new")
    migration.switch(write="new", read="new")
    between("the old table is no longer used, and may be backed up and deleted")
