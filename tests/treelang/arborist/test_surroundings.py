"""What an arborist is given: settings, tool selectors, a memory, and a transport or the means to make one."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.treelang.arborist.models import Tools, call_program, run, value_program
from treelang import (
    AllTools,
    Arborist,
    ArboristConfig,
    ASTValidationError,
    ChatMessage,
    ConversationMemory,
    EvalResponse,
    EvalType,
    Memory,
    ModelCapabilities,
    ModelUsage,
    NamedTools,
    Observability,
    OpenAIArborist,
    ScriptedReply,
    ScriptedTransport,
    StructuredOutputUnsupportedError,
    ToolDefinition,
    ToolNotFoundError,
    ToolOutput,
    ToolProvider,
    ToolSelector,
)
from treelang_conformance.neutral import Answer
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.discovery import find_wire


def offered(transport: ScriptedTransport, request: int = 0) -> list[str]:
    """The names of the tools that the instructions of a request list, in order."""
    text = transport.requests[request].messages[0].content
    return [json.loads(line)["name"] for line in text.split("# The tools")[1].splitlines() if line.startswith("{")]


# --- settings ---


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "model must name a model"),
        ({"temperature": -1}, "temperature must be a non-negative number, or None"),
        ({"timeout": float("nan")}, "timeout must be a non-negative number, or None"),
        ({"timeout": float("inf")}, "timeout must be a non-negative number, or None"),
        ({"validation_retries": -1}, "validation_retries must be non-negative"),
        ({"max_tokens": 0}, "max_tokens must be positive, or None"),
        ({"schema_version": "3.0"}, "schema_version must be one of '1.0', '2.0'"),
        (
            {"structured_output_mode": "sometimes"},
            "structured_output_mode must be one of 'auto', 'required', 'compatibility'",
        ),
    ],
)
def test_a_setting_out_of_range_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the whole message is compared
        ArboristConfig(**{"model": "m"} | settings)
    assert str(refused.value) == message


def test_a_config_does_not_change_and_does_not_show_its_key() -> None:
    config = ArboristConfig("m", api_key="sk-secret")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.model = "n"  # type: ignore[misc]  # that is the point
    assert "sk-secret" not in repr(config)


def test_two_models_are_not_named() -> None:
    with pytest.raises(ValueError, match="two models are named, 'm' and, in config, 'n'"):
        Arborist("m", Tools(), config=ArboristConfig("n"), transport=ScriptedTransport([]))


def test_an_arborist_without_a_transport_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="Arborist needs a transport; OpenAIArborist can make one itself"):
        Arborist("m", Tools())


def test_the_repr_of_an_arborist_and_of_a_response_shows_neither_key_nor_content() -> None:
    config = ArboristConfig("m", api_key="sk-secret")
    arborist = Arborist("m", Tools(), config=config, transport=ScriptedTransport([value_program("sk-result")]))
    response = run(arborist.eval("sk-question"))

    assert repr(arborist) == "Arborist('m', ScriptedTransport(provider='scripted', requests=1))"
    assert repr(response) == (
        f"EvalResponse(type={EvalType.WALK!r}, usage={ModelUsage()!r}, attempts=1, fell_back=False)"
    )


def test_an_eval_type_can_be_given_as_its_word() -> None:
    transport = ScriptedTransport([value_program(1)])
    response = run(Arborist("m", Tools(), transport=transport).eval("question", EvalType("tree")))
    assert response.type is EvalType.TREE


# --- tools ---


def test_all_tools_are_offered_by_default_in_the_providers_order() -> None:
    transport = ScriptedTransport([value_program(1)])
    run(Arborist("m", Tools(), transport=transport).eval("question"))
    assert offered(transport) == [tool.name for tool in run(Tools().list_tools())]


def test_named_tools_are_offered_in_the_order_of_the_names() -> None:
    transport = ScriptedTransport([value_program(1)])
    selector = NamedTools(["get_weather", "add"])
    run(Arborist("m", Tools(), selector, transport=transport).eval("question"))
    assert offered(transport) == ["get_weather", "add"]
    assert repr(selector) == "NamedTools(['get_weather', 'add'])"


def test_a_selector_that_names_no_tool_of_the_provider_fails_before_anything_is_sent() -> None:
    transport = ScriptedTransport([])
    with pytest.raises(ToolNotFoundError, match="there is no tool 'think'"):
        run(Arborist("m", Tools(), NamedTools(["think"]), transport=transport).eval("question"))
    assert transport.requests == []


def test_a_tool_that_was_not_selected_is_not_called_though_the_provider_has_it() -> None:
    tools = Tools()
    transport = ScriptedTransport([call_program("get_weather", "Paris"), value_program("unknown")])
    response = run(Arborist("m", tools, NamedTools(["add"]), transport=transport).eval("question"))

    assert (response.content, tools.called) == ("unknown", [])
    assert (
        "there is no tool 'get_weather'; use one of 'add' (at /body/0/name)"
        in transport.requests[1].messages[-1].content
    )


def test_a_selector_sees_the_provider_and_the_question() -> None:
    class Words:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        async def select(self, provider: ToolProvider, *, query: str) -> Sequence[ToolDefinition]:
            self.seen.append((provider, query))
            return [tool for tool in await provider.list_tools() if tool.name in query]

    tools, selector = Tools(), Words()
    transport = ScriptedTransport([value_program(1)])
    run(Arborist("m", tools, selector, transport=transport).eval("add something"))

    assert isinstance(selector, ToolSelector)
    assert isinstance(AllTools(), ToolSelector)
    assert selector.seen == [(tools, "add something")]
    assert offered(transport) == ["add"]


class Plain(ToolProvider):
    """A provider that describes its tools by mappings, as one outside of this project may."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.tools = tools

    async def list_tools(self) -> list[Any]:
        return list(self.tools)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        return ToolOutput(content=arguments)


