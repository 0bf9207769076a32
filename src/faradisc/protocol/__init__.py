"""From the bytes of a request to a checked call, and from its result to the bytes of an answer.

Sans I/O: nothing here opens a socket, asks the clock or waits; `front.answer` awaits only the executor.

    http.py           the request and the answer as values
    response.py       an answer as bytes
    front.py          the ordered checks of one request
    executor.py       what the front end needs of a database
    failures.py       exceptions as errors of the API
    body.py           gzip and JSON, within limits
    service_model.py  the shapes of the service
    overrides.py      where the service differs from its model
    plan.py           both combined: the input of one operation as the service checks it
    shapes.py         the fast walk: one compiled check per operation
    serialization.py  the slow walk for JSON types
    constraints.py    the slow walk for required members, lengths, ranges, enums and patterns
    search_body.py    reads a SearchVectors body again, for errors of another deserialiser
    javatext.py       values as messages repeat them
    other_services/   other AWS services on the same port
"""
