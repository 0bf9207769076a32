"""Simulation: the whole database on a store that fails, under clients that never rest, from one seed.

    writes.py      a write as data: what it makes of an item, and how it is put into words
    model.py       what must be stored at every version; the catalog beside it
    requests.py    requests, and which answers the model allows
    searches.py    searches for vectors, against brute force
    drawing.py     random requests
    actors.py      who takes part: clients, the background work, the clock, readers of snapshots
    switches.py    switches things on and off: indexes, streams, time to live, a whole table
    governor.py    who governs the throughput of a table that has limits, by hand and by auto scaling
    throughput.py  what the auditor knows of that; costs.py and meters.py what is charged, admitted, divided
    archivist.py   who makes backups, and restores tables from them and from their past
    courier.py     who exports, imports and puts in bulk; bulk.py has the rules of bulk puts
    buckets.py     the double of an object store
    consumers.py   who reads the streams, and the double of a Kinesis endpoint
    auditor.py     sees every commit, and judges the world after every crash and at the end
    breaking.py    for tests that break something, and want to be reported
    run.py         lives and crashes: one run of one seed
    kept.py        the seeds that once failed

The real parts are everything from the JSON of a request down to the storage seam, background work included.
Simulated are the clock, all identifiers, the event loop's order (faradisc.testing.seeded_loop) and the disk
(faradisc.testing.faulty_store). `PYTHONPATH=tests python -m simulation --help` runs and replays.
"""
