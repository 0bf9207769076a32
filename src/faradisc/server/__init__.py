"""The server: sockets, and the life of the process.

    settings.py    every setting of `faradisc serve`
    addresses.py   resolves and binds host and port
    connection.py  one client's connection: queue, answers, timeouts
    driver.py      runs a request's coroutine from callbacks, without a Task
    listener.py    accepts, expires and drains connections
    request_reader.py  bytes of a connection to requests, with every state and limit
    site.py        routes requests to the database, the health pages and the admin pages
    background.py  the database's background work, step by step
    lifecycle.py   starts and stops the server

Nothing here knows of items or tables: `faradisc.protocol.front.answer` gets the whole request.
"""