def test_a_providers_mappings_are_as_good_as_definitions() -> None:
    provider = Plain({"name": "echo", "properties": {"this": {"type": "integer"}}})
    transport = ScriptedTransport([call_program("functions.echo", 4)])
    assert run(Arborist("m", provider, transport=transport).eval("question")).content == {"this": 4}


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([{"name": "get-it"}], "cannot name the tool 'get-it', which is no identifier"),
        ([{"name": "it"}, {"name": "it"}], "two of the selected tools have the same name"),
    ],
)
def test_tools_that_no_program_could_call_are_found_before_anything_is_sent(tools: Any, message: str) -> None:
    transport = ScriptedTransport([])
    config = ArboristConfig("m", schema_version="2.0")
    with pytest.raises(ASTValidationError, match=message):
        run(Arborist("m", Plain(*tools), config=config, transport=transport).eval("question"))
    assert transport.requests == []


SCHEMA = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
CLOSED = SCHEMA | {"additionalProperties": False}
PATTERNED = CLOSED | {"patternProperties": {"^x": {}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "message"),
    [
        (SCHEMA, ["a", "b", "c"], None),
        (SCHEMA, ["b"], "the tool 't' needs the argument 'a' (at /body/0/arguments)"),
        (CLOSED, ["a"], None),
        (CLOSED, ["a", "c"], "has no argument 'c'; its arguments are ['a', 'b'] (at /body/0/arguments/c)"),
        (PATTERNED, ["a", "xyz"], None),
        (None, ["a"], "the tool 't' needs the argument 'b'"),
    ],
)
def test_names_of_arguments_are_judged_while_the_model_can_still_mend_them(
    schema: dict[str, Any] | None, arguments: list[str], message: str | None
) -> None:
    provider = Plain({"name": "t", "properties": {"a": {}, "b": {}}, "input_schema": schema})
    call = {
        "type": "tool_call",
        "tool": "t",
        "arguments": {name: {"type": "literal", "value": 1} for name in arguments},
    }
    program = {"type": "program", "schema_version": "2.0", "body": [call]}
    right = {"type": "program", "schema_version": "2.0", "body": [{"type": "literal", "value": 0}]}
    transport = ScriptedTransport([json.dumps(program), json.dumps(right)])
    config = ArboristConfig("m", schema_version="2.0")

    response = run(Arborist("m", provider, config=config, transport=transport).eval("question"))

    if message is None:
        assert response.content == dict.fromkeys(arguments, 1)
    else:
        assert message in transport.requests[1].messages[-1].content


# --- memory ---


def test_an_evaluation_adds_the_question_and_its_program_and_the_next_one_sends_them() -> None:
    transport = ScriptedTransport([call_program("get_weather", "Paris"), value_program(2)])
    memory = ConversationMemory()
    arborist = Arborist("m", Tools(), memory=memory, transport=transport)

    first = run(arborist.eval("one"))
    run(arborist.eval("two"))

    _, *turns = [(message.role, message.content) for message in transport.requests[1].messages]
    assert [role for role, _ in turns] == ["user", "assistant", "user"]
    assert (turns[0][1], json.loads(turns[1][1]), turns[2][1]) == ("one", first.jsontree, "two")
    assert first.content not in turns[1][1]  # what tools gave stays here
    assert len(run(memory.get())) == 4


def test_an_evaluation_that_fails_is_not_remembered() -> None:
    memory = ConversationMemory()
    script = [call_program("get_weather", "Atlantis")]
    with pytest.raises(Exception, match="get_weather"):
        run(Arborist("m", Tools(), memory=memory, transport=ScriptedTransport(script)).eval("one"))
    assert run(memory.get()) == []


