"""Throughput of the running database: connects the capacity model to tables, a clock and a store.

    settings          which profile applies to which table
    meter             one table's limiters and counters, as requests use them
    table_usage       how requests count or charge what they consume
    registry_clock    the clock that advances the capacity model
    throughput        all tables: creates and changes their resources
    stored_state      what is stored of a table's throughput
    background        measures, splits and stores in the background
    size_measurement  how much a partition holds, by its rows
    shared_admission  the throughput of several nodes together; shared_metrics: their metrics
    trace_recorder    the interface that receives every charge while traffic is recorded

What an operation costs is computed in `engine/tables/charging.py`; how a throttled request is answered, in
`capacity/throttle.py`.
"""
