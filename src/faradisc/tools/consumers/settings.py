"""Every setting of a consumer, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass

BATCH_RECORDS_MAX = 10_000
BATCH_BYTES_MAX = 6 * 1024 * 1024
"""Payload of one invocation. Both maxima are those of a Lambda event source mapping."""
LANES_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    start: str = "trim-horizon"
    """Where a new group begins: `trim-horizon`, with the oldest record there is, or `latest`, with what is
    written from now on. A group that has begun goes on where it was."""
    batch_size: int = 100
    """Most records in one invocation of the handler, 1 to 10,000."""
    batch_window_s: float = 0.0
    """How long to wait for a batch to fill; 0: what is there is delivered at once."""
    parallel: int = 1
    """Invocations at the same time per shard, 1 to 10. Records of one item stay in order."""
    retries: int | None = None
    """How often a batch that failed is tried again; None: until it succeeds or grows too old."""
    backoff_s: float = 0.5
    """Pause before the first retry; each further pause is twice as long."""
    backoff_s_max: float = 60.0
    max_record_age_s: float | None = None
    """Records older than this are not delivered; they go to the dead letters. None: all are."""
    bisect: bool = False
    """Halve a batch that failed, and try the halves, until the record that fails stands alone."""
    poll_s: float = 0.25
    """Pause after a read that found nothing. A Lambda event source mapping has the same."""
    lease_s: float = 10.0
    """How long a worker that shows no sign of life keeps its shards."""
    sync_s: float = 5.0
    """Pause between looks at the stream's shards and at the leases of the other workers."""
    lease_table: str = "faradisc-consumers"
    """The table that holds leases and checkpoints; made when it is missing."""
    threads: int = 8
    """Shards that `run` works on at the same time, and as many lanes where `parallel` is above 1."""

    def __post_init__(self) -> None:
        """Raises: ValueError."""
        if self.start not in ("trim-horizon", "latest"):
            raise ValueError(f"start is trim-horizon or latest, not {self.start!r}")
        _check_between("batch_size", self.batch_size, 1, BATCH_RECORDS_MAX)
        _check_between("parallel", self.parallel, 1, LANES_MAX)
        _check_between("threads", self.threads, 1, 1000)
        for name in ("batch_window_s", "backoff_s", "backoff_s_max", "retries", "max_record_age_s"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}, below 0")
        for name in ("poll_s", "lease_s", "sync_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, not above 0")


def _check_between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, not between {low} and {high:,}")
