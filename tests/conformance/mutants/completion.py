"""Mutants of CMP-1, CMP-2 and CMP-7 to CMP-10: what is returned, and calls beside and after one another."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Any

from tests.conformance.mutants.mutation import (
    CHAT,
    MESSAGES,
    ErrorMutation,
    Moment,
    Mutation,
    mutant,
    remade,
)
from treelang import (
    ModelConnectionError,
    ModelRequest,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    UsageRecord,
)
from treelang.transports.answer import AnswerState

# --- CMP-1: the text ---


@mutant("CMP-1", wires=(CHAT, MESSAGES))
class NormalisesUnicode(Mutation):
    """`complete` composes characters that the provider had sent decomposed."""

    async def complete(self, request: ModelRequest) -> str:
        return unicodedata.normalize("NFC", await super().complete(request))


@mutant("CMP-1")
class DropsAByteOrderMark(Mutation):
    """`complete` takes a byte order mark off the beginning of the text."""

    async def complete(self, request: ModelRequest) -> str:
        return (await super().complete(request)).removeprefix("\ufeff")


@mutant("CMP-1")
class TakesCarriageReturnsForLineEnds(Mutation):
    """`complete` makes a line feed of CR LF, as text files are read."""

    async def complete(self, request: ModelRequest) -> str:
        return (await super().complete(request)).replace("\r\n", "\n")


_ALSO_IN_BOTH_CALLS = {"STR-1": "it compares what both calls make of the same blocks"}


@mutant("CMP-1", wires=(MESSAGES,), touches=_ALSO_IN_BOTH_CALLS)
class KeepsTheFirstTextBlock(Mutation):
    """`complete` returns the first text block alone where there are several."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        texts = _text_blocks(body)
        return texts[0] if len(texts) > 1 else text


@mutant("CMP-1", wires=(MESSAGES,), touches=_ALSO_IN_BOTH_CALLS)
class JoinsBlocksWithALineFeed(Mutation):
    """`complete` puts a line feed between two text blocks."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        texts = _text_blocks(body)
        return "\n".join(texts) if len(texts) > 1 else text


def _text_blocks(message: dict[str, Any]) -> list[str]:
    texts = []
    for block in message["content"] if isinstance(message.get("content"), list) else ():
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
    return texts


@mutant("CMP-1", wires=(MESSAGES,), touches=_ALSO_IN_BOTH_CALLS)
class TakesThinkingForText(Mutation):
    """`complete` puts the thinking in front of the text that it led to."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        blocks = body.get("content")
        if text and isinstance(blocks, list) and isinstance(blocks[0], dict) and blocks[0].get("type") == "thinking":
            return f"{blocks[0]['thinking']}{text}"
        return text


# --- CMP-2: one request ---


@mutant("CMP-2", wires=(CHAT, MESSAGES))
class RetriesA503(Mutation):
    """`complete` asks once more when the provider says 503, and raises the first failure if that fails too."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ModelTransportError as error:
            if error.status_code == 503:
                try:
                    return await super().complete(request)
                except ProviderResponseError:
                    pass
            raise


_TAKES_THE_NEXT_ANSWER = {"CMP-10": "the second request takes the answer that waits for the call after the failed one"}


@mutant("CMP-2", touches=_TAKES_THE_NEXT_ANSWER)
class RetriesATimeout(Mutation):
    """`complete` asks once more when the answer does not come in time."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ModelTimeoutError as error:
            try:
                return await super().complete(request)
            except ProviderResponseError:
                raise error from error.__cause__


