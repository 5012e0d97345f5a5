"""CMP-6: what no wire can express is refused before anything is sent."""

from __future__ import annotations

from typing import Any

from treelang import TreelangError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import ANSWER
from treelang_conformance.outcome import Outcome, shortened
from treelang_conformance.registry import BOTH, check
from treelang_conformance.violation import about

_FUNCTION = {"name": "measure", "description": "Measure.", "parameters": {"type": "object", "properties": {}}}


def _tool(**changes: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {**_FUNCTION, **changes}}]}


def _message(message: Any) -> dict[str, Any]:
    return {"messages": [message]}


def _schema(schema: Any) -> dict[str, Any]:
    strict = {"name": "tree", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": strict}}


_INEXPRESSIBLE: dict[str, dict[str, dict[str, Any]]] = {
    "model": {"none": {"model": None}, "a number": {"model": 7}},
    "messages": {
        "none": {"messages": None},
        "an empty list": {"messages": []},
        "a text": {"messages": "Which tree is the tallest?"},
        "a text as a message": _message("Which tree is the tallest?"),
    },
    "role": {
        "an unknown one": _message({"role": "wizard", "content": "Which tree is the tallest?"}),
        "none": _message({"content": "Which tree is the tallest?"}),
    },
    "content": {"none": _message({"role": "user"}), "a number": _message({"role": "user", "content": 7})},
    "tools": {
        "an object": {"tools": {"measure": {}}},
        "a text as a tool": {"tools": ["measure"]},
        "a tool without a function": {"tools": [{"type": "function"}]},
        "a tool without a name": _tool(name=None),
        "a text as parameters": _tool(parameters="object"),
    },
    "response_format": {
        "a text": {"response_format": "json"},
        "an unknown type": {"response_format": {"type": "verse"}},
        "no schema": {"response_format": {"type": "json_schema"}},
        "a text as a schema": _schema("object"),
    },
}
"""By the field that the error has to name: changes that make a sound request one that no wire can express."""


@check(
    "CMP-6",
    modes=BOTH,
    over={name: (name, rows) for name, rows in _INEXPRESSIBLE.items()},
    hint="Check the whole request before the SDK sees it, and name the field that is wrong in the error's text.",
)
async def a_malformed_request_is_refused_unsent(case: Case, field: tuple[str, dict[str, dict[str, Any]]]) -> None:
    """A request with a field that no wire can express raises an error that names the field, and nothing is sent."""
    name, rows = field
    for what, changes in rows.items():
        request = {key: value for key, value in case.request(**changes).items() if value is not None}
        case.answers(ANSWER)
        with about(f"{what} in {name!r}"):
            outcome = await case.call(request)
            sent = len(case.provider.requests)
            case.require(sent == 0, expected="nothing to be sent", happened=f"the provider received {sent} request(s)")
            _require_clear(case, outcome, name)


def _require_clear(case: Case, outcome: Outcome, field: str) -> None:
    error = case.require_error(outcome, Exception)
    case.require(
        isinstance(error, TreelangError | ValueError | TypeError) and field.rstrip("s") in str(error),
        expected=f"a ValueError, TypeError or treelang error whose text names {field!r}",
        happened=f"{outcome} with the text {shortened(str(error))}",
    )


@check("CMP-6", modes=BOTH, hint="A refused request must leave the transport as it was.")
async def a_sound_request_follows_a_refused_one(case: Case) -> None:
    """After a malformed request was refused, a sound one is served."""
    case.answers(ANSWER)
    await case.call({"model": case.wire.model})
    case.require_text(await case.call(), ANSWER.text)
