"""What an adapter costs beside the bare SDK doing the same work: CPU of the calling thread, as a ratio.

Both call `create` on the same loopback provider and read the text and the usage. A round measures both, one after
the other, so that a machine whose speed drifts hits both alike; the median of the rounds' ratios counts. A stream's
figure is its cost per chunk: what a long stream costs beyond a short one.

Run it with: python -m tests.benchmarks.adapters [ROUNDS]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import anthropic
import openai

from treelang import AnthropicTransport, OpenAIResponsesTransport, OpenAITransport
from treelang_conformance.neutral import Answer
from treelang_conformance.provider.script import Reply, Script, Send
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.base import Wire
from treelang_conformance.wires.discovery import find_wire

ROUNDS = 9
COMPLETIONS = 60
STREAMS, LONG, SHORT = 5, 400, 20
PIECE = "a few words "
MODEL = "m"
MESSAGES: Any = [{"role": "user", "content": "Tell me about trees."}]

Work: TypeAlias = Callable[[Any], Awaitable[tuple[str, int]]]
"""One call with a client or a transport: its text and its output tokens."""


async def chat_completion(client: openai.AsyncOpenAI) -> tuple[str, int]:
    answer = await client.chat.completions.create(model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.content or "", answer.usage.completion_tokens if answer.usage else 0


async def chat_stream(client: openai.AsyncOpenAI) -> tuple[str, int]:
    text, tokens = [], 0
    async with await client.chat.completions.create(
        model=MODEL, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    ) as chunks:
        async for chunk in chunks:
            if chunk.usage:
                tokens = chunk.usage.completion_tokens
            if chunk.choices and chunk.choices[0].delta.content:
                text.append(chunk.choices[0].delta.content)
    return "".join(text), tokens


async def responses_completion(client: openai.AsyncOpenAI) -> tuple[str, int]:
    answer = await client.responses.create(model=MODEL, input=MESSAGES)
    return answer.output_text, answer.usage.output_tokens if answer.usage else 0


async def responses_stream(client: openai.AsyncOpenAI) -> tuple[str, int]:
    text, tokens = [], 0
    async with await client.responses.create(model=MODEL, input=MESSAGES, stream=True) as events:
        async for event in events:
            if event.type == "response.output_text.delta":
                text.append(event.delta)
            elif event.type == "response.completed":
                tokens = event.response.usage.output_tokens if event.response.usage else 0
                break
    return "".join(text), tokens


async def messages_completion(client: anthropic.AsyncAnthropic) -> tuple[str, int]:
    answer = await client.messages.create(model=MODEL, max_tokens=8192, messages=MESSAGES)
    return "".join(block.text for block in answer.content if block.type == "text"), answer.usage.output_tokens


async def messages_stream(client: anthropic.AsyncAnthropic) -> tuple[str, int]:
    text, tokens = [], 0
    async with await client.messages.create(model=MODEL, max_tokens=8192, messages=MESSAGES, stream=True) as events:
        async for event in events:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                text.append(event.delta.text)
            elif event.type == "message_delta":
                tokens = event.usage.output_tokens
            elif event.type == "message_stop":
                break
    return "".join(text), tokens


async def adapter_completion(transport: Any) -> tuple[str, int]:
    text = await transport.complete({"model": MODEL, "messages": MESSAGES})
    return text, transport.consume_usage().completion_tokens


async def adapter_stream(transport: Any) -> tuple[str, int]:
    text = "".join([chunk async for chunk in transport.stream({"model": MODEL, "messages": MESSAGES})])
    return text, transport.consume_usage().completion_tokens


# wire: the bare client, its completion and its stream, the adapter, and the highest ratios that are allowed.
SUBJECTS: dict[str, tuple[Any, Work, Work, Any, float, float]] = {
    "openai-chat": (openai.AsyncOpenAI, chat_completion, chat_stream, OpenAITransport, 0.9, 0.3),
    "openai-responses": (
        openai.AsyncOpenAI,
        responses_completion,
        responses_stream,
        OpenAIResponsesTransport,
        0.9,
        0.3,
    ),
    "anthropic-messages": (
        anthropic.AsyncAnthropic,
        messages_completion,
        messages_stream,
        AnthropicTransport,
        0.9,
        0.6,
    ),
}


def answer(pieces: int) -> Answer:
    return Answer.of(*[PIECE] * pieces)


def stream_reply(wire: Wire, pieces: int) -> Script:
    return Reply.event_stream(Send(b"".join(event.data for event in wire.events(answer(pieces)))))


async def cost(work: Work, subject: Any, calls: int, expected: str) -> float:
    """CPU seconds of this thread per call; the provider plays in another one."""
    begun = time.thread_time()
    for _ in range(calls):
        text, tokens = await work(subject)
        if text != expected or tokens != Answer.of("x").usage.completion_tokens:  # type: ignore[union-attr]  # a Usage
            raise AssertionError("the two sides do not do the same work")
    return (time.thread_time() - begun) / calls


async def ratios(wire_name: str, rounds: int) -> tuple[list[float], list[float]]:
    """The rounds' ratios of a completion, and of one chunk of a stream."""
    client_class, sdk_complete, sdk_stream, adapter_class, _, _ = SUBJECTS[wire_name]
    wire = find_wire(wire_name)
    completions: list[float] = []
    chunks: list[float] = []
    with Provider() as provider:
        url = provider.url + wire.base_path
        client = client_class(api_key="k", base_url=url, max_retries=0)
        transport = adapter_class(api_key="k", base_url=url)
        sides = [(client, sdk_complete, sdk_stream), (transport, adapter_completion, adapter_stream)]
        for number in range(rounds + 1):
            provider.answer_by(lambda _: wire.completion(answer(1)))
            whole = [await cost(complete, side, COMPLETIONS, PIECE) for side, complete, _ in sides]
            per_chunk = []
            for side, _, stream in sides:
                total = []
                for pieces in (SHORT, LONG):
                    reply = stream_reply(wire, pieces)
                    provider.answer_by(lambda _, reply=reply: reply)  # type: ignore[misc]  # bound early
                    total.append(await cost(stream, side, STREAMS, PIECE * pieces))
                per_chunk.append((total[1] - total[0]) / (LONG - SHORT))
            if number:  # the first round warms up
                completions.append(whole[1] / whole[0])
                chunks.append(per_chunk[1] / per_chunk[0])
        await transport.aclose()
        await client.close()
    return completions, chunks


def main() -> int:
    """Measure every wire; 1 where a median is above what is allowed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    exceeded = False
    print(f"CPU of the adapter / CPU of the bare SDK, medians of {rounds} rounds (lowest to highest)")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}, Python {sys.version.split()[0]}")
    for wire_name, (*_, completion_limit, chunk_limit) in SUBJECTS.items():
        completions, chunks = asyncio.run(ratios(wire_name, rounds))
        for what, values, limit in (("completion", completions, completion_limit), ("chunk", chunks, chunk_limit)):
            median = statistics.median(values)
            exceeded |= median > limit
            print(
                f"{wire_name:20} {what:10} {median:5.2f}  ({min(values):.2f} to {max(values):.2f})"
                f"  allowed {limit:.2f}  {'ABOVE' if median > limit else 'ok'}"
            )
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
