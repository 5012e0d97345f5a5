"""Answers in the responses form: the response object and the items of its output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from treelang_conformance.neutral import (
    Answer,
    Block,
    Finish,
    RawUsage,
    Refusal,
    ServerToolCall,
    Text,
    Thinking,
    ToolCall,
    UnknownBlock,
    Usage,
)

MODEL = "gpt-4.1-mini"

Item: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a response says that it ended, and the stream event that says so."""

    status: str | None
    event: str
    reason: str | None = None


_COMPLETED = Ending("completed", "response.completed")

ENDINGS: Mapping[Finish, Ending] = {
    Finish.STOP: _COMPLETED,
    Finish.LENGTH: Ending("incomplete", "response.incomplete", "max_output_tokens"),
    Finish.CONTENT_FILTER: Ending("incomplete", "response.incomplete", "content_filter"),
    Finish.TOOL_CALLS: _COMPLETED,
    Finish.REFUSAL: _COMPLETED,
    Finish.FAILED: Ending("failed", "response.failed"),
    Finish.UNKNOWN: Ending("x_unheard_of", "response.incomplete"),
    Finish.ABSENT: Ending(None, "response.incomplete"),
}

_TOLD_BY_A_BLOCK: Mapping[Finish, Block] = {
    Finish.TOOL_CALLS: ToolCall("measure", "{}"),
    Finish.REFUSAL: Refusal("I'm sorry, but I can't help with that."),
}
"""What an answer needs among its blocks to end for a reason of which the status says nothing."""

_FAILED = {"code": "server_error", "message": "The model failed to generate a response."}


def response(answer: Answer) -> dict[str, Any]:
    """The `response` object of an answer."""
    ending = ending_of(answer.finish)
    body = {
        **opened_response(),
        "status": ending.status,
        "error": _FAILED if answer.finish is Finish.FAILED else None,
        "incomplete_details": {"reason": ending.reason} if ending.reason else None,
        "output": [item(number, blocks, ending) for number, blocks in enumerate(blocks_by_item(answer))],
    }
    del body["usage"]
    if answer.usage is not None:
        body |= _usage(answer.usage)
    return body


def failed_response(error: Any) -> dict[str, Any]:
    """The `response` object that tells an error in place of an answer."""
    return {**opened_response(), "status": "failed", "error": error}


def opened_response(status: str = "in_progress") -> dict[str, Any]:
    """The `response` object before there is any answer."""
    return {
        "id": "resp_conformance",
        "object": "response",
        "created_at": 1790000000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": MODEL,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "metadata": {},
    }


def ending_of(finish: Finish) -> Ending:
    """How an answer ends for this reason."""
    if finish not in ENDINGS:
        raise ValueError(f"openai-responses has no status for the finish {finish.value!r}")
    return ENDINGS[finish]


def blocks_by_item(answer: Answer) -> Sequence[Sequence[Block]]:
    """The blocks of an answer by the item that they stand in.

    Texts and refusals without anything between them share a message. So does an unknown block that follows one, as
    an unknown part; elsewhere it is an unknown item.
    """
    blocks = list(answer.blocks)
    telling = _TOLD_BY_A_BLOCK.get(answer.finish)
    if telling is not None and not any(type(block) is type(telling) for block in blocks):
        blocks.append(telling)
    found: list[list[Block]] = []
    for block in blocks:
        if found and is_message(found[-1]) and isinstance(block, Text | Refusal | UnknownBlock):
            found[-1].append(block)
        else:
            found.append([block])
    return found


def is_message(blocks: Sequence[Block]) -> bool:
    """Whether these blocks of one item make a message."""
    return isinstance(blocks[0], Text | Refusal)


def item(number: int, blocks: Sequence[Block], ending: Ending = _COMPLETED) -> Item:
    """The whole output item of these blocks."""
    status = "completed" if ending is _COMPLETED else "incomplete"
    match blocks[0]:
        case Text() | Refusal():
            return message(number, map(part, blocks), status)
        case Thinking(text):
            # OpenAI tells a summary alone; open models tell the reasoning itself.
            return {
                "id": f"rs_conformance_{number}",
                "type": "reasoning",
                "status": status,
                "summary": [summary_part(text)],
                "content": [{"type": "reasoning_text", "text": text}],
            }
        case ToolCall(name, arguments):
            return {
                "id": f"fc_conformance_{number}",
                "type": "function_call",
                "status": status,
                "arguments": arguments,
                "call_id": f"call_conformance_{number}",
                "name": name,
            }
        case ServerToolCall():
            return {
                "id": f"ws_conformance_{number}",
                "type": "web_search_call",
                "status": "completed",
                "action": {"type": "search", "query": "tallest tree"},
            }
        case UnknownBlock():
            content = [text_part("not an answer")]
            return {"id": f"x_conformance_{number}", "type": "x_unheard_of", "status": status, "content": content}


def message(number: int, parts: Iterable[Any], status: str = "completed") -> Item:
    """A message of the model."""
    return {
        "id": f"msg_conformance_{number}",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": list(parts),
    }


def part(block: Block) -> dict[str, Any]:
    """A part of a message."""
    match block:
        case Text():
            return text_part(block.text)
        case Refusal(text):
            return {"type": "refusal", "refusal": text}
        case _:
            return {"type": "x_unheard_of", "text": "not an answer"}


def text_part(text: str) -> dict[str, Any]:
    """A part of a message that is text of the answer."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def summary_part(text: str) -> dict[str, Any]:
    """A part of a reasoning's summary."""
    return {"type": "summary_text", "text": text}


def _usage(usage: Usage | RawUsage) -> dict[str, Any]:
    """The fields of a response that tell usage."""
    if isinstance(usage, RawUsage):
        return {"usage": usage.value}
    counters = {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
    }
    return {"usage": counters, "tool_usage": {"web_search": {"num_requests": usage.server_tool_requests}}}
