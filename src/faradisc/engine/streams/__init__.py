"""DynamoDB Streams: shards, records, iterators, and the job that ends shards and trims records.

    stream, shards                   a stream's state and its shards: ranges of the logs of its parts
    records, reading                 an entry of a log, and what GetRecords makes of it
    iterators                        positions, signed
    registry                         the streams of a database

Knows rows of items as bytes; a table hands over its changes (engine/derived/streams.py).
"""
