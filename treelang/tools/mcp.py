"""The tools of a server that speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, Self

from treelang.errors import MissingDependencyError, ProviderResponseError, ToolExecutionError, ToolNotFoundError
from treelang.language.json_value import copy_json
from treelang.tools.definition import ToolDefinition
from treelang.tools.provider import ToolOutput, ToolProvider
from treelang.tools.validation import CompiledTool, compile_tool

_MAX_PAGES = 1000
"""A listing of more pages than that has no end."""


class MCPToolProvider(ToolProvider):
    """The tools of an MCP server, listed once, on the first need.

    What a call gives is, in this order: the structured content, without the `result` around it that a server puts there
    only because it has to be an object; nothing for no content; texts as the JSON that they are, or else as text, one
    by itself and several in a list; content of which not all is text as the list of its parts in the protocol's form.

    Args:
        session: A connected `mcp.Client` or `mcp.ClientSession`, which stays its owner's to close. Where its connection
            is lost, the SDK cancels the task that opened it; `connect` keeps that from the caller.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._tools: dict[str, _ServerTool] | None = None
        self._listing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def connect(cls, server: str | Sequence[str] | Any, **options: Any) -> AsyncIterator[Self]:
        """Connect to a server for as long as the block lasts.

        ```python
        async with MCPToolProvider.connect(["python", "server.py"]) as provider:
            print([tool.name for tool in await provider.list_tools()])
        ```

        Args:
            server: The address of a streamable HTTP endpoint; the command, as a list, of a server that is started and
                speaks over its standard input and output; or whatever else `mcp.Client` takes.
            options: Further arguments of `mcp.Client`, such as `read_timeout_seconds`.

        Raises:
            MissingDependencyError: The package `mcp` is not installed.
            ProviderResponseError: The server cannot be reached or does not speak the protocol.
        """
        mcp = _import_mcp()
        if isinstance(server, Sequence) and not isinstance(server, str):
            command, *arguments = server
            server = mcp.StdioServerParameters(command=command, args=arguments)
        connection = _Connection(mcp.Client(server, **options))
        try:
            yield cls(await connection.open())
        finally:
            await connection.close()

    async def list_tools(self) -> list[ToolDefinition]:
        """All tools of the server, from all pages of its listing.

        Raises:
            ProviderResponseError: The listing failed, has no end, names a tool twice, or a definition is not valid.
        """
        return [tool.definition for tool in (await self._listed()).values()]

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        """One tool as it stands in the listing.

        Raises:
            ToolNotFoundError: There is none of that name.
            ProviderResponseError: As `list_tools`.
        """
        tool = (await self._listed()).get(name)
        if tool is None:
            raise _not_found(name)
        return tool.definition

    def forget_tools(self) -> None:
        """Have the server list its tools again when they are needed next, because they may have changed."""
        self._tools = None

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Call a tool of the server. The server is told of a cancellation.

        Raises:
            ToolNotFoundError: The server lists other tools.
            InvalidToolArgumentsError: The arguments do not fit; the server was not asked.
            ToolExecutionError: The tool failed, or the server did. What the server said, in its own words, is
                `__cause__`.
            ProviderResponseError: The tools had to be listed first, and that failed.
        """
        tools = await self._listed()
        tool = tools.get(name)
        if tool is not None:
            tool.compiled.validate(arguments)
        elif tools:  # a server that lists nothing may still know what it is asked for
            raise _not_found(name)
        try:
            result = await self._session.call_tool(name, arguments)
        except Exception as error:
            raise ToolExecutionError(f"the tool {name!r} failed with {type(error).__name__}") from error
        if result.is_error:
            reported = ReportedFailureError("; ".join(_texts(result)))
            raise ToolExecutionError(f"the tool {name!r} reported a failure") from reported
        return ToolOutput(content=_content(result, tool))

    async def _listed(self) -> dict[str, _ServerTool]:
        async with self._listing:
            if self._tools is None:
                self._tools = await self._list()
            return self._tools

    async def _list(self) -> dict[str, _ServerTool]:
        tools: dict[str, _ServerTool] = {}
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            try:
                page = await self._page(cursor)
            except Exception as error:
                raise ProviderResponseError(f"the MCP server did not list its tools: {type(error).__name__}") from error
            for tool in page.tools:
                if tool.name in tools:
                    raise ProviderResponseError(f"the MCP server lists two tools {tool.name!r}")
                tools[tool.name] = _ServerTool.read(tool)
            cursor = page.next_cursor
            if not isinstance(cursor, str):
                return tools
        raise ProviderResponseError(f"the MCP server's listing of tools does not end after {_MAX_PAGES} pages")

    async def _page(self, cursor: str | None) -> Any:
        if cursor is None:
            return await self._session.list_tools()
        mcp = _import_mcp()
        if isinstance(self._session, mcp.Client):
            return await self._session.list_tools(cursor=cursor)
        return await self._session.list_tools(params=mcp.types.PaginatedRequestParams(cursor=cursor))


class ReportedFailureError(Exception):
    """What a server said of a failure. It may quote the arguments, and so is only ever a cause."""


class _ServerTool(NamedTuple):
    compiled: CompiledTool
    wraps_result: bool
    """Whether its structured content is an object of nothing but a `result`."""

    @property
    def definition(self) -> ToolDefinition:
        return self.compiled.definition

    @classmethod
    def read(cls, tool: Any) -> Self:
        metadata = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        properties = (tool.output_schema or {}).get("properties")
        return cls(compile_tool(metadata), isinstance(properties, dict) and properties.keys() == {"result"})


def _not_found(name: str) -> ToolNotFoundError:
    return ToolNotFoundError(f"the MCP server has no tool {name!r}")


def _texts(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def _content(result: Any, tool: _ServerTool | None) -> Any:
    if "structured_content" in result.model_fields_set:
        return _unwrapped(result, tool)
    texts = _texts(result)
    if len(texts) < len(result.content):
        return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    values = [_decoded(text) for text in texts]
    return values[0] if len(values) == 1 else values or None


def _unwrapped(result: Any, tool: _ServerTool | None) -> Any:
    """The structured content, or what it was wrapped around: the text beside it tells what the tool itself gave."""
    structured = result.structured_content
    if tool is None or not tool.wraps_result or not isinstance(structured, dict) or structured.keys() != {"result"}:
        return structured
    return structured if structured in map(_decoded, _texts(result)) else structured["result"]


def _decoded(text: str) -> Any:
    try:
        return copy_json(json.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Connection:
    """A client that lives in a task of its own.

    When a connection is lost, the SDK cancels the task that opened it. A cancellation that nobody asked for must not
    reach the caller, who is told by the calls that fail.
    """

    def __init__(self, client: AbstractAsyncContextManager[Any]) -> None:
        self._client = client
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._owner = asyncio.create_task(self._own())

    async def _own(self) -> None:
        async with self._client as client:
            self._opened.set_result(client)
            await self._closing.wait()

    async def open(self) -> Any:
        await asyncio.wait({self._owner, self._opened}, return_when=asyncio.FIRST_COMPLETED)
        if self._opened.done():
            return self._opened.result()
        error = _innermost(self._owner.exception())
        raise ProviderResponseError(
            f"the MCP server cannot be used: {type(error).__name__} while connecting"
        ) from error

    async def close(self) -> None:
        self._closing.set()
        if not self._opened.done():
            self._owner.cancel()
        try:
            await asyncio.wait({self._owner})
        except asyncio.CancelledError:
            self._owner.cancel()
            await asyncio.wait({self._owner})
            raise
        finally:
            if not self._owner.cancelled():
                self._owner.exception()  # retrieved: whoever called has been told


def _innermost(error: BaseException | None) -> BaseException | None:
    """What happened, of the groups of groups in which the SDK's tasks report it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _import_mcp() -> ModuleType:
    try:
        return importlib.import_module("mcp")
    except ImportError as error:
        raise MissingDependencyError(
            "MCPToolProvider needs the mcp SDK, which is not installed: pip install 'treelang[mcp]'"
        ) from error
