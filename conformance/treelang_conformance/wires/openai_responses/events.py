"""The events of a stream in the responses form: the response opened, its items part by part, the response ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from treelang_conformance.neutral import Answer, Block, Refusal, ServerToolCall, Text, Thinking, ToolCall, UnknownBlock
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_responses import answers
from treelang_conformance.wires.sse import encode_event


class _Told(NamedTuple):
    """An event without its number: its type, its other fields, and what it adds to the answer."""

    type: str
    fields: dict[str, Any]
    text: str = ""


def events(answer: Answer) -> list[Event]:
    """The events of an answer's stream, the one with the whole response last."""
    if answer.running:
        raise ValueError("openai-responses has no place for running totals: it reports usage once, at the end")
    ending = answers.ending_of(answer.finish)
    told = [
        _Told("response.created", {"response": answers.opened_response()}),
        _Told("response.in_progress", {"response": answers.opened_response()}),
    ]
    for index, blocks in enumerate(answers.blocks_by_item(answer)):
        told.extend(_item_events(index, blocks, answers.item(index, blocks, ending)))
    found = [
        encode(event.type, event.fields, EventKind.TEXT if event.text else EventKind.SILENT, number, event.text)
        for number, event in enumerate(told)
    ]
    ended = {"response": answers.response(answer)}
    return [*found, encode(ending.event, ended, EventKind.TERMINAL, len(found))]


def encode(type_: str, fields: dict[str, Any], kind: EventKind, number: int = 0, text: str = "") -> Event:
    """One event; `number` is its place in the stream."""
    data = {"type": type_, "sequence_number": number, **fields}
    return Event(kind, encode_event(data, name=type_), text)


def _item_events(index: int, blocks: Sequence[Block], item: answers.Item) -> Iterator[_Told]:
    place = {"item_id": item["id"], "output_index": index}
    yield _Told("response.output_item.added", {"output_index": index, "item": _opened_item(item)})
    if answers.is_message(blocks):
        for number, block in enumerate(blocks):
            yield from _part_events(block, {**place, "content_index": number})
    else:
        yield from _progress(blocks[0], place)
    yield _Told("response.output_item.done", {"output_index": index, "item": item})


def _opened_item(item: answers.Item) -> answers.Item:
    """An item before there is anything in it."""
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": ""}
    opened = {name: empty.get(name, value) for name, value in item.items() if name != "action"}
    return {**opened, "status": "in_progress"}


def _part_events(block: Block, place: dict[str, Any]) -> Iterator[_Told]:
    """The events of one part of a message."""
    whole = answers.part(block)
    opened = {name: "" if name in ("text", "refusal") else value for name, value in whole.items()}
    yield _Told("response.content_part.added", {**place, "part": opened})
    match block:
        case Text():
            for piece in block.pieces:
                delta = {**place, "delta": piece, "logprobs": [], "obfuscation": "Xq7Lw2"}
                yield _Told("response.output_text.delta", delta, piece)
            yield _Told("response.output_text.done", {**place, "text": block.text, "logprobs": []})
        case Refusal(text):
            yield _Told("response.refusal.delta", {**place, "delta": text})
            yield _Told("response.refusal.done", {**place, "refusal": text})
    yield _Told("response.content_part.done", {**place, "part": whole})


def _progress(block: Block, place: dict[str, Any]) -> Iterator[_Told]:
    """The events of an item that is no message, between its beginning and its end."""
    match block:
        case Thinking(text):
            summary = {**place, "summary_index": 0}
            yield _Told("response.reasoning_summary_part.added", {**summary, "part": answers.summary_part("")})
            yield _Told("response.reasoning_summary_text.delta", {**summary, "delta": text})
            yield _Told("response.reasoning_summary_text.done", {**summary, "text": text})
            yield _Told("response.reasoning_summary_part.done", {**summary, "part": answers.summary_part(text)})
            content = {**place, "content_index": 0}
            yield _Told("response.reasoning_text.delta", {**content, "delta": text})
            yield _Told("response.reasoning_text.done", {**content, "text": text})
        case ToolCall(_, arguments):
            yield _Told("response.function_call_arguments.delta", {**place, "delta": arguments})
            yield _Told("response.function_call_arguments.done", {**place, "arguments": arguments})
        case ServerToolCall():
            for state in ("in_progress", "searching", "completed"):
                yield _Told(f"response.web_search_call.{state}", place)
        case UnknownBlock():
            yield _Told("response.x_unheard_of.delta", {**place, "delta": "not an answer"})
            yield _Told("response.x_unheard_of.done", {**place, "text": "not an answer"})
