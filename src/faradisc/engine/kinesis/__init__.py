"""Kinesis destinations: every change of a table, delivered to a Kinesis endpoint that the user names.

    destinations.py  a destination as a table's state keeps it, and its states on the clock
    document.py      the record that is delivered
    delivery.py      the background job: from the captured log to the sender
    sender.py        PutRecords, through botocore

What is captured, and how, is in engine/streams/capture.py.
"""
