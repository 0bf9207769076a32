"""Simulation: the whole database on a failing store, under constant load, reproducible from one seed.

    writes.py      a write as data: its effect on an item, and its forms as a request
    model.py       the expected items and catalog at every version
    requests.py    requests, and the answers that the model allows
    searches.py    searches for vectors, compared with brute force
    drawing.py     random requests
    actors.py      clients, the background work, the clock, readers of snapshots
    switches.py    switches things on and off: indexes, streams, time to live, a whole table
    governor.py    changes the throughput of a table with limits, by requests and by auto scaling
    throughput.py  the expected throughput; costs.py and meters.py charges, admissions, partitions
    archivist.py   makes backups, and restores tables from them and to points in time
    courier.py     exports, imports and bulk puts; bulk.py has the rules of bulk puts
    buckets.py     a test double of an object store
    consumers.py   readers of streams, and a test double of a Kinesis endpoint
    auditor.py     checks every commit, and the stored state after every crash and at the end
    breaking.py    runs seeds against deliberately broken code
    run.py         one run of one seed: lives and crashes
    kept.py        the seeds that once failed

Everything from the JSON of a request down to the storage interface is real, with the background work.
Simulated are the clock, all identifiers, the event loop's order (fixtures.seeded_loop) and the disk
(fixtures.faulty_store). `PYTHONPATH=tests python -m simulation --help` runs and replays.
"""
