"""Consumers of streams: consumer groups with leases, checkpoints, retries and dead letters.

All access is by boto3 clients: of a database in the process, of a server, or of the service.

    starting.py      consume
    consumer.py      Consumer: one worker of a group
    settings.py      the settings
    leases.py        leases and checkpoints
    balance.py       distribution of the leases to the workers
    lineage.py       the order of parent and child shards
    reader.py        reads one shard
    shard_work.py    reading, delivery and checkpoints of one shard
    delivery.py      a batch: queues, retries, bisection, dead letters
    events.py        records as handlers receive them
    handlers.py      callables and HTTP endpoints
    dead_letters.py  dead letters in a table, a file, or sent to an HTTP endpoint
    redrive.py       dead letters of a table delivered again
    statistics.py    counts and ages
    tail.py          records without a group
"""

from faradisc.tools.consumers.consumer import Consumer
from faradisc.tools.consumers.settings import ConsumerSettings
from faradisc.tools.consumers.starting import NoStream, consume

__all__ = ["Consumer", "ConsumerSettings", "NoStream", "consume"]
