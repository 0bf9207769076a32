"""Faradisc: a database compatible with Amazon DynamoDB, on your own disk.

Nothing is imported here on purpose: `import faradisc` costs nothing, and each face of the package
(server, in-process client, command line) pulls in what it needs.
"""

__version__ = "0.1.0"
