"""A tool as the kit describes it, for the factory of a tool provider to host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treelang_conformance.violation import NotApplicable


def closed(properties: Mapping[str, Any], **further: Any) -> dict[str, Any]:
    """The schema that properties alone stand for (TOL-3): all of them are required, and no other is allowed.

    Args:
        properties: The schema of each argument by name.
        further: Further keywords of the root.
    """
    required = {"required": list(properties)} if properties else {}
    return {"type": "object", "properties": dict(properties), **required, "additionalProperties": False, **further}


async def _answer(_: dict[str, Any]) -> Any:
    return "115.9 m"


def simple_tool(call: Callable[[dict[str, Any]], Awaitable[Any]] = _answer) -> HostedTool:
    """A tool that every provider has to have room for: it takes a text, which is required, and nothing else."""
    return HostedTool("measure", "The height of a tree.", closed({"tree": {"type": "string"}}), {}, call)


class CannotHost(NotApplicable):  # an outcome, not an error
    """Raised by a factory that cannot host a described tool; the checks that need it do not apply.

    Functions, for instance, have no room for an input schema beyond their parameters.
    """


@dataclass(frozen=True, slots=True)
class HostedTool:
    """One tool that a provider under test is to offer.

    Attributes:
        name: The tool's name.
        description: What it does; `None` for a tool without a description.
        input_schema: The whole JSON Schema of its arguments (Draft 2020-12), not necessarily a valid one; `None` for a
            tool that is described by its properties alone.
        properties: The JSON Schema of each argument by name, in order; only where `input_schema` is `None`.
        call: What the tool does: `await tool.call(arguments)` with the arguments as they arrived, unchanged, in a
            `dict`. It returns a JSON value, or raises, and what it raises is the tool's failure.
    """

    name: str
    description: str | None
    input_schema: Mapping[str, Any] | None
    properties: Mapping[str, Any]
    call: Callable[[dict[str, Any]], Awaitable[Any]]
