"""Time to live: the job that deletes items at the time that one of their attributes names.

The index of these times is engine/derived/expiry.py. Deletes through engine/tables/writes.py.
"""
