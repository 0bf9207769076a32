"""The server and its tools; those that write only on request."""

from __future__ import annotations

import re

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError

from faradisc import __version__
from faradisc.tools.console.endpoint import ServerEndpoint
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
    endpoint = ServerEndpoint(url, region, None)
    add_reading(server, endpoint)
    add_judging(server, endpoint)
    if write:
        add_writing(server, endpoint)
    return server


_ID = re.compile(r'"id"\s*:\s*(?:(\d{1,18})\b|"([^"\\]{1,200})")')


def run(server: MCPServer) -> None:
    """Serves on standard input and output until the input ends."""
    anyio.run(_serve, server)


async def _serve(server: MCPServer) -> None:
    """Answers lines that are no message, such as one with half a surrogate pair; the package drops them."""
    sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    served = server._lowlevel_server
    async with stdio_server() as (read, write), anyio.create_task_group() as group:

        async def forward() -> None:
            async with sender:
                async for message in read:
                    if isinstance(message, Exception):
                        await write.send(SessionMessage(_rejection(message)))
                    else:
                        await sender.send(message)

        group.start_soon(forward)
        await served.run(receiver, write, served.create_initialization_options())


def _rejection(error: Exception) -> JSONRPCError:
    """Returns the answer to a line that is no message, with the id that it seems to have."""
    found = _ID.search(next((str(each["input"]) for each in getattr(error, "errors", list)()), ""))
    number = None if found is None else int(found[1]) if found[1] else found[2]
    return JSONRPCError(
        jsonrpc="2.0",
        id=number,
        error=ErrorData(code=PARSE_ERROR, message="The line is not a JSON-RPC message."),
    )
