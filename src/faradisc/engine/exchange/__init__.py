"""Data in and out: exports, imports and bulk puts in the service's own formats and bucket layout.

    storage.py, s3.py          where objects live: directories under a root, or an S3 endpoint
    compression.py             gzip and zstd as streams, damage found
    json_lines.py, ion_text.py, ion_values.py, csv_rows.py      the three formats
    checking.py                one item that came from outside: canonical, measured, or refused
    manifests.py               the layout of an export and its checksums
    tasks.py                  the exports, imports and bulk operations there are and were
    exporting.py, importing.py, bulk_putting.py     the jobs, in bounded steps
    masking.py                 rules that hide attributes

Source: new-features.md sections 3 and 14, limits.md sections 8 and 10, and the service model.
"""
