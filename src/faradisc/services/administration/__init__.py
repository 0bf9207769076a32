"""Administration of the database, beyond what DynamoDB's API offers.

    service     throughput, time and background work, seen from inside
    throughput  rates, burst balances, partitions; hot_keys: the keys that make one hot
    checking    a check of a database that serves requests
    places      where the tables of a store of several PostgreSQLs are

Functions take and return plain data. `server/admin.py` serves them at `/_faradisc/...`, `local/` to tests.
"""
