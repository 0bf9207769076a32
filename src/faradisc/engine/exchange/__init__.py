"""Exports, imports and bulk puts in the service's formats and bucket layout.

    service.py, task_store.py        the tasks and the steps of their jobs
    exporting.py, importing.py, bulk_putting.py     the jobs
    intake.py, object_reader.py      the records of many objects, and of one
    checking.py                      the checks of an item read from a file
    filtering.py                     which items and attributes an export has
    bulk_outputs.py, error_log.py    what a bulk put writes; the records that were rejected
    sealed_objects.py                the files of encrypted tables
    locations.py                     the buckets and the directory of the logs of a database

The formats are in engine/formats, buckets in engine/objects.

Source: new-features.md sections 3 and 14, limits.md sections 8 and 10, and the service model.
"""