def test_turns_of_evaluations_at_the_same_time_do_not_mix() -> None:
    async def turns() -> list[ChatMessage]:
        memory = ConversationMemory()
        transport = ScriptedTransport([value_program(number) for number in range(8)])
        arborist = Arborist("m", Tools(), memory=memory, transport=transport)
        await asyncio.gather(*(arborist.eval(f"question {number}") for number in range(8)))
        return await memory.get()

    remembered = run(turns())
    assert [message.role for message in remembered] == ["user", "assistant"] * 8


def test_a_conversation_memory_keeps_the_latest_exchanges_whole() -> None:
    async def kept() -> tuple[list[str], str, list[Any]]:
        memory = ConversationMemory(max_exchanges=2)
        for number in range(3):
            await memory.add([ChatMessage("user", f"q{number}"), ChatMessage("assistant", f"a{number}")])
        contents = [message.content for message in await memory.get()]
        shown = repr(memory)
        await memory.clear()
        return contents, shown, await memory.get()

    assert isinstance(ConversationMemory(), Memory)
    assert run(kept()) == (["q1", "a1", "q2", "a2"], "ConversationMemory(2 of 2 exchanges)", [])
    with pytest.raises(ValueError, match="max_exchanges must be at least 1"):
        ConversationMemory(0)


# --- the transport that OpenAIArborist makes ---


def test_an_openai_arborist_makes_and_closes_its_own_transport() -> None:
    wire = find_wire("openai-chat")

    async def evaluation(url: str) -> EvalResponse:
        config = ArboristConfig("gpt-4.1", api_key="sk-mine", base_url=url)
        async with OpenAIArborist("gpt-4.1", Tools(), config=config) as arborist:
            return await arborist.eval("question")

    with Provider() as provider:
        provider.reply(wire.completion(Answer.of(value_program(5))))
        response = run(evaluation(provider.url + wire.base_path))
        [request] = provider.requests
        run(provider.closed())

    assert (response.content, response.usage) == (5, ModelUsage(11, 7))
    assert request.headers["authorization"] == "Bearer sk-mine"


def test_an_openai_arborist_leaves_a_transport_that_it_was_given_open() -> None:
    class Closable(ScriptedTransport):
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    async def evaluation() -> bool:
        transport = Closable([value_program(5)])
        async with OpenAIArborist("m", Tools(), transport=transport) as arborist:
            await arborist.eval("question")
        return transport.closed

    assert run(evaluation()) is False


# --- observability ---


class Events:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def record(self, event: str, attributes: Mapping[str, Any]) -> None:
        self.told.append((event, dict(attributes)))


def observed(script: list[Any], **settings: Any) -> tuple[Events, Any]:
    """What is told of one evaluation, and what it gave or raised."""
    events = Events()
    arborist = Arborist(
        "m",
        Tools(),
        config=ArboristConfig("m", **settings),
        transport=ScriptedTransport(script, capabilities=ModelCapabilities(strict_json_schema=True)),
        observability=Observability(sinks=[events]),
    )
    try:
        return events, run(arborist.eval("a question with canary-words"))
    except Exception as error:
        return events, error


def test_events_tell_of_the_evaluation_and_of_every_call_in_it_and_hold_no_content() -> None:
    rejection = StructuredOutputUnsupportedError("no", provider="scripted")
    usage = ModelUsage(5, 6, reported=True)
    script = [rejection, "[]", ScriptedReply((call_program("get_weather", "Paris"),), usage)]
    events, response = observed(script)

    assert [name for name, _ in events.told] == [
        "arborist.eval.started",
        "tool.listing.started",
        "tool.listing.completed",
        "model.structured_output.selected",
        "model.request.started",
        "model.request.failed",
        "model.structured_output.fallback",
        "model.request.started",
        "model.request.completed",
        "arborist.program_refused",
        "model.request.started",
        "model.request.completed",
        "tool.lookup.started",
        "tool.lookup.completed",
        "tool.call.started",
        "tool.call.completed",
        "arborist.eval.completed",
    ]
    told = dict(events.told)
    assert told["model.structured_output.selected"]["mode"] == "strict"
    assert told["model.structured_output.fallback"]["mode"] == "compatibility"
    assert {name: told["arborist.eval.completed"][name] for name in ("attempts", "fell_back")} == {
        "attempts": 3,
        "fell_back": True,
    }
    identity = told["arborist.eval.started"]["call_id"]
    assert {attributes["parent_id"] for name, attributes in events.told if name.endswith("request.started")} == {
        identity
    }
    assert (response.content, response.usage) == ("Sunny, 25°C", usage)
    for hidden in ("canary", "Paris", "Sunny"):
        assert hidden not in json.dumps(events.told, ensure_ascii=False)


def test_an_evaluation_that_fails_is_told_with_its_error() -> None:
    events, error = observed(["[]"], validation_retries=0)

    name, attributes = events.told[-1]
    assert (name, attributes["error_type"]) == ("arborist.eval.failed", type(error).__name__)
