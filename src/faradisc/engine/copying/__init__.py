"""The continuous copy: commits of a store, in a bucket, as they are made.

    format      segments, snapshots and the lease as bytes (docs/formats/copy.md)
    place       the objects of one copy; what is there
    lease       who writes the copy and answers: at most one server
    points      how far it is
    ends        where it ends, and the log after it
    copier      writes it
    snapshots   the whole store from time to time, so that old segments can go; many segments made one
    restoring   makes a data directory of it, and verifies it
    following   a second server that keeps up with it, and takes over

A copy is built on the log of commits of the store (storage/rocks_log.py), below encryption: what is sealed in
the store is sealed in the copy.
"""
