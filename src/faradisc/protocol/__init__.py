"""From the bytes of a request to a checked call, and from its outcome to the bytes of an answer.

Sans I/O: nothing here opens a socket, asks the clock or waits; `front.answer` awaits only the executor.

    http.py           the request and the answer as values
    response.py       an answer as bytes
    front.py          the ordered checks of one request
    target.py         X-Amz-Target
    body.py           gzip and JSON, bounded
    service_model.py  the shapes of the service
    overrides.py      where the service is narrower, wider or differently worded than its model
    plan.py           both together: the input of one operation as the service checks it
    shapes.py         the fast walk: one compiled yes/no function per operation
    serialization.py  the slow walk for JSON types
    constraints.py    the slow walk for required members, lengths, ranges, enums and patterns
    javatext.py       values as messages repeat them
"""
