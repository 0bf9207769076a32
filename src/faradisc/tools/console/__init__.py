"""The console: a web page for the tables, items, streams and throughput of any DynamoDB endpoint.

A process of its own, built on NiceGUI (extra `console`): it talks to the endpoint as any client does,
by boto3 and, where the endpoint has it, the admin API over HTTP. So it can do nothing that a client cannot.

    app          serves the pages on a loopback address; guards Host and Origin
    endpoint     requests to the endpoint; what the endpoint offers
    sessions     what is known of each browser
    shell        one page that changes inside; asks before unwritten work is left
    frame        header, rail, tabs, palette around the pages; messages has what is said to the user
    query_view, grid, editor, review, bulk, import_view: what the page of items is made of
    definition_view: tables made, cloned and shown as code
    pages/       one module for each page: what is drawn and asked
    *.js         parts that would be slow from Python: rail, palette, heat map, tree, drawings, shell

Pure, and tested without a browser: values, plain_json, changes, staging, results, queries, statements,
entities, importing, generate, definition, drawing, topology, heat, health, money, failures, navigation,
copy_as, sample.
"""
