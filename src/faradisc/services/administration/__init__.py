"""The database seen and handled from inside: what Amazon's service does not show and its API does not offer.

Plain data in and out; `server/admin.py` puts it behind `/_faradisc/...`, `local/` gives it to tests.
"""
