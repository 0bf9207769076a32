"""The settings of a consumer."""

from __future__ import annotations

from faradisc.records import dataclass

BATCH_RECORDS_MAX = 10_000
BATCH_BYTES_MAX = 6 * 1024 * 1024
"""Payload of one invocation. Both maxima are those of a Lambda event source mapping."""
PARALLEL_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    start: str = "trim-horizon"
    """Start of a new group: `trim-horizon`, the oldest record, or `latest`, records written from now on. An
    existing group continues after its checkpoints."""
    batch_size: int = 100
    """Records in one invocation of the handler at most, 1 to 10,000."""
    batch_window_s: float = 0.0
    """Time to wait for a full batch; 0: present records are delivered at once."""
    parallel: int = 1
    """Concurrent invocations per shard, 1 to 10. Records of one item stay in order."""
    retries: int | None = None
    """Retries of a failed batch; None: until it succeeds or is too old."""
    backoff_s: float = 0.5
    """Pause before the first retry; each further pause is twice as long."""
    backoff_s_max: float = 60.0
    max_record_age_s: float | None = None
    """Older records are not delivered but become dead letters. None: no limit."""
    bisect: bool = False
    """Halve a failed batch and retry the halves, until only the failing record is left."""
    poll_s: float = 0.25
    """Pause after a read without records; that of a Lambda event source mapping."""
    lease_s: float = 10.0
    """Time after which other workers may take the shards of a worker that renews no lease."""
    sync_s: float = 5.0
    """Pause between two reads of the stream's shards and of the leases."""
    lease_table: str = "faradisc-consumers"
    """Table of leases and checkpoints; created if it is missing."""
    redeliver: float = 0.0
    """Share of records, 0 to 1, from which on their batch is delivered once more although it was handled:
    what a handler meets in the service when a worker dies before its checkpoint."""
    redeliver_seed: int = 0
    """The same number chooses the same records."""
    threads: int = 8
    """Shards that `run` processes concurrently, and as many queues if `parallel` is above 1."""

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.start not in ("trim-horizon", "latest"):
            raise ValueError(f"start is trim-horizon or latest, not {self.start!r}")
        _check_between("batch_size", self.batch_size, 1, BATCH_RECORDS_MAX)
        _check_between("parallel", self.parallel, 1, PARALLEL_MAX)
        _check_between("threads", self.threads, 1, 1000)
        for name in ("batch_window_s", "backoff_s", "backoff_s_max", "retries", "max_record_age_s"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}, below 0")
        if not 0 <= self.redeliver <= 1:
            raise ValueError(f"redeliver is {self.redeliver}, not between 0 and 1")
        for name in ("poll_s", "lease_s", "sync_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, not above 0")


def _check_between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, not between {low} and {high:,}")
