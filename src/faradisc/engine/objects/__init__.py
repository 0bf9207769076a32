"""Objects in buckets, for exports and imports: files in directories, or objects of an S3 endpoint.

    object_storage      what a storage of objects does, its errors, and the one with directories
    s3                  the one with an endpoint; needs boto3

An object exists when it is complete and durable. Nothing here knows what an object contains.
"""
