"""FBK-14: a fallback differs from the first request in the output format alone, and the caller can see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang import Observability, TraceSink
from treelang_conformance.cases.fallback import PROGRAM, Evaluation, FallbackCase
from treelang_conformance.checks.fallback._differences import differences
from treelang_conformance.checks.fallback._situations import INVALID_JSON
from treelang_conformance.neutral import Answer
from treelang_conformance.provider.script import Script
from treelang_conformance.registry import BOTH, SuiteName, check
from treelang_conformance.violation import about

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "nothing-more": {},
    "a-temperature": {"temperature": 0.7},
    "no-temperature": {"temperature": None},
    "max-tokens": {"max_tokens": 321},
    "format-2.0": {"schema_version": "2.0", "temperature": 0.25, "max_tokens": 99},
}
_PROGRAM_2 = Answer.of('{"type": "program", "schema_version": "2.0", ', '"body": [{"type": "literal", "value": 1}]}')


@check(
    "FBK-14",
    suite=SuiteName.FALLBACK,
    modes=BOTH,
    over=_SETTINGS,
    hint="Build every request by the same steps: only the output format, and words for JSON, may be another.",
)
async def the_fallback_differs_in_the_output_format_alone(case: FallbackCase, settings: Mapping[str, Any]) -> None:
    """Byte for byte, the fallback is the first request with another output format."""
    program = _PROGRAM_2 if settings.get("schema_version") == "2.0" else PROGRAM
    evaluation = await case.evaluate(_rejection(case), program, config=case.config(**settings))
    _require_differing_in_output(case, evaluation, 0, 1)


@check("FBK-14", suite=SuiteName.FALLBACK, modes=BOTH, hint="Keep nothing of a call on the transport.")
async def the_fallback_of_a_retry_differs_in_the_output_format_alone(case: FallbackCase) -> None:
    """The same where strict output is rejected at a validation retry, after turns of the model's own."""
    evaluation = await case.evaluate(INVALID_JSON["prose"], _rejection(case), PROGRAM)
    _require_differing_in_output(case, evaluation, 1, 2)


@check(
    "FBK-14",
    suite=SuiteName.FALLBACK,
    modes=BOTH,
    hint="A transport that falls back by itself hides it: raise StructuredOutputUnsupportedError instead.",
)
async def the_caller_observes_the_fallback(case: FallbackCase) -> None:
    """The response and the events tell a fallback, and tell none where there was none."""
    rejected, accepted = (_rejection(case), PROGRAM), (PROGRAM,)
    for name, replies, fallbacks in (("a rejection", rejected, 1), ("no rejection", accepted, 0)):
        sink = _Names()
        evaluation = await case.evaluate(*replies, observability=Observability(sinks=[sink]))
        with about(name):
            response = evaluation.response
            case.require(response is not None, expected="a program", happened=str(evaluation.outcome))
            assert response is not None  # noqa: S101  # told to the type checker
            seen = sink.names.count("model.structured_output.fallback")
            case.require(
                (response.fell_back, seen) == (bool(fallbacks), fallbacks),
                expected=f"fell_back to be {bool(fallbacks)}, and as many events of a fallback: {fallbacks}",
                happened=f"fell_back is {response.fell_back}, and there came {seen} events",
            )
            case.require(
                response.attempts == len(evaluation.requests) == 1 + fallbacks,
                expected=f"{1 + fallbacks} requests, and as many attempts",
                happened=f"the provider received {len(evaluation.requests)}, and attempts is {response.attempts}",
            )


class _Names(TraceSink):
    """The names of the events that came."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def record(self, event: str, attributes: Mapping[str, Any]) -> None:
        self.names.append(event)


def _rejection(case: FallbackCase) -> Script:
    return case.wire.error(next(iter(case.wire.rejections().values())))


def _require_differing_in_output(case: FallbackCase, evaluation: Evaluation, first: int, second: int) -> None:
    case.require(
        len(evaluation.received) == second + 1,
        expected=f"{second + 1} requests",
        happened=f"the provider received {len(evaluation.received)}, and {evaluation.outcome}",
    )
    found = list(differences(case.wire, evaluation.received[first], evaluation.received[second]))
    case.require(
        not found, expected="a fallback that differs in the output format alone", happened=f"also {'; '.join(found)}"
    )