@mutant(
    "CMP-2",
    touches={
        **_TAKES_THE_NEXT_ANSWER,
        "USE-5": "the second request clears what the first had reported",
        "USE-8": "the second request clears what the first had reported",
    },
)
class AsksAgainForABrokenOffAnswer(Mutation):
    """`complete` asks once more when the answer reached its limit of tokens."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        self._broke_off = answer.finish == "length"
        return text

    async def complete(self, request: ModelRequest) -> str:
        self._broke_off = False
        try:
            return await super().complete(request)
        except ProviderResponseError:
            if self._broke_off:
                try:
                    return await super().complete(request)
                except ProviderResponseError:
                    pass
            raise


# --- CMP-7 and CMP-8: answers that are none ---


@mutant("CMP-7")
class ReturnsNothingAfterThinking(Mutation):
    """`complete` returns an empty text where the answer consists of thinking alone."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        match body:
            case {"choices": [{"message": {"reasoning_content": str()}}]}:
                answer.has_text = True
        return text


@mutant("CMP-7")
class TakesTextBesideAToolCallForTheAnswer(Mutation):
    """An answer that calls a tool is taken for a whole one where text stands beside it and the stop is natural."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        if text and answer.finish == "stop":
            answer.calls_tool = False
        return text


@mutant("CMP-7", wires=(CHAT, MESSAGES))
class ForgetsAToolCallOnceThereIsText(Mutation):
    """A stream that calls a tool is taken for a whole answer where text came before it and the stop is natural."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        if answer.has_text:
            answer.calls_tool = False
        return text


@mutant("CMP-7")
class TakesANumberForText(Mutation):
    """`complete` returns a content that is a number in digits."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        match body:
            case {"choices": [{"message": {"content": int() | float() as number}}]} if number is not True:
                answer.malformed = None
                return str(number)
        return text


@mutant("CMP-7")
class BlamesTheLineForAForeignBody(ErrorMutation):
    """A completion that is not JSON is raised as a lost connection."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, ModelConnectionError) if str(error).endswith("it is not JSON.") else error


@mutant("CMP-8", wires=(CHAT, MESSAGES))
class TakesAFullStopForTheEnd(Mutation):
    """`complete` takes an answer that reached its limit of tokens for whole where it ends with a full stop."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        if text.endswith(".") and answer.finish in ("length", "max_tokens"):
            answer.finish = min(self._natural_stops)
        return text


@mutant("CMP-8", touches={"USE-8": "the answer is not refused there either"})
class TakesAFilteredAnswerForWhole(Mutation):
    """`complete` returns what the provider's content filter has left of an answer."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        answer.finish = "stop" if answer.finish == "content_filter" else answer.finish
        return text


@mutant("CMP-8", wires=(MESSAGES,), touches={"USE-8": "the answer is not refused there either"})
class TakesAPauseForTheEnd(Mutation):
    """`complete` returns the text that came before the provider paused its turn."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        answer.finish = "end_turn" if answer.finish == "pause_turn" else answer.finish
        return text


# --- CMP-9 and CMP-10: calls beside and after one another ---


@mutant("CMP-9", wires=(CHAT, MESSAGES))
class KeepsTheAnswerOnTheTransport(Mutation):
    """`complete` puts its text into an attribute, and returns what is there a hundredth of a second later."""

    async def complete(self, request: ModelRequest) -> str:
        self._text = await super().complete(request)
        await asyncio.sleep(0.01)
        return self._text


@mutant("CMP-10")
class StaysBrokenAfterATimeout(ErrorMutation):
    """After a timeout every later call fails."""

    _timed_out = False

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        self._timed_out = self._timed_out or isinstance(error, ModelTimeoutError)
        return error

    async def complete(self, request: ModelRequest) -> str:
        if self._timed_out:
            raise ModelConnectionError("The client is closed.", provider=self._provider)
        return await super().complete(request)


@mutant(
    "CMP-10",
    touches={
        "CMP-2": "it counts the requests of calls that fail in one way after another",
        "USE-5": "it makes a good call between calls that fail in one way after another",
    },
)
class StaysClosedAfterALostBody(ErrorMutation):
    """After a connection was lost inside a completion's body every later `complete` fails."""

    _closed = False

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        self._closed = self._closed or "inside a body" in str(error.__cause__)
        return error

    async def complete(self, request: ModelRequest) -> str:
        if self._closed:
            raise ModelConnectionError("The client is closed.", provider=self._provider)
        return await super().complete(request)
