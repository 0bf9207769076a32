"""`faradisc export`, `import` and `copy`: data between databases and files, as a client.

    endpoints.py     requests to an endpoint, or to a data directory without a server
    scanning.py      a table in parallel segments, and the state of an interrupted scan
    putting.py       writes by BatchWriteItem
    tables.py        definitions of tables
    file_import.py   files into a table
    file_export.py   a table into files
    copying.py       a table of one endpoint into one of another
    progress.py      the progress on a terminal

The jobs of a server are in engine/exchange/; formats, manifests and masking are the same.
"""
