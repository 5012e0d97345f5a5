"""How the checks use a provider: every use bounded, every definition normalised, every end told as a value."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treelang import AST, ExecutionLimits, ToolDefinition, ToolOutput, ToolProvider
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.waiting import raised_in


@dataclass(frozen=True, slots=True)
class Ended:
    """How a use of a provider ended.

    Attributes:
        value: What it gave; `None` where it raised.
        error: What it raised.
    """

    value: Any = None
    error: Exception | None = None

    def __str__(self) -> str:
        """What happened, as a clause; an error is named by its type, for its text may hold what no report may show."""
        if self.error is None:
            return f"it gave {shortened(self.value)}"
        own = raised_in(self.error)
        return f"it raised {type_name(self.error)}" + (f" at {own}" if own else "")


async def listed(case: ToolsCase, provider: ToolProvider) -> list[ToolDefinition]:
    """The tools in the order of the listing, normalised as treelang normalises what providers give."""
    with case.bounded("listing the tools"):
        found = await awaited(case, "list_tools()", provider.list_tools())
    case.require(
        isinstance(found, list | tuple),
        expected="list_tools() to give a list of definitions",
        happened=f"it gave {shortened(found)}",
    )
    return [ToolDefinition.of(metadata) for metadata in found]


async def only_one(case: ToolsCase, provider: ToolProvider) -> ToolDefinition:
    """The one tool that is hosted, as the listing has it."""
    found = await listed(case, provider)
    case.require(
        len(found) == 1,
        expected="a listing of the one tool",
        happened=f"it lists {[definition.name for definition in found]}",
    )
    return found[0]


async def looked_up(case: ToolsCase, provider: ToolProvider, name: str) -> ToolDefinition:
    """One tool, normalised."""
    with case.bounded("a look-up"):
        return ToolDefinition.of(await awaited(case, "get_tool_definition()", provider.get_tool_definition(name)))


async def awaited(case: ToolsCase, call: str, made: object) -> Any:
    """What a call of the provider's comes to; one that nobody can await is a violation."""
    case.require(
        inspect.isawaitable(made),
        expected=f"{call} to be awaited",
        happened=f"it gave {shortened(made)}",
        hint="The methods of a tool provider are `async def`, with `return` and not `yield`.",
    )
    assert inspect.isawaitable(made)  # noqa: S101  # told to the type checker
    return await made


async def called(case: ToolsCase, provider: ToolProvider, name: str, arguments: dict[str, Any]) -> Ended:
    """A direct call of a tool."""
    with case.bounded("a call"):
        try:
            return Ended(await provider.call_tool(name, arguments))
        except Exception as error:
            return Ended(error=error)


async def require_content(
    case: ToolsCase, provider: ToolProvider, name: str, arguments: dict[str, Any], content: Any
) -> None:
    """Call a tool, and require this content of its output."""
    require_output(case, await called(case, provider, name, arguments), content)


def require_output(case: ToolsCase, ended: Ended, content: Any) -> None:
    """Require that a call gave a `ToolOutput` with this content."""
    case.require(
        isinstance(ended.value, ToolOutput),
        expected=f"a ToolOutput with {shortened(content)}",
        happened=str(ended),
        hint="Return ToolOutput(content=...) with the value itself, whatever its type.",
    )
    case.require(
        is_same_json(content, ended.value.content),
        expected=f"{shortened(content)} as the content",
        happened=f"the content is {shortened(ended.value.content)}",
    )


async def evaluated(
    case: ToolsCase,
    provider: ToolProvider,
    tool: str,
    arguments: Mapping[str, Any],
    limits: ExecutionLimits | None = None,
) -> Ended:
    """Run a program that does nothing but call a tool."""
    with case.bounded("a program of one call"):
        try:
            return Ended(await AST.eval(AST.parse(program(tool_call(tool, arguments))), provider, limits))
        except Exception as error:
            return Ended(error=error)


def tool_call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The expression of a program that calls a tool with constants."""
    constants = {name: {"type": "literal", "value": value} for name, value in arguments.items()}
    return {"type": "tool_call", "tool": tool, "arguments": constants}


def program(expression: dict[str, Any]) -> dict[str, Any]:
    """A program of one expression."""
    return {"type": "program", "schema_version": "2.0", "definitions": [], "body": [expression]}


def is_same_json(sent: Any, arrived: Any) -> bool:
    """Whether a value is the same in JSON, and no whole number has become a fraction on its way.

    A number is no boolean. That 1.0 arrives as 1 is allowed, for JSON has one kind of number; that 1 arrives as 1.0 is
    not, for a tool in Python then cannot count with it.
    """
    if isinstance(sent, Mapping):
        return (
            isinstance(arrived, Mapping)
            and sent.keys() == arrived.keys()
            and all(is_same_json(value, arrived[name]) for name, value in sent.items())
        )
    if isinstance(sent, list | tuple):
        return isinstance(arrived, list | tuple) and len(sent) == len(arrived) and all(map(is_same_json, sent, arrived))
    if isinstance(sent, bool) or sent is None or isinstance(sent, str):
        return type(sent) is type(arrived) and bool(sent == arrived)
    kinds = (int,) if isinstance(sent, int) else (int, float)
    return isinstance(arrived, kinds) and not isinstance(arrived, bool) and bool(sent == arrived)
