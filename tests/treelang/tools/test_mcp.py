"""The tools of real MCP servers: programs of their own, over standard input and output and over streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mcp_types as types
import pytest
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.server import Server

from treelang.errors import (
    InvalidToolArgumentsError,
    MissingDependencyError,
    ProviderResponseError,
    ToolExecutionError,
    ToolNotFoundError,
    TreelangError,
)
from treelang.tools.mcp import MCPToolProvider, ReportedFailureError

SERVER = str(Path(__file__).with_name("mcp_server.py"))
COMMAND = [sys.executable, SERVER]


@contextlib.contextmanager
def http_server() -> Iterator[str]:
    """The address of a server that is started for the occasion."""
    with subprocess.Popen([*COMMAND, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http_server() as address:
        yield address


@pytest.fixture(scope="module", params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> Any:
    return COMMAND if request.param == "stdio" else request.getfixturevalue("address")


CALLS: dict[str, tuple[dict[str, Any], Any]] = {
    "add": ({"x": 1}, 3),
    "weather": ({"city": "Paris"}, {"city": "Paris", "degrees": 25}),
    "cities": ({"country": "A"}, ["A-0", "A-1", "A-2"]),
    "nested": ({}, [[1, 2], [3]]),
    "counted": ({}, {"result": 3}),
    "nothing": ({}, None),
    "greet": ({"name": "Ada"}, "hello Ada"),
    "numbers": ({}, [1, 2, {"three": 3}]),
    "several": ({}, ["one", 2]),
    "mixed": (
        {},
        [{"type": "text", "text": "a dot"}, {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}],
    ),
}


def connected(target: Any, use: Callable[[MCPToolProvider], Awaitable[Any]]) -> Any:
    """The result of a use of a server, after which no task is left."""

    async def connect_and_use() -> Any:
        async with asyncio.timeout(60), MCPToolProvider.connect(target) as provider:
            result = await use(provider)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(connect_and_use())


def test_what_tools_give_is_told_in_json(target: Any) -> None:
    async def call_all(provider: MCPToolProvider) -> dict[str, Any]:
        return {name: (await provider.call_tool(name, arguments)).content for name, (arguments, _) in CALLS.items()}

    assert connected(target, call_all) == {name: expected for name, (_, expected) in CALLS.items()}


def test_tools_are_listed_with_their_whole_schemas_and_found_by_name(address: str) -> None:
    async def look(provider: MCPToolProvider) -> None:
        definitions = await provider.list_tools()
        for definition in definitions:
            assert await provider.get_tool_definition(definition.name) == definition
        add = next(one for one in definitions if one.name == "add")
        assert add.description == "Add two numbers."
        assert list(add.properties) == ["x", "y"]
        assert add.input_schema == {
            "type": "object",
            "title": "addArguments",
            "properties": {
                "x": {"title": "X", "type": "integer"},
                "y": {"title": "Y", "type": "integer", "default": 2},
            },
            "required": ["x"],
        }
        with pytest.raises(ToolNotFoundError, match="the MCP server has no tool 'nobody'"):
            await provider.get_tool_definition("nobody")

    connected(address, look)


def test_failures_are_translated_and_the_servers_words_are_only_the_cause(address: str) -> None:
    async def fail(provider: MCPToolProvider) -> list[TreelangError]:
        failures = []
        for name, arguments in {
            "fail": {"secret": "SECRET"},
            "reported": {"secret": "SECRET"},
            "add": {"x": "SECRET"},
            "nobody": {"secret": "SECRET"},
        }.items():
            with pytest.raises(TreelangError) as caught:
                await provider.call_tool(name, arguments)
            failures.append(caught.value)
        return failures

    failures = connected(address, fail)
    assert [(type(failure), str(failure)) for failure in failures] == [
        (ToolExecutionError, "the tool 'fail' reported a failure"),
        (ToolExecutionError, "the tool 'reported' reported a failure"),
        (
            InvalidToolArgumentsError,
            "the tool 'add' refuses its arguments: at 'x' the constraint 'type' is broken",
        ),
        (ToolNotFoundError, "the MCP server has no tool 'nobody'"),
    ]
    assert isinstance(failures[1].__cause__, ReportedFailureError)
    assert str(failures[1].__cause__) == "refused SECRET"


def test_calls_at_once_are_independent(address: str) -> None:
    async def call_many(provider: MCPToolProvider) -> list[Any]:
        outputs = await asyncio.gather(*(provider.call_tool("add", {"x": number, "y": 0}) for number in range(20)))
        return [output.content for output in outputs]

    assert connected(address, call_many) == list(range(20))


async def appearance(path: Path) -> None:
    """Wait until a file is there: the server is another process, and tells in this way what it has seen."""
    while not await asyncio.to_thread(path.exists):  # noqa: ASYNC110 - no event comes from another process
        await asyncio.sleep(0.01)


def test_cancellation_passes_unchanged_and_reaches_the_server(target: Any, tmp_path: Path) -> None:
    async def cancel(provider: MCPToolProvider) -> Any:
        call = asyncio.create_task(provider.call_tool("hang", {"mark": str(tmp_path / "call")}))
        await appearance(tmp_path / "call.arrived")
        call.cancel("by the test")
        with pytest.raises(asyncio.CancelledError, match="by the test"):
            await call
        assert call.cancelled()
        await appearance(tmp_path / "call.left")
        return (await provider.call_tool("add", {"x": 1})).content

    assert connected(target, cancel) == 3


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_when_the_server_dies_every_call_fails_and_nobody_is_cancelled(kind: str, tmp_path: Path) -> None:
    async def die(provider: MCPToolProvider) -> list[BaseException]:
        waiting = asyncio.create_task(provider.call_tool("hang", {"mark": str(tmp_path / "call")}))
        await appearance(tmp_path / "call.arrived")
        dying = asyncio.create_task(provider.call_tool("die", {}))
        failures = await asyncio.gather(waiting, dying, return_exceptions=True)
        failures += await asyncio.gather(provider.call_tool("add", {"x": 1}), return_exceptions=True)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return [failure for failure in failures if isinstance(failure, BaseException)]

    with contextlib.ExitStack() as stack:
        failures = connected(COMMAND if kind == "stdio" else stack.enter_context(http_server()), die)
    assert [str(failure) for failure in failures] == [
        f"the tool {name!r} failed with MCPError" for name in ("hang", "die", "add")
    ]
    assert all(type(failure) is ToolExecutionError for failure in failures)


@pytest.mark.parametrize(
    ("unusable", "cause"),
    [
        (["/of/no/program"], FileNotFoundError),
        ([sys.executable, "-c", "pass"], Exception),
        ("http://127.0.0.1:9/mcp", Exception),
    ],
)
def test_a_server_that_cannot_be_used_is_an_error_of_the_provider(unusable: Any, cause: type[Exception]) -> None:
    async def connect() -> None:
        async with asyncio.timeout(60):
            async with MCPToolProvider.connect(unusable):
                pass

    with pytest.raises(ProviderResponseError, match=r"the MCP server cannot be used: \w+ while connecting") as caught:
        asyncio.run(connect())
    assert isinstance(caught.value.__cause__, cause)


def test_what_the_block_raises_passes_and_the_connection_is_closed(address: str) -> None:
    async def fail(provider: MCPToolProvider) -> None:
        await provider.call_tool("add", {"x": 1})
        raise LookupError("of the block")

    with pytest.raises(LookupError, match="of the block"):
        connected(address, fail)


def test_cancelled_while_connecting_it_leaves_nothing() -> None:
    async def use() -> None:
        async def connect() -> None:
            async with MCPToolProvider.connect([sys.executable, "-c", "import time; time.sleep(60)"]):
                pytest.fail("there is no server")

        task = asyncio.create_task(connect())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel("by the test")
        with pytest.raises(asyncio.CancelledError, match="by the test"):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(use())


def test_a_session_of_ones_own_serves_as_well() -> None:
    async def use() -> None:
        parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            provider = MCPToolProvider(session)
            assert (await provider.call_tool("add", {"x": 1})).content == 3
            assert "add" in [tool.name for tool in await provider.list_tools()]

    asyncio.run(use())


Page = tuple[list[dict[str, Any]], str | None]


@contextlib.asynccontextmanager
async def listing(pages: Callable[[str | None], Page], asked: list[str | None]) -> AsyncIterator[MCPToolProvider]:
    """A server whose listing has the given pages, and that notes for which it was asked."""

    async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        cursor = params.cursor if params else None
        asked.append(cursor)
        tools, following = pages(cursor)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools], next_cursor=following)

    async with Client(Server("pages", on_list_tools=list_tools), cache=None) as client:
        yield MCPToolProvider(client)


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", **schema}}


PAGES: dict[str | None, Page] = {
    None: ([tool("a")], "second"),
    "second": ([], "third"),
    "third": ([tool("b"), tool("c")], None),
}


def test_a_listing_of_several_pages_is_read_to_its_end_once() -> None:
    asked: list[str | None] = []

    async def use() -> None:
        async with listing(lambda cursor: PAGES[cursor], asked) as provider:
            first, _ = await asyncio.gather(provider.list_tools(), provider.get_tool_definition("c"))
            assert [definition.name for definition in first] == ["a", "b", "c"]
            assert await provider.list_tools() == first
            assert asked == [None, "second", "third"]
            provider.forget_tools()
            assert await provider.list_tools() == first
            assert asked == [None, "second", "third"] * 2

    asyncio.run(use())


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (([tool("a"), tool("a")], None), "the MCP server lists two tools 'a'"),
        (([tool("a", properties={"x": {"$ref": "http://127.0.0.1/"}})], None), "an external reference at"),
        (([tool("a", properties={"x": {"type": "text"}})], None), "the tool 'a' has an invalid input schema"),
        (([], "again"), "does not end after 1000 pages"),
    ],
)
def test_a_listing_that_cannot_be_used_is_refused(page: Page, reason: str) -> None:
    async def use() -> None:
        async with listing(lambda _: page, []) as provider:
            with pytest.raises(ProviderResponseError, match=reason):
                await provider.list_tools()

    asyncio.run(use())


def test_a_listing_that_fails_is_an_error_of_the_provider_and_is_tried_again() -> None:
    failing = [True]

    def pages(_: str | None) -> Page:
        if failing:
            failing.pop()
            raise LookupError("SECRET")
        return [tool("a")], None

    async def use() -> None:
        async with listing(pages, []) as provider:
            with pytest.raises(ProviderResponseError, match=r"did not list its tools: MCPError$") as caught:
                await provider.list_tools()
            assert "SECRET" not in str(caught.value)
            assert [definition.name for definition in await provider.list_tools()] == ["a"]

    asyncio.run(use())


def test_a_server_that_lists_nothing_may_still_serve_and_is_believed() -> None:
    async def list_nothing(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def answer(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = types.TextContent(type="text", text="no")
        return types.CallToolResult(content=[text], is_error=params.name == "fail", structured_content={"result": 3})

    async def use() -> None:
        server = Server("nothing listed", on_list_tools=list_nothing, on_call_tool=answer)
        async with Client(server) as client:
            provider = MCPToolProvider(client)
            assert await provider.list_tools() == []
            assert (await provider.call_tool("hidden", {})).content == {"result": 3}
            with pytest.raises(ToolExecutionError, match="the tool 'fail' reported a failure"):
                await provider.call_tool("fail", {})

    asyncio.run(use())


TEXTS: dict[str, Any] = {
    "42": 42,
    ' {"a": [null]} ': {"a": [None]},
    '"quoted"': "quoted",
    "NaN": "NaN",
    "-Infinity": "-Infinity",
    "'literal'": "'literal'",
    "True": "True",
    "": "",
    "[" * 100_000: "[" * 100_000,
    "[" * 600 + "]" * 600: "[" * 600 + "]" * 600,
    r'"\ud800"': r'"\ud800"',
    "9" * 5000: "9" * 5000,
}


def test_a_text_is_json_or_else_itself() -> None:
    async def list_nothing(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def echo(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=(params.arguments or {})["text"])])

    async def use() -> None:
        async with Client(Server("echo", on_list_tools=list_nothing, on_call_tool=echo)) as client:
            provider = MCPToolProvider(client)
            for text, expected in TEXTS.items():
                assert (await provider.call_tool("echo", {"text": text})).content == expected

    asyncio.run(use())


def test_without_the_sdk_the_error_names_the_extra() -> None:
    async def connect() -> None:
        async with MCPToolProvider.connect(COMMAND):
            pass

    with (
        patch.dict(sys.modules, {"mcp": None}),
        pytest.raises(MissingDependencyError, match=r"pip install 'treelang\[mcp\]'"),
    ):
        asyncio.run(connect())
