"""The server: sockets, and the life of the process.

    settings.py    every setting of `faradisc serve`; data_place.py: where its data is
    opening.py     opens the database that they describe; seed.py puts its first items
    addresses.py   resolves and binds host and port
    connection.py  one client's connection: queue, answers, timeouts
    driver.py      runs a request's coroutine from callbacks, without a Task
    shared.py      what the connections of a listener share; load.py: its limits, and what is beyond them
    large_requests.py  reads large bodies on another thread
    listener.py    accepts, expires and drains connections
    request_reader.py  bytes of a connection to requests, with every state and limit
    tls.py         accepts over TLS
    site.py        routes requests to the database, the health pages and the admin pages (admin.py)
    origins.py     which pages in browsers may use the server
    access.py      who may use it, as settings say; rate_limits.py: how often
    audit.py, logs.py, tracing.py  an event for each request, the log, the recorded traffic
    exposition.py  metrics for Prometheus; spans.py: spans of OpenTelemetry
    serving.py     owns the database; background.py calls its background work
    timekeeping.py the database's own time
    copying.py, standby.py  the continuous copy of this server, and a server that follows one
    copy_keys.py   the key of encrypted tables in it
    peering.py     the way to servers of other regions
    processes.py   several servers on one port; console_process.py: the console beside one
    lifecycle.py   starts and stops the server

Nothing here knows of items or tables: `faradisc.protocol.front.answer` gets the whole request.
"""
