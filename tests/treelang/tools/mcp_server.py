"""An MCP server for the tests, over standard input and output or over streamable HTTP: a program of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

server = MCPServer("tools of the tests")
logging.disable()  # tools fail here on purpose


class Weather(BaseModel):
    city: str
    degrees: float


@server.tool()
def add(x: int, y: int = 2) -> int:
    """Add two numbers."""
    return x + y


@server.tool()
def weather(city: str) -> Weather:
    return Weather(city=city, degrees=25)


@server.tool()
def cities(country: str) -> list[str]:
    return [f"{country}-{number}" for number in range(3)]


@server.tool()
def nothing() -> None:
    pass


@server.tool(structured_output=False)
def greet(name: str) -> str:
    return f"hello {name}"


@server.tool(structured_output=False)
def numbers() -> str:
    return '[1, 2, {"three": 3}]'


@server.tool(structured_output=False)
def several() -> list[str]:
    return ["one", "2"]


@server.tool(structured_output=False)
def mixed() -> list[Any]:
    return ["a dot", Image(data=b"\x89PNG", format="png")]


@server.tool()
def fail(secret: str) -> int:
    raise ValueError(f"no good: {secret}")


@server.tool()
def reported(secret: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=f"refused {secret}")], is_error=True)


@server.tool()
async def hang(mark: str) -> str:
    """Say in a file that the call has come, wait without end, and say in another one that it was cancelled."""
    _leave(f"{mark}.arrived")
    try:
        await asyncio.Event().wait()
    finally:
        _leave(f"{mark}.left")
    return "never"


def _leave(mark: str) -> None:
    Path(mark).touch()


class Wrapped(BaseModel):
    result: int


@server.tool()
def counted() -> Wrapped:
    """Give an object that really is one of nothing but a result."""
    return Wrapped(result=3)


@server.tool()
def nested() -> list[list[int]]:
    return [[1, 2], [3]]


@server.tool()
def die() -> str:
    os._exit(3)


async def _serve_http() -> None:
    """Serve on a free port of the loopback, and say which."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # noqa: T201 - whoever started the program reads it
        config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
        await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        asyncio.run(_serve_http())
    else:
        server.run()
