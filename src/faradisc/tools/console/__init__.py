"""The console: a web page for the tables, items, streams and throughput of any DynamoDB endpoint.

A process of its own, built on NiceGUI (extra `console`): it talks to the endpoint as any client does,
by boto3 and, where the endpoint has it, the admin API over HTTP. So it can do nothing that a client cannot.

    app          serves the pages on a loopback address; guards Host and Origin
    endpoint     requests to the endpoint; what the endpoint offers
    frame        what all pages share: navigation, colours, the command palette, messages
    pages/       one module for each page
    values       typed values as text; changes, queries, entities and copy_as work on them; all five are pure
"""
