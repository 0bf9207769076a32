"""`faradisc mcp`: a server of the Model Context Protocol, with which a language model works on an endpoint.

server.py   the server and its tools; those that write only on request
reading.py  tools that read: tables, items, queries, PartiQL, streams
judging.py  tools that judge: throttles, advice, plans
writing.py  tools that write
answers.py  requests to the endpoint, and what every answer says of its cost
"""
