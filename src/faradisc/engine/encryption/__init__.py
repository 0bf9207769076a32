"""Keys of one's own for encryption at rest: who holds them, and which table uses which.

key_service   what a holder of master keys does, and how it refuses
key_file      master keys in a file of this server (`faradisc keys`)
kms           master keys in a KMS endpoint
own_keys      the key of a data directory, where neither is given, and beside them
services      opens the one that settings name
data_keys     makes, wraps and unwraps data keys
encryption    chooses and switches the keys of tables; finds keys that are gone or back
converting    rewrites the rows of a table after its encryption was enabled or disabled
"""
