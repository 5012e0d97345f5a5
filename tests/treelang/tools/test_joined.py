"""Several providers as one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from treelang.errors import ProviderResponseError, ToolNotFoundError
from treelang.tools.functions import FunctionToolProvider
from treelang.tools.joined import JoinedToolProvider
from treelang.tools.provider import ToolOutput, ToolProvider


class Counting(ToolProvider):
    """A provider of one's own: mappings for definitions, and nothing but what has to be written."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.listings = 0

    async def list_tools(self) -> list[Any]:
        self.listings += 1
        await asyncio.sleep(0)
        return [{"name": name, "properties": {"x": {}}} for name in self.names]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        return ToolOutput(content=[name, arguments["x"]])


def add(x: int) -> int:
    return x + 1


def test_tools_stand_in_the_order_of_the_providers_and_go_to_the_one_that_has_them() -> None:
    joined = JoinedToolProvider(Counting("b", "a"), FunctionToolProvider(add))

    async def use() -> None:
        assert [tool.name for tool in await joined.list_tools()] == ["b", "a", "add"]
        for definition in await joined.list_tools():
            assert await joined.get_tool_definition(definition.name) == definition
        assert (await joined.call_tool("a", {"x": 1})).content == ["a", 1]
        assert (await joined.call_tool("add", {"x": 1})).content == 2

    asyncio.run(use())


def test_a_name_from_two_providers_is_reported_with_both() -> None:
    joined = JoinedToolProvider(Counting("a"), Counting("b", "add"), FunctionToolProvider(add))
    message = (
        r"^the tool 'add' is offered by provider 2 \(Counting\) and by provider 3 \(FunctionToolProvider\); "
        r"rename or leave out one of them$"
    )
    for use in (joined.list_tools(), joined.get_tool_definition("a"), joined.call_tool("a", {"x": 1})):
        with pytest.raises(ProviderResponseError, match=message):
            asyncio.run(use)


def test_a_name_twice_from_one_provider_is_reported() -> None:
    with pytest.raises(ProviderResponseError, match="'a' is offered by provider 1"):
        asyncio.run(JoinedToolProvider(Counting("a", "a")).list_tools())


def test_an_unknown_name_is_not_found() -> None:
    joined = JoinedToolProvider(Counting("a"), FunctionToolProvider(add))
    for use in (joined.get_tool_definition("c"), joined.call_tool("c", {})):
        with pytest.raises(ToolNotFoundError, match="none of the 2 providers has a tool 'c'"):
            asyncio.run(use)


def test_first_calls_at_once_list_once_and_a_new_tool_is_found() -> None:
    provider = Counting("a")
    joined = JoinedToolProvider(provider)

    async def use() -> list[ToolOutput]:
        outputs = await asyncio.gather(*(joined.call_tool("a", {"x": number}) for number in range(5)))
        assert provider.listings == 1
        provider.names.append("b")
        return [*outputs, await joined.call_tool("b", {"x": 5})]

    contents = [output.content for output in asyncio.run(use())]
    assert contents == [["a", 0], ["a", 1], ["a", 2], ["a", 3], ["a", 4], ["b", 5]]
    assert provider.listings == 2


def test_a_provider_of_ones_own_need_only_list_and_call() -> None:
    provider = Counting("a", "b")
    assert asyncio.run(provider.get_tool_definition("b")) == {"name": "b", "properties": {"x": {}}}
    with pytest.raises(ToolNotFoundError, match="there is no tool 'c'"):
        asyncio.run(provider.get_tool_definition("c"))
