"""Every limit: value, unit, inclusive or not, and its source.

"limits.md" and "capacity.md" are the checked facts this project was built from (docs/reference/sources.md).
1 KB is 1,024 bytes throughout.
"""

from __future__ import annotations

KB = 1024
MB = 1024 * KB

# --- Items, keys and values (limits.md section 2) -----------------------------------------------

ITEM_SIZE_BYTES_MAX = 409_600
"""Largest item, names included, inclusive."""

PARTITION_KEY_BYTES_MAX = 2048
SORT_KEY_BYTES_MAX = 1024
NESTING_LEVELS_MAX = 32
NUMBER_DIGITS_MAX = 38
NUMBER_EXPONENT_MAX = 125
"""Of the first digit in scientific notation: 9.99...E+125 is the largest magnitude."""
NUMBER_EXPONENT_MIN = -130
ATTRIBUTE_NAME_BYTES_MAX = 65_535
REPLICA_OVERHEAD_BYTES = 48
"""Added per item to TableSizeBytes of a replica (the service's documentation of item sizes)."""
STORAGE_OVERHEAD_BYTES = 100
"""Added per item and per index entry to TableSizeBytes and IndexSizeBytes (capacity.md 2.1)."""
ECHO_CHARACTERS_MAX = 65_536
"""Of a rejected value that a message repeats: a request of 16 MB must not get an answer of 23 MB. Assumed: no
capture shows a longer one."""

# --- Expressions (limits.md section 3) ----------------------------------------------------------

EXPRESSION_BYTES_MAX = 4096
EXPRESSION_OPERATORS_MAX = 300
IN_OPERANDS_MAX = 100
PLACEHOLDER_BYTES_MAX = 255
"""Of a `#name` or `:value`, sigil included."""
PLACEHOLDERS_BYTES_MAX = 2 * MB
"""All substituted names and values of one request in sum."""

# --- Operations (limits.md section 4) -----------------------------------------------------------

REQUEST_BODY_BYTES_MAX = 16 * MB
"""Measured: one byte more gets an empty HTTP 413 (capacity.md 2.0)."""
PAGE_BYTES_MAX = 1 * MB
"""Evaluated data of one Query or Scan page, before filter and projection."""
BATCH_GET_KEYS_MAX = 100
BATCH_GET_BYTES_MAX = 16_000_000
"""The documented example (100 items of 300 KB return 52) fits this, not 16 MiB (capacity.md 2.0)."""
BATCH_WRITE_REQUESTS_MAX = 25
TRANSACTION_BYTES_MAX = 4 * MB
"""Of the request's items for writes, of the data read for reads."""
IDEMPOTENCY_WINDOW_S = 600
"""How long a ClientRequestToken is remembered after its transaction has finished (limits.md section 8)."""
LIST_TABLES_PAGE_MAX = 100
TAGS_PAGE_MAX = 10
RESOURCE_POLICY_BYTES_MAX = 20 * KB
"""White space counts (iam.md section 7.1)."""

# --- Tables and indexes (limits.md section 5) ---------------------------------------------------

TABLES_MAX = 2500
GSI_PER_TABLE_MAX = 20
LSI_PER_TABLE_MAX = 5
GSI_HASH_ATTRIBUTES_MAX = 4
GSI_RANGE_ATTRIBUTES_MAX = 4
PROJECTED_ATTRIBUTES_PER_TABLE_MAX = 100
TAGS_PER_RESOURCE_MAX = 50
TAG_KEY_CHARACTERS_MAX = 128
TAG_VALUE_CHARACTERS_MAX = 256
TAGS_BYTES_MAX = 10_240
ITEM_COLLECTION_BYTES_MAX = 10 * 1024 * MB
"""Only on tables with a local secondary index."""

# --- Backups (limits.md section 10) -------------------------------------------------------------

RECOVERY_PERIOD_DAYS_DEFAULT = 35
SYSTEM_BACKUP_LIFETIME_S = 35 * 86_400
RESTORES_AT_ONCE_MAX = 50
LIST_BACKUPS_PAGE_MAX = 100

# --- Throughput (limits.md section 6, capacity.md 2.0) ------------------------------------------

READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
THROUGHPUT_NUMBER_MAX = 1_000_000_000_000
"""Largest number accepted in ReadCapacityUnits and WriteCapacityUnits."""
TABLE_CAPACITY_UNITS_MAX = 40_000
ACCOUNT_CAPACITY_UNITS_MAX = 80_000
ON_DEMAND_READ_UNITS_INITIAL = 12_000
ON_DEMAND_WRITE_UNITS_INITIAL = 4_000
DECREASES_PER_DAY_INITIAL = 4
BILLING_MODE_SWITCHES_PER_DAY_MAX = 4
TABLE_CLASS_CHANGES_PER_30_DAYS_MAX = 2

# --- Streams and time to live (streams.md sections 1, 3 and 4; limits.md sections 7 and 9) ------

STREAM_RETENTION_S = 86_400
"""Of a record after it is written, and of a stream after it is disabled."""
SHARD_LIFETIME_S = 4 * 3600
SHARD_ITERATOR_LIFETIME_S = 15 * 60
STREAM_RECORDS_PAGE_MAX = 1000
STREAM_PAGE_BYTES_MAX = 1 * MB
LIST_STREAMS_PAGE_MAX = 100
SHARDS_PAGE_MAX = 100
KINESIS_PRECISION_CHANGES_PER_DAY_MAX = 3
TTL_DELAY_S = 60.0
"""How long an item outlives its time to live, unless a setting says otherwise. The service takes minutes to
days, so a program must not rely on the deletion; a minute shows whether it does."""
TTL_CHANGE_INTERVAL_S = 3600
"""Between two changes of a table's time to live."""
TTL_PAST_S_MAX = 5 * 365 * 86_400
"""An item whose time is older than this never expires."""

# --- Exports, imports, bulk puts (limits.md section 10) -----------------------------------------

EXPORTS_RUNNING_MAX = 300
IMPORTS_RUNNING_MAX = 50
BULK_OPERATIONS_RUNNING_MAX = 50
"""Assumed to be that of imports."""
INCREMENTAL_EXPORT_S_MIN = 15 * 60
INCREMENTAL_EXPORT_S_MAX = 86_400
