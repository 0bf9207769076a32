"""The server and its tools; those that write only on request."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

from faradisc import __version__
from faradisc.tools.console.endpoint import Endpoint
from faradisc.tools.mcp.judging import add_judging
from faradisc.tools.mcp.reading import add_reading
from faradisc.tools.mcp.writing import add_writing

INSTRUCTIONS = """\
Tools for a DynamoDB endpoint. Items, keys and values are DynamoDB JSON: {"pk": {"S": "a"}, "n": {"N": "1"}}.
Describe a table before you query it, and query by a partition key of the table or of an index; a Scan reads
everything. Answers say what they cost in capacity units."""


def made(url: str | None, region: str, *, write: bool) -> MCPServer:
    """Returns a server for an endpoint. url: None for Amazon DynamoDB."""
    server = MCPServer("faradisc", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    endpoint = Endpoint(url, region, None)
    add_reading(server, endpoint)
    add_judging(server, endpoint)
    if write:
        add_writing(server, endpoint)
    return server
