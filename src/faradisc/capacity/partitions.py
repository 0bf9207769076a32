"""How many partitions a resource has.

Source: capacity.md section 2.4 and vectors V70 to V85.
"""

from __future__ import annotations

PARTITION_READ_UNITS_MAX = 3000
PARTITION_WRITE_UNITS_MAX = 1000
ON_DEMAND_PARTITIONS_INITIAL = 4


def initial_partitions(read_units: int, write_units: int) -> int:
    """Partitions of a provisioned resource at birth: the sum of both shares, rounded up once."""
    share = read_units * PARTITION_WRITE_UNITS_MAX + write_units * PARTITION_READ_UNITS_MAX
    return max(1, -(-share // (PARTITION_READ_UNITS_MAX * PARTITION_WRITE_UNITS_MAX)))
