"""The rim of the server: sockets in, sockets out, and the life of the process.

    settings.py    every setting of `faradisc serve`, as data
    addresses.py   host and port: resolved, judged, bound
    connection.py  one client's connection: HTTP/1.0 and 1.1 on httptools, bounded everywhere
    driver.py      runs a request's coroutine from callbacks, without a Task
    listener.py    accepts connections, ages them, drains them
    request_reader.py  bytes of a connection to requests, with every state and limit
    site.py        routes requests to the database, the health pages and the admin pages
    background.py  the database's background work, step by step
    heat_watch.py  what is warm now, for the heat map of the live page
    lifecycle.py   from settings to a running server, and from SIGTERM to exit 0

Nothing here knows of items or tables: a request goes to `faradisc.protocol.front.answer` whole.
"""
