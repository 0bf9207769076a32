"""Work in the background: how it is run, and how it continues where it was stopped.

    runner.py   named jobs, what they work on, what follows an error, and the scheduler that calls them
    threads.py  threads that wait for the network
    walk.py     a walk over the rows of a table, with its position stored

Knows nothing of tables: what a job does is said by the package that owns the data.
"""
