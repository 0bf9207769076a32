"""Encryption at rest between the database and its store: rows and log entries of a table with a key of its
own are sealed when they are committed, and opened when they are read.

state         the stored state: which master key, and the table's data keys, each wrapped by it
sealer        AES-256-GCM with these data keys, once they are unwrapped
sealers       the sealers of all tables, by resource
sealed_store  a store around a store, which seals and opens
"""
