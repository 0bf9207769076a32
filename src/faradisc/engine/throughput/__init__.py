"""Throughput of the running database: connects the capacity model to tables, a clock and a store.

    settings          which profile applies to which table
    table             one table's limiters and counters, as requests use them
    meter             all tables: their resources over time, and what is stored of them
    size_measurement  how much a partition holds, by its rows
    request_counter   latencies, errors and returned items of requests
    trace_recorder    who receives every charge while traffic is recorded

What an operation costs is computed in `engine/tables/charging.py`; how a throttled request is answered, in
`capacity/throttle.py`.
"""
