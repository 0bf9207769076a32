"""The database from inside: what DynamoDB does not show and its API does not offer.

Plain data in and out; `server/admin.py` serves it at `/_faradisc/...`, `local/` offers it to tests.
"""
