"""Property checks against transports with a fault that only odd examples show: what is printed, and its replay."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator

import pytest

from tests.conformance.support import plain
from treelang import ModelCapabilities, ModelRequest, ProviderResponseError
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.execution import Executor
from treelang_conformance.registry import judging_checks
from treelang_conformance.report import CheckOutcome, FailureDetails
from treelang_conformance.subject import Subject
from treelang_conformance.wires.discovery import find_wire


class Normalising(plain.PlainChatTransport):
    """Takes one odd line end for LF."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        async for text in super().stream(request):
            yield text.replace("\u2028", "\n")


class Particular(plain.PlainChatTransport):
    """Takes every name for ASCII."""

    def capabilities(self, model: str) -> ModelCapabilities:
        return ModelCapabilities(temperature=model.encode("ascii").startswith(b"gpt"))


class Unguarded(plain.PlainChatTransport):
    """Lets what its reading of an answer trips over out as it is."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ProviderResponseError as error:
            raise KeyError("choices") from error


CUT_ANYWHERE = "STR-3/any-text-cut-anywhere-comes-whole[stream]"
ANY_NAME = "CAP-1/any-name-has-capabilities"
ANY_JSON = "ERR-10/any-json-anywhere-lets-no-foreign-error-out[complete]"
ANY_BYTE = "ERR-10/any-odd-byte-lets-no-foreign-error-out[complete]"


def failure_of(kind: type[plain.PlainChatTransport], check_id: str, seed: int) -> FailureDetails:
    def make(endpoint: Endpoint) -> plain.PlainChatTransport:
        return kind(endpoint.url, endpoint.api_key, endpoint.timeout)

    [check] = [check for check in judging_checks() if check.id == check_id]
    result = Executor(Subject(make), find_wire("openai-chat"), seed=seed).run(check)
    assert result.outcome is CheckOutcome.FAILED, result
    assert result.failure
    return result.failure


@pytest.mark.parametrize("seed", [0, 5])
def test_a_failing_example_is_printed_small_and_with_its_seed(seed: int) -> None:
    happened = failure_of(Normalising, CUT_ANYWHERE, seed).happened
    shown = re.match(rf"with the example (.+) \(of --seed {seed}\), the call ended normally", happened)
    assert shown, happened
    parts, cuts, _ = ast.literal_eval(shown[1])
    text = "".join(parts)
    assert "\u2028" in text
    assert len(text) <= 12
    assert cuts == []


def test_the_same_seed_finds_the_same_example_again() -> None:
    first, again, other = (failure_of(Particular, ANY_NAME, seed).happened for seed in (0, 0, 5))
    assert first == again
    assert "(of --seed 5)" in other


@pytest.mark.parametrize("check_id", [ANY_JSON, ANY_BYTE])
def test_a_bent_reply_is_told_in_words_and_with_its_seed(check_id: str) -> None:
    happened = failure_of(Unguarded, check_id, 5).happened
    told = r"with the example .+ (of|in) a plain answer \(of --seed 5\), the call raised KeyError"
    assert re.match(told, happened), happened
