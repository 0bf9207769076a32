"""Kinesis destinations: delivers every change of a table to a configured Kinesis endpoint.

destinations.py  the status of a destination
document.py      the delivered record
delivery.py      the background job, from the captured log to the sender
sender.py        PutRecords, by botocore
"""
