"""Moving data between databases and files from the outside: `faradisc export`, `import` and `copy`.

    wire.py        requests to an endpoint, or to a data directory that nobody serves
    scanning.py    a whole table, by parallel segments, and where an interrupted walk goes on
    putting.py     items into a table, 25 at a time
    sources.py     what a path holds: an export of the service, or single files
    loading.py     files into a table
    dumping.py     a table into files, in the layout of the service's exports
    copying.py     a table of one endpoint into one of another
    progress.py    one line on the terminal

The jobs of a running server are in exchange/; formats, manifests and masking are the same there and here.
"""
