"""Global tables: the life of replicas, and the delivery of what each of them writes to the others.

group.py      adds, changes and removes replicas; gives them the settings that they have in common
creating.py   the table of a new replica, and its first items
filling.py    pages of these items
sharing.py    the settings that all replicas have in common
scaling.py    auto scaling of provisioned replicas, here and at peers
strong.py     who takes part in a write of a strongly consistent table, and how a region catches up
delivery.py   applies the log of one replica to another
peers.py      the servers of other regions
answering.py  answers their questions
pulling.py    asks them, and applies what has come
tombstones.py deletes the stamps of deleted items
links.py      the way from one region to another: delayed or cut, for tests; what has passed
"""
