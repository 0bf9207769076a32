"""Objects in buckets: files in directories, in memory, or objects of an S3 endpoint. The one storage of
backups, exports and imports.

    api         what a storage of objects does, and its errors
    directory   in directories, with the syncs that make a stored object complete
    memory      in memory
    s3          at an S3 endpoint; needs boto3
    served      what another server hands out of its continuous copy, read only

An object exists when it is complete and durable. Nothing here knows what an object contains.
"""
