"""Consumers: what is built on a stream, without a cloud.

Everything here speaks to the database as any client does, through boto3's clients: of this process, of a
server, of the service itself. Nothing below knows of it; `faradisc.streams.consume` is found here
only when somebody asks for it.

    starting.py      consume
    consumer.py      Consumer: one worker of a group
    settings.py      every setting
    leases.py        who reads which shard, and how far the group is
    balance.py       which leases a worker should have
    lineage.py       which shards may be read
    reader.py        the records of one shard
    shard_work.py    one shard in the hands of one worker
    delivery.py      a batch: lanes, retries, halves, dead letters
    events.py        records as handlers see them
    handlers.py      callables and HTTP endpoints
    dead_letters.py  a table, a file, an HTTP endpoint
    statistics.py    counts and ages
    tail.py          records as they come, without a group
"""

from faradisc.tools.consumers.consumer import Consumer
from faradisc.tools.consumers.settings import ConsumerSettings
from faradisc.tools.consumers.starting import NoStream, consume

__all__ = ["Consumer", "ConsumerSettings", "NoStream", "consume"]
