"""What events tell of the calls of a watched tool provider, and how events of one evaluation belong together."""

from __future__ import annotations

import asyncio

import pytest

from tests.treelang.observability.recording import RecordingSink
from treelang import AST, FunctionToolProvider, Observability, ToolExecutionError, ToolNotFoundError, ToolProvider
from treelang.observability import REDACTED


def height(tree: str) -> float:
    """How high a tree grows, in metres."""
    if tree == "bonsai":
        raise LookupError(f"nobody measured a {tree}")
    return 115.9


def provider(sink: RecordingSink, *, allow_content: bool = False) -> ToolProvider:
    return Observability([sink], allow_content=allow_content).watch_tools(FunctionToolProvider([height]))


def test_listing_look_up_and_call_are_told_without_arguments_and_result() -> None:
    sink = RecordingSink()

    async def use() -> object:
        watched = provider(sink)
        [listed] = await watched.list_tools()
        assert await watched.get_tool_definition("height") == listed
        return (await watched.call_tool("height", {"tree": "redwood"})).content

    assert asyncio.run(use()) == 115.9
    assert sink.names == [
        f"tool.{operation}.{step}" for operation in ("listing", "lookup", "call") for step in ("started", "completed")
    ]
    assert sink.the("tool.listing.completed")["tool_count"] == 1
    assert sink.the("tool.lookup.completed")["tool_name"] == "height"
    assert sink.the("tool.call.started")["arguments"] == sink.the("tool.call.completed")["result"] == REDACTED
    assert "redwood" not in repr(sink.events)
    assert "115.9" not in repr(sink.events)


def test_arguments_and_result_are_shown_where_they_are_opted_in_to() -> None:
    sink = RecordingSink()
    asyncio.run(provider(sink, allow_content=True).call_tool("height", {"tree": "redwood"}))
    assert sink.the("tool.call.started")["arguments"] == {"tree": "redwood"}
    assert sink.the("tool.call.completed")["result"] == 115.9


def test_a_tool_that_fails_is_told_with_its_causes_and_without_words() -> None:
    sink = RecordingSink()
    with pytest.raises(ToolExecutionError):
        asyncio.run(provider(sink).call_tool("height", {"tree": "bonsai"}))
    failed = sink.the("tool.call.failed")
    assert (failed["error_type"], failed["error_causes"]) == ("ToolExecutionError", ["LookupError"])
    assert "bonsai" not in repr(sink.events)


def test_a_tool_that_is_not_there_is_told() -> None:
    sink = RecordingSink()
    with pytest.raises(ToolNotFoundError):
        asyncio.run(provider(sink).get_tool_definition("width"))
    assert sink.names == ["tool.lookup.started", "tool.lookup.failed"]


def test_what_a_provider_has_beyond_the_contract_is_still_there() -> None:
    class Tagged(FunctionToolProvider):
        tag = "trees"

    watched = Observability([]).watch_tools(Tagged([height]))
    assert watched.tag == "trees"  # type: ignore[attr-defined]  # the point of the test
    with pytest.raises(AttributeError, match="'Tagged' object has no attribute 'tags'"):
        _ = watched.tags  # type: ignore[attr-defined]  # the point of the test


def test_calls_name_the_operation_around_them_also_in_tasks_of_their_own() -> None:
    sink = RecordingSink()
    observability = Observability([sink])
    call = {"type": "function", "name": "height", "params": [{"type": "value", "name": "tree", "value": "oak"}]}
    program = {"type": "program", "mode": "parallel", "body": [call, call], "schema_version": "1.0"}

    async def use() -> object:
        with observability.operation("walk"):
            observability.emit("halfway", model="m")
            return await AST.eval(AST.parse(program), observability.watch_tools(FunctionToolProvider([height])))

    assert asyncio.run(use()) == [115.9, 115.9]
    outer = sink.the("walk.started")["call_id"]
    assert {event: told.get("parent_id") for event, told in sink.events} == {
        "walk.started": None,
        "halfway": outer,
        "tool.lookup.started": outer,
        "tool.lookup.completed": outer,
        "tool.call.started": outer,
        "tool.call.completed": outer,
        "walk.completed": None,
    }
    assert sum(event == "tool.call.completed" for event in sink.names) == 2
