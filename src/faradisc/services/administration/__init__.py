"""Administration of the database, beyond what DynamoDB's API offers.

Functions take and return plain data. `server/admin.py` serves them at `/_faradisc/...`, `local/` to tests.
"""
