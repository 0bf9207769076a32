"""Throughput of the running database: the pure core of `capacity` fastened to tables, a clock and a disk.

    settings    which profile holds for which table
    table       one table's lanes: what reads and writes ask and charge
    meter       all tables: their resources over time, and what of them survives a restart
    survey      what a partition holds, by its rows
    surveyor    which partitions are measured, and when: full ones, for their splits, and estimates

What an operation costs is worked out in `engine/tables/charging.py`; what a refused one is told, in
`capacity/throttle.py`.
"""
