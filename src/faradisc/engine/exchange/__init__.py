"""Exports, imports and bulk puts in the service's formats and bucket layout.

    service.py, task_store.py        the tasks and the steps of their jobs
    exporting.py, importing.py, bulk_putting.py     the jobs
    intake.py, object_reader.py      the records of many objects, and of one
    json_lines.py, ion_text.py, ion_values.py, csv_rows.py      the three formats
    compression.py                   gzip and zstd as streams
    checking.py                      the checks of an item read from a file
    manifests.py                     the layout of an export and its checksums
    locations.py, object_storage.py, s3.py     buckets: directories under a root, or an S3 endpoint
    masking.py                       rules that hide attributes

Source: new-features.md sections 3 and 14, limits.md sections 8 and 10, and the service model.
"""
