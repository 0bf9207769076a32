"""Faradisc: a database compatible with Amazon DynamoDB, on your own disk.

Nothing is imported here on purpose: `import faradisc` costs nothing, and each face of the package
(server, in-process client, command line) pulls in what it needs.

PYTEST_DONT_REWRITE: without this word pytest warns where the package is imported before pytest starts.
"""

__version__ = "0.1.0"
