"""DynamoDB inside the process: real boto3 clients whose requests never leave it.

    import faradisc.local

    dynamodb = faradisc.local.client("dynamodb")          # the process's shared database, in memory
    table = faradisc.local.resource("dynamodb").Table("users")
    faradisc.local.reset()                                # drop every table of the shared database

    with faradisc.local.LocalDatabase() as database:      # a database of its own
        dynamodb = database.client()

    dynamodb = faradisc.local.client("dynamodb", path="data")   # on disk; every commit is synced

    with faradisc.local.patch() as database:              # for all clients, also those made before
        test_of_an_application()

No port, no server, no credentials, no network. The clients and resources may be used from many threads.

    clients.py    client, resource, database, reset
    database.py   LocalDatabase
    sessions.py   clients that ask nothing outside the process; interrupts.py: Ctrl-C between requests
    transport.py  answers a boto3 client's requests inside the process
    patching.py   patch; redirecting.py is what it does to botocore
"""

from faradisc.local.clients import client, database, reset, resource
from faradisc.local.database import LocalDatabase
from faradisc.local.patching import patch, patched

__all__ = ["LocalDatabase", "client", "database", "patch", "patched", "reset", "resource"]
