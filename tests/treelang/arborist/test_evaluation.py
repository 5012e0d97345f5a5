"""From a question to a program and its result, over all three wires: what is sent, what is retried, what is not."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from tests.treelang.arborist.models import WIRES, Model, Tools, call_program, model, run, value_program
from treelang import (
    Arborist,
    ArboristConfig,
    ASTValidationError,
    DefaultModelCapabilityNegotiator,
    EvalResponse,
    EvalType,
    ExecutionLimitError,
    ExecutionLimits,
    ModelAuthenticationError,
    ModelCapabilities,
    ModelRateLimitError,
    ModelTransportError,
    ModelUsage,
    ProviderResponseError,
    RetryingTransport,
    ScriptedReply,
    ScriptedTransport,
    StructuredOutputSelection,
    StructuredOutputUnsupportedError,
)
from treelang.arborist.prompting import correction, instructions
from treelang_conformance.neutral import Answer, Failure, Finish, Usage

QUESTION = "How is the weather in the capital of France?"
WEATHER = json.dumps(
    {
        "type": "program",
        "mode": "single",
        "body": [
            {
                "type": "function",
                "name": "get_weather",
                "params": [
                    {
                        "type": "function",
                        "name": "get_capital_city",
                        "params": [{"type": "value", "name": "country", "value": "France"}],
                    }
                ],
            }
        ],
    }
)
SUM = re.findall(r"```json\n(.*?)\n```", instructions("2.0", []), re.DOTALL)[1]  # the prompt's own example
RECURSIVE = json.dumps(
    {
        "type": "program",
        "schema_version": "2.0",
        "mode": "single",
        "definitions": [
            {
                "type": "function_definition",
                "name": "forever",
                "params": [],
                "body": {"type": "call", "function": "forever", "arguments": []},
            }
        ],
        "body": [{"type": "call", "function": "forever", "arguments": []}],
    }
)


def arborist(
    asked: Model, tools: Tools | None = None, limits: ExecutionLimits | None = None, **config: Any
) -> Arborist:
    return Arborist(
        asked.name,
        tools or Tools(),
        config=ArboristConfig(asked.name, **config),
        transport=asked.transport,
        execution_limits=limits,
    )


async def outcome(asked: Model, **config: Any) -> EvalResponse | Exception:
    """What one evaluation gives or raises."""
    try:
        return await arborist(asked, **config).eval(QUESTION)
    except Exception as error:
        return error


@pytest.mark.parametrize("wire", WIRES)
def test_a_question_becomes_a_program_that_runs(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse, Tools]:
        async with model(wire) as asked:
            asked.answers(WEATHER)
            tools = Tools()
            return await arborist(asked, tools).eval(QUESTION), tools

    response, tools = run(evaluation())

    assert (response.type, response.query) == (EvalType.WALK, QUESTION)
    assert response.content == response.result == "Sunny, 25°C"
    assert response.jsontree == json.loads(WEATHER) | {"schema_version": "1.0"}
    assert (response.attempts, response.fell_back) == (1, False)
    assert (response.usage, response.usage.reported) == (ModelUsage(11, 7), True)
    assert tools.called == ["get_capital_city", "get_weather"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_tree_is_not_run(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse, Tools]:
        async with model(wire) as asked:
            asked.answers(WEATHER)
            tools = Tools()
            return await arborist(asked, tools).eval(QUESTION, EvalType.TREE), tools

    response, tools = run(evaluation())

    assert response.content is response.program
    assert (response.result, tools.called) == (None, [])


@pytest.mark.parametrize("wire", WIRES)
def test_the_request_holds_the_instructions_with_the_tools_and_then_the_question(wire: str) -> None:
    async def evaluation() -> Model:
        async with model(wire) as asked:
            asked.answers(WEATHER)
            await arborist(asked, max_tokens=500).eval(QUESTION)
            return asked

    [request] = run(evaluation()).requests
    texts = [*request.system, *(turn.text for turn in request.turns if turn.role != "system")]

    assert texts[0] == instructions("1.0", run(Tools().list_tools()))
    assert texts[-1] == QUESTION
    assert request.max_tokens == 500
    assert request.tools is None  # an answer that called one would be no program


@pytest.mark.parametrize("mode", ["auto", "compatibility"])
@pytest.mark.parametrize("wire", WIRES)
def test_programs_of_format_2_are_asked_for_and_run(wire: str, mode: str) -> None:
    program = json.loads(SUM) | {"name": None, "description": None}  # as strict output writes what is optional

    async def evaluation() -> tuple[EvalResponse, Model]:
        async with model(wire) as asked:
            asked.answers(json.dumps(program))
            return await arborist(asked, schema_version="2.0", structured_output_mode=mode).eval(QUESTION), asked

    response, asked = run(evaluation())
    [request] = asked.requests

    assert response.content == 6
    assert response.jsontree["schema_version"] == "2.0"
    assert [*request.system, *(turn.text for turn in request.turns)][0] == instructions(
        "2.0", run(Tools().list_tools())
    )


# --- temperature ---


@pytest.mark.parametrize("wire", WIRES)
def test_the_temperature_is_sent_where_the_model_takes_one(wire: str) -> None:
    async def evaluation() -> list[float | None]:
        async with model(wire) as asked:
            asked.answers(WEATHER, WEATHER, WEATHER)
            await arborist(asked).eval(QUESTION)
            await arborist(asked, temperature=0.5).eval(QUESTION)
            await arborist(asked, temperature=None).eval(QUESTION)
            return [request.temperature for request in asked.requests]

    assert run(evaluation()) == [0.0, 0.5, None]


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("openai-chat", "o3"),
        ("openai-responses", "o3"),
        ("anthropic-messages", "claude-opus-5"),
        ("openai-chat", "acme"),
    ],
)
def test_the_temperature_is_left_out_where_the_model_takes_none(wire: str, name: str) -> None:
    async def evaluation() -> list[float | None]:
        async with model(wire, name) as asked:
            asked.answers(WEATHER)
            await arborist(asked, temperature=0.5).eval(QUESTION)
            return [request.temperature for request in asked.requests]

    assert run(evaluation()) == [None]


# --- structured output ---


@pytest.mark.parametrize("wire", WIRES)
def test_an_explicit_rejection_is_followed_by_exactly_one_request_that_differs_in_the_output_alone(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse, Model]:
        async with model(wire) as asked:
            asked.rejects_strict_output()
            asked.answers(WEATHER)
            return await arborist(asked, schema_version="1.0").eval(QUESTION), asked

    response, asked = run(evaluation())
    strict, fallback = (request.json() for request in asked.provider.requests)
    for request in (strict, fallback):
        for place in ("response_format", "text", "output_config"):
            request.pop(place, None)
    if wire == "anthropic-messages":  # which has no JSON mode, and is asked in words
        assert fallback["system"][:-1] == strict["system"]
        fallback["system"].pop()

    assert (response.attempts, response.fell_back) == (2, True)
    assert response.usage == ModelUsage(11, 7)
    assert asked.requests[0].output == "strict"
    assert asked.requests[1].output in ("json", "text")
    assert fallback == strict


@pytest.mark.parametrize("wire", WIRES)
def test_a_second_rejection_is_final(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse | Exception, int]:
        async with model(wire) as asked:
            asked.rejects_strict_output()
            asked.rejects_strict_output()
            return await outcome(asked), len(asked.requests)

    error, requests = run(evaluation())

    assert type(error) is ModelTransportError  # what was rejected then was no strict request (FBK-4)
    assert requests == 2


def test_a_transport_that_rejects_json_mode_too_is_asked_twice_and_no_more() -> None:
    rejection = StructuredOutputUnsupportedError("not to be had", provider="scripted")
    transport = ScriptedTransport([rejection, rejection], capabilities=ModelCapabilities(strict_json_schema=True))

    with pytest.raises(StructuredOutputUnsupportedError):
        run(Arborist("m", Tools(), transport=transport).eval(QUESTION))

    assert len(transport.requests) == 2


@pytest.mark.parametrize("wire", WIRES)
def test_a_rejection_is_paid_for_once_by_all_arborists_of_a_transport(wire: str) -> None:
    async def evaluation() -> tuple[list[EvalResponse], list[str]]:
        async with model(wire) as asked:
            asked.rejects_strict_output()
            asked.answers(WEATHER, WEATHER, WEATHER)
            first, second = arborist(asked), arborist(asked)
            responses = [await one.eval(QUESTION) for one in (first, first, second)]
            return responses, [request.output for request in asked.requests]

    responses, outputs = run(evaluation())

    assert [(response.attempts, response.fell_back) for response in responses] == [(2, True), (1, False), (1, False)]
    assert outputs.count("strict") == 1


class Generous(DefaultModelCapabilityNegotiator):
    """Grants a fallback always, and to the same strict output."""

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection:
        return selection


def test_a_negotiator_that_grants_more_is_taken_at_its_word_once() -> None:
    rejection = StructuredOutputUnsupportedError("no", provider="scripted")
    transport = ScriptedTransport(
        [rejection, "nothing", rejection], capabilities=ModelCapabilities(strict_json_schema=True)
    )
    with pytest.raises(StructuredOutputUnsupportedError):
        run(Arborist("m", Tools(), transport=transport, capability_negotiator=Generous()).eval(QUESTION))
    assert len(transport.requests) == 3


def test_a_negotiator_that_counts_as_false_is_used_all_the_same() -> None:
    class Empty(DefaultModelCapabilityNegotiator):
        def __len__(self) -> int:
            return 0

        def fallback_after_rejection(self, selection: Any, configured_mode: str) -> None:
            return None

    rejection = StructuredOutputUnsupportedError("no", provider="scripted")
    transport = ScriptedTransport(
        [rejection, value_program(1)], capabilities=ModelCapabilities(strict_json_schema=True)
    )
    with pytest.raises(StructuredOutputUnsupportedError):
        run(Arborist("m", Tools(), transport=transport, capability_negotiator=Empty()).eval(QUESTION))
    assert len(transport.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_required_strict_output_is_never_downgraded(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse | Exception, int]:
        async with model(wire) as asked:
            asked.rejects_strict_output()
            return await outcome(asked, structured_output_mode="required"), len(asked.requests)

    error, requests = run(evaluation())

    assert type(error) is StructuredOutputUnsupportedError
    assert requests == 1


@pytest.mark.parametrize("wire", WIRES)
def test_required_strict_output_of_an_incapable_model_is_refused_before_anything_is_sent(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse | Exception, int]:
        async with model(wire, "acme-7b") as asked:
            return await outcome(asked, structured_output_mode="required"), len(asked.requests)

    error, requests = run(evaluation())

    assert type(error) is StructuredOutputUnsupportedError
    assert requests == 0


@pytest.mark.parametrize("wire", WIRES)
def test_compatibility_never_asks_for_strict_output(wire: str) -> None:
    async def evaluation() -> list[str]:
        async with model(wire) as asked:
            asked.answers("no program", WEATHER)
            await arborist(asked, structured_output_mode="compatibility").eval(QUESTION)
            return [request.output for request in asked.requests]

    assert "strict" not in run(evaluation())


# --- validation retries ---

DEFECTS = {
    "no JSON": ("{", "the program is no valid JSON"),
    "no object": ("[]", "a program is a JSON object"),
    "an unknown node": (value_program(1).replace('"value", "name"', '"thought", "name"'), "/body/0"),
    "an unknown tool": (call_program("think", "France"), "there is no tool 'think'; use one of 'get_capital_city'"),
    "too many params": (call_program("get_weather", "a", "b"), "takes the params ['city'], but 2 are given"),
    "too few params": (call_program("add", 1), "needs the param 'y'; its params are ['x', 'y']"),
    "another format": (RECURSIVE, "the program is of format 2.0; write one of 1.0"),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("mode", ["auto", "compatibility"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_invalid_program_is_asked_for_again_with_the_answer_and_its_error(wire: str, mode: str, defect: str) -> None:
    invalid, reason = DEFECTS[defect]

    async def evaluation() -> tuple[EvalResponse, Model]:
        async with model(wire) as asked:
            asked.answers(invalid, WEATHER)
            return await arborist(asked, structured_output_mode=mode).eval(QUESTION), asked

    response, asked = run(evaluation())
    first, second = asked.requests
    added = second.turns[len(first.turns) :]

    assert response.content == "Sunny, 25°C"
    assert (response.attempts, response.fell_back, response.usage) == (2, False, ModelUsage(22, 14))
    assert first.output == second.output
    assert (added[0].role, added[0].text) == ("assistant", invalid)
    assert added[1].role == "user"
    assert reason in added[1].text


def test_the_follow_up_is_the_correction_prompt_with_the_error() -> None:
    transport = ScriptedTransport(["{}", value_program(1)])
    run(Arborist("m", Tools(), transport=transport).eval(QUESTION))

    with pytest.raises(ASTValidationError) as refused:
        run(
            Arborist(
                "m", Tools(), config=ArboristConfig("m", validation_retries=0), transport=ScriptedTransport(["{}"])
            ).eval(QUESTION)
        )

    assert transport.requests[1].messages[-1].content == correction(refused.value)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_retries_are_as_many_as_configured_and_the_last_error_is_raised(retries: int) -> None:
    transport = ScriptedTransport([f"[{n}]" for n in range(9)])
    config = ArboristConfig("m", validation_retries=retries)

    with pytest.raises(ASTValidationError):
        run(Arborist("m", Tools(), config=config, transport=transport).eval(QUESTION))

    assert len(transport.requests) == 1 + retries
    answers = [message.content for message in transport.requests[-1].messages if message.role == "assistant"]
    assert answers == [f"[{n}]" for n in range(retries)]


def test_a_fallback_is_no_validation_retry() -> None:
    script = [StructuredOutputUnsupportedError("no", provider="scripted"), "nothing", value_program(7)]
    transport = ScriptedTransport(script, capabilities=ModelCapabilities(strict_json_schema=True))
    config = ArboristConfig("m", validation_retries=1)

    response = run(Arborist("m", Tools(), config=config, transport=transport).eval(QUESTION))

    assert (response.content, response.attempts, response.fell_back) == (7, 3, True)
    assert [request.json_mode for request in transport.requests] == [False, True, True]


def test_a_rejection_after_an_invalid_answer_keeps_the_conversation() -> None:
    script = ["nothing", StructuredOutputUnsupportedError("no", provider="scripted"), value_program(7)]
    transport = ScriptedTransport(script, capabilities=ModelCapabilities(strict_json_schema=True))

    response = run(Arborist("m", Tools(), transport=transport).eval(QUESTION))

    assert (response.content, response.attempts, response.fell_back) == (7, 3, True)
    assert transport.requests[2].messages == transport.requests[1].messages


def test_an_answer_of_blanks_is_not_repeated_to_the_model_since_providers_refuse_empty_turns() -> None:
    transport = ScriptedTransport([" \n", value_program(1)])

    run(Arborist("m", Tools(), transport=transport).eval(QUESTION))

    assert [message.role for message in transport.requests[1].messages] == ["system", "user", "user"]


# --- failures that are final ---

FAILURES: dict[str, tuple[Failure, type[Exception]]] = {
    "authentication": (Failure(401), ModelAuthenticationError),
    "rate limit": (Failure(429), ModelRateLimitError),
    "bad request": (Failure(400), ModelTransportError),
    "server": (Failure(500), ModelTransportError),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("wire", WIRES)
def test_any_other_failure_is_final(wire: str, name: str) -> None:
    failure, kind = FAILURES[name]

    async def evaluation() -> tuple[EvalResponse | Exception, int]:
        async with model(wire) as asked:
            asked.fails(failure)
            return await outcome(asked), len(asked.requests)

    error, requests = run(evaluation())

    assert type(error) is kind
    assert requests == 1


@pytest.mark.parametrize("wire", WIRES)
def test_half_an_answer_is_final(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse | Exception, int]:
        async with model(wire) as asked:
            asked.plays(asked.wire.completion(Answer.of(WEATHER[:20], finish=Finish.LENGTH)))
            return await outcome(asked), len(asked.requests)

    error, requests = run(evaluation())

    assert type(error) is ProviderResponseError
    assert requests == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_failure_of_the_fallback_is_final(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse | Exception, int]:
        async with model(wire) as asked:
            asked.rejects_strict_output()
            asked.fails(Failure(500))
            return await outcome(asked), len(asked.requests)

    error, requests = run(evaluation())

    assert type(error) is ModelTransportError
    assert requests == 2


def test_a_tool_that_fails_is_no_reason_to_ask_again() -> None:
    transport = ScriptedTransport([call_program("get_weather", "Atlantis"), call_program("get_weather", 5)])
    asked = Arborist("m", Tools(), transport=transport)

    for _ in range(2):  # the tool's own failure, then arguments that its schema refuses
        with pytest.raises(Exception, match="get_weather"):
            run(asked.eval(QUESTION))

    assert len(transport.requests) == 2


# --- usage ---


def test_usage_is_summed_over_attempts_whatever_each_reported() -> None:
    script = [
        StructuredOutputUnsupportedError("no", provider="scripted"),
        ScriptedReply(("{}",), ModelUsage(100, 10, reported=True)),
        ScriptedReply(("{",), ModelUsage(300, 30, reported=True)),
        ScriptedReply((value_program(1),), ModelUsage()),
    ]
    transport = ScriptedTransport(script, capabilities=ModelCapabilities(strict_json_schema=True))

    response = run(Arborist("m", Tools(), transport=transport).eval(QUESTION))

    assert (response.usage, response.usage.reported, response.attempts) == (ModelUsage(400, 40), True, 4)


@pytest.mark.parametrize("wire", WIRES)
def test_usage_that_nobody_reported_is_unreported(wire: str) -> None:
    async def evaluation() -> EvalResponse:
        async with model(wire) as asked:
            asked.answers(WEATHER, usage=None)
            return await arborist(asked).eval(QUESTION)

    usage = run(evaluation()).usage
    assert (usage, usage.reported) == (ModelUsage(), False)


def test_a_transport_of_two_methods_is_enough() -> None:
    class Bare:
        def __init__(self) -> None:
            self.requests: list[Any] = []

        async def complete(self, request: Any) -> str:
            self.requests.append(request)
            return value_program(3)

        def stream(self, request: Any) -> Any:
            raise AssertionError("an arborist does not stream")

    transport = Bare()
    response = run(Arborist("m", Tools(), transport=transport).eval(QUESTION))

    assert (response.content, response.usage.reported) == (3, False)
    assert transport.requests[0]["response_format"] == {"type": "json_object"}
    assert "temperature" not in transport.requests[0]


@pytest.mark.parametrize("wire", WIRES)
def test_a_retrying_transport_is_the_arborists_one_attempt(wire: str) -> None:
    async def evaluation() -> tuple[EvalResponse, int]:
        async with model(wire) as asked:
            asked.fails(Failure(503, headers={"retry-after-ms": "0"}))
            asked.answers(WEATHER)
            transport = RetryingTransport(asked.transport, first_delay=0)
            return await Arborist(asked.name, Tools(), transport=transport).eval(QUESTION), len(asked.requests)

    response, requests = run(evaluation())

    assert (response.content, response.attempts, requests) == ("Sunny, 25°C", 1, 2)
    assert response.usage == ModelUsage(11, 7)


# --- limits ---


def test_limits_are_those_that_were_given() -> None:
    transport = ScriptedTransport([WEATHER])
    asked = Arborist("m", Tools(), transport=transport, execution_limits=ExecutionLimits(max_tool_calls=1))

    with pytest.raises(ExecutionLimitError) as crossed:
        run(asked.eval(QUESTION))

    assert (crossed.value.resource, crossed.value.limit) == ("tool_calls", 1)


def test_a_program_that_never_ends_is_ended_where_no_limits_were_given() -> None:
    transport = ScriptedTransport([RECURSIVE])
    asked = Arborist("m", Tools(), config=ArboristConfig("m", schema_version="2.0"), transport=transport)

    with pytest.raises(ExecutionLimitError) as crossed:
        run(asked.eval(QUESTION))

    assert crossed.value.resource == "call_depth"


# --- several at once ---


@pytest.mark.parametrize("wire", WIRES)
def test_evaluations_at_the_same_time_are_independent(wire: str) -> None:
    """Each question is answered by its own number, some after invalid answers, and all with their own usage."""

    async def evaluation() -> list[EvalResponse]:
        async with model(wire) as asked:

            def answer(received: Any) -> Any:
                turns = [turn for turn in asked.wire.read(received).turns if turn.role != "system"]
                number = int(turns[0].text)
                invalid = sum(turn.role == "assistant" for turn in turns) < number % 3
                text = "not yet" if invalid else value_program(number)
                return asked.wire.completion(Answer.of(text, usage=Usage(number, 1)))

            asked.provider.answer_by(answer)
            one = arborist(asked)
            return await asyncio.gather(*(one.eval(str(number)) for number in range(1, 13)))

    responses = run(evaluation())

    for number, response in enumerate(responses, 1):
        attempts = 1 + number % 3
        assert (response.content, response.attempts) == (number, attempts)
        assert response.usage == ModelUsage(attempts * number, attempts)
