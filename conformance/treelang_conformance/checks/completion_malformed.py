"""CMP-6: what no wire can express is refused before anything is sent."""

from __future__ import annotations

from typing import Any

from treelang import TreelangError
from treelang_conformance.case import Case
from treelang_conformance.neutral import Answer
from treelang_conformance.outcome import shortened
from treelang_conformance.registry import BOTH, check

_ANSWER = Answer.of("A ", "redwood.")

_FUNCTION = {"name": "measure", "description": "Measure.", "parameters": {"type": "object", "properties": {}}}
_INEXPRESSIBLE: dict[str, tuple[str, dict[str, Any]]] = {
    "no-model": ("model", {"model": None}),
    "model-of-another-type": ("model", {"model": 7}),
    "no-messages": ("messages", {"messages": None}),
    "messages-of-another-type": ("messages", {"messages": "Which tree is the tallest?"}),
    "message-of-another-type": ("messages", {"messages": ["Which tree is the tallest?"]}),
    "unknown-role": ("role", {"messages": [{"role": "wizard", "content": "Which tree is the tallest?"}]}),
    "no-role": ("role", {"messages": [{"content": "Which tree is the tallest?"}]}),
    "no-content": ("content", {"messages": [{"role": "user"}]}),
    "tools-of-another-type": ("tools", {"tools": {"measure": {}}}),
    "tool-of-another-type": ("tools", {"tools": ["measure"]}),
    "tool-without-function": ("tools", {"tools": [{"type": "function"}]}),
    "tool-without-name": ("tools", {"tools": [{"type": "function", "function": {**_FUNCTION, "name": None}}]}),
    "tool-with-malformed-parameters": (
        "tools",
        {"tools": [{"type": "function", "function": {**_FUNCTION, "parameters": "object"}}]},
    ),
    "unknown-format": ("response_format", {"response_format": {"type": "verse"}}),
    "format-of-another-type": ("response_format", {"response_format": "json"}),
    "format-without-schema": ("response_format", {"response_format": {"type": "json_schema"}}),
    "malformed-schema": (
        "response_format",
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "tree", "strict": True, "schema": "object"},
            }
        },
    ),
}
"""The field that the error has to name, and the change that makes a sound request one that no wire can express."""


@check(
    "CMP-6",
    modes=BOTH,
    over=_INEXPRESSIBLE,
    hint="Check the whole request before the SDK sees it, and name the field that is wrong in the error's text.",
)
async def a_malformed_request_is_refused_unsent(case: Case, row: tuple[str, dict[str, Any]]) -> None:
    """A request that no wire can express raises an error that names the field, and nothing is sent."""
    field, changes = row
    request = {key: value for key, value in case.request(**changes).items() if value is not None}
    case.answers(_ANSWER)
    outcome = await case.call(request)
    sent = len(case.provider.requests)
    case.require(sent == 0, expected="nothing to be sent", happened=f"the provider received {sent} request(s)")
    error = case.require_error(outcome, Exception)
    case.require(
        isinstance(error, TreelangError | ValueError | TypeError) and field.rstrip("s") in str(error),
        expected=f"a ValueError, TypeError or treelang error whose text names {field!r}",
        happened=f"{outcome} with the text {shortened(str(error))}",
    )


@check("CMP-6", modes=BOTH, hint="A refused request must leave the transport as it was.")
async def a_sound_request_follows_a_refused_one(case: Case) -> None:
    """After a malformed request was refused, a sound one is served."""
    case.answers(_ANSWER)
    await case.call({"model": case.wire.model})
    case.require_text(await case.call(), _ANSWER.text)
