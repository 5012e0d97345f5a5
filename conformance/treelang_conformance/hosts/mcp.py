"""Described tools on a real MCP server: streamable HTTP on the loopback, in the event loop of the check."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from types import ModuleType
from typing import Any

from treelang import MCPToolProvider, MissingDependencyError, ToolProvider
from treelang_conformance.hosting import CannotHost, HostedTool, closed

_WRAPPED = {"type": "object", "properties": {"result": {}}, "required": ["result"]}
"""What every tool gives, as SDKs of the protocol have it: whatever is no object goes into a `result`."""


@contextlib.asynccontextmanager
async def host(tools: Sequence[HostedTool]) -> AsyncIterator[ToolProvider]:
    """A provider connected to a server of the tools, for as long as the block lasts.

    Raises:
        CannotHost: The protocol, which speaks JSON, cannot carry a description.
        MissingDependencyError: The packages `mcp` and `uvicorn` are not installed.
    """
    for tool in tools:
        _require_json(tool)
    async with _serving(tools) as address, MCPToolProvider.connect(address) as provider:
        yield provider


def _require_json(tool: HostedTool) -> None:
    try:
        json.dumps(tool.input_schema, allow_nan=False)
        json.dumps(tool.properties, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CannotHost("the protocol speaks JSON, and this description is none") from error
    if tool.input_schema is not None and not isinstance(tool.input_schema, dict):
        raise CannotHost("the protocol knows no input schema but an object")


@contextlib.asynccontextmanager
async def _serving(tools: Sequence[HostedTool]) -> AsyncIterator[str]:
    uvicorn = _import("uvicorn")
    application = _server(tools).streamable_http_app()
    # Said to be TCP, for asyncio sends at once only where it knows; else every answer waits 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        config = uvicorn.Config(application, log_config=None, access_log=False, lifespan="on")
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listening])
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            await _stop(server)


async def _stop(server: Any) -> None:
    """Stop at once: uvicorn's own way out looks about ten times a second whether it may."""
    for listener in server.servers:
        listener.close()
    for connection in list(server.server_state.connections):
        connection.shutdown()
    await server.lifespan.shutdown()
    while server.server_state.tasks:
        await asyncio.wait(set(server.server_state.tasks))


def _server(tools: Sequence[HostedTool]) -> Any:
    server = _import("mcp.server")
    types = _import("mcp_types")
    by_name = {tool.name: tool for tool in tools}

    async def list_tools(_context: Any, _parameters: Any) -> Any:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(closed(tool.properties) if tool.input_schema is None else tool.input_schema),
                    output_schema=_WRAPPED,
                )
                for tool in tools
            ]
        )

    async def call_tool(_context: Any, parameters: Any) -> Any:
        try:
            result = await by_name[parameters.name].call(parameters.arguments or {})
        except Exception as error:
            failure = types.TextContent(type="text", text=f"{type(error).__name__}: {error}")
            return types.CallToolResult(content=[failure], is_error=True)
        text = types.TextContent(type="text", text=result if isinstance(result, str) else json.dumps(result))
        return types.CallToolResult(content=[text], structured_content={"result": result})

    return server.Server("tools of the conformance kit", on_list_tools=list_tools, on_call_tool=call_tool)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            "hosting tools on an MCP server needs the packages mcp and uvicorn: pip install 'treelang[mcp]' uvicorn"
        ) from error


logging.getLogger("mcp").addHandler(logging.NullHandler())  # tools fail on purpose
