"""Change capture for a Kinesis destination: the changes of a table's items until they are delivered.

Independent of the table's stream: entries have both images and times in microseconds, and are trimmed when
they are delivered. They are written in the item's own commit, to the log of the slot's part of the
destination's resource, in the format of a stream's log (records.py, docs/formats/capture.md).
"""

from __future__ import annotations

from faradisc.clock import Clock
from faradisc.engine.streams.records import ChangeRecorder
from faradisc.model.codec.keyspace import parts_of

TICK_NS = 1000


def capture(resource: int, slots: int, clock: Clock) -> ChangeRecorder:
    """Returns the recorder of one destination."""
    return ChangeRecorder(parts_of(resource, slots), "NEW_AND_OLD_IMAGES", clock, tick_ns=TICK_NS)
