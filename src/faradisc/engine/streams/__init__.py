"""DynamoDB Streams: shards and their lineage, iterators, stream records, retention of 24 hours."""
