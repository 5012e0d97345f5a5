"""Providers of tools with one thing broken each."""

from __future__ import annotations

import asyncio
import copy
import urllib.request
from collections.abc import Sequence
from typing import Any

import jsonschema

from tests.conformance.mutants.mutation import mutant
from tests.conformance.support.tools import PlainToolProvider
from treelang import (
    InvalidToolArgumentsError,
    ToolDefinition,
    ToolExecutionError,
    ToolNotFoundError,
    ToolOutput,
)
from treelang_conformance.hosting import HostedTool, closed
from treelang_conformance.registry import SuiteName

TOOLS = SuiteName.TOOLS


class SchemaMutation(PlainToolProvider):
    """A provider that changes what a tool says of its arguments."""

    def changed(self, schema: dict[str, Any]) -> Any:
        """The schema to list, of a copy of the tool's own."""
        raise NotImplementedError

    def metadata(self, tool: HostedTool) -> Any:
        metadata = super().metadata(tool)
        if tool.input_schema is not None:
            metadata["input_schema"] = self.changed(copy.deepcopy(dict(tool.input_schema)))
        return metadata


# --- discovery ---


@mutant("TOL-1", suite=TOOLS)
class ListsAToolTwice(PlainToolProvider):
    """The second listing has its first tool twice."""

    listings = 0

    async def list_tools(self) -> list[ToolDefinition]:
        self.listings += 1
        found = await super().list_tools()
        return found + found[:1] if self.listings == 2 and len(found) > 3 else found


@mutant("TOL-1", suite=TOOLS)
class StripsNames(PlainToolProvider):
    """A name with space around it finds the tool of the name without."""

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        return await super().get_tool_definition(name.strip())

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        return await super().call_tool(name.strip(), arguments)


@mutant("TOL-1", suite=TOOLS)
class RaisesKeyErrorForUnknownNames(PlainToolProvider):
    """A call of an unknown name raises `KeyError`."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self.tools[name]
        return await super().call_tool(name, arguments)


@mutant("TOL-1", suite=TOOLS)
class KeepsTheFirstLineOfADescription(PlainToolProvider):
    """A description is cut after its first line."""

    def metadata(self, tool: HostedTool) -> Any:
        return super().metadata(tool) | {"description": tool.description and tool.description.split("\n")[0]}


@mutant("TOL-1", suite=TOOLS)
class DescribesWhatHasNoDescription(PlainToolProvider):
    """A tool without a description gets its name as one."""

    def metadata(self, tool: HostedTool) -> Any:
        return super().metadata(tool) | {"description": tool.description or tool.name}


@mutant("TOL-1", suite=TOOLS, touches={"TOL-2": "a schema that is kept has its properties in order"})
class SortsProperties(SchemaMutation):
    """The properties are sorted by the alphabet."""

    def changed(self, schema: dict[str, Any]) -> Any:
        if isinstance(schema.get("properties"), dict):
            schema["properties"] = dict(sorted(schema["properties"].items()))
        return schema


# --- schemas ---


@mutant("TOL-2", suite=TOOLS)
class DropsUnknownKeywords(SchemaMutation):
    """Keywords of the tool's own are left out at the root of the schema."""

    def changed(self, schema: dict[str, Any]) -> Any:
        return {name: value for name, value in schema.items() if not name.startswith("x-")}


@mutant("TOL-2", suite=TOOLS)
class SkipsInvalidTools(PlainToolProvider):
    """A tool whose definition is invalid is left out."""

    async def list_tools(self) -> list[ToolDefinition]:
        found = []
        for tool in self.tools.values():
            try:
                found.append(ToolDefinition.of(self.metadata(tool)))
            except Exception:  # noqa: S112 - that is what is broken
                continue
        return found


@mutant("TOL-2", suite=TOOLS)
class FetchesReferences(SchemaMutation):
    """An address in a schema is fetched before the schema is judged."""

    def changed(self, schema: dict[str, Any]) -> Any:
        for one in schema["properties"].values() if isinstance(schema.get("properties"), dict) else ():
            if isinstance(one, dict) and str(one.get("$ref")).startswith("http:"):
                urllib.request.urlopen(one["$ref"]).close()  # noqa: S310 - that is what is broken
        return schema


# --- properties alone ---


class PropertiesMutation(PlainToolProvider):
    """A provider that lists properties alone as a schema with another meaning."""

    left_out = ""
    """The keyword that the schema lacks."""

    def metadata(self, tool: HostedTool) -> Any:
        metadata = super().metadata(tool)
        if tool.input_schema is None:
            metadata["input_schema"] = {
                name: value for name, value in closed(tool.properties).items() if name != self.left_out
            }
        return metadata


@mutant("TOL-3", suite=TOOLS)
class MakesPropertiesOptional(PropertiesMutation):
    """Properties alone are listed as a schema that requires none of them."""

    left_out = "required"


@mutant("TOL-3", suite=TOOLS)
class LeavesPropertiesOpen(PropertiesMutation):
    """Properties alone are listed as a schema that allows others."""

    left_out = "additionalProperties"


# --- calls ---


class CallMutation(PlainToolProvider):
    """A provider that breaks what becomes of a call that has found its tool."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if name not in self.tools:
            raise ToolNotFoundError(f"there is no tool {name!r}")
        return await self.use(self.tools[name], arguments)

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        """Call the tool in the broken way."""
        raise NotImplementedError


@mutant("TOL-4", suite=TOOLS)
class LetsTimeoutsOfToolsPass(CallMutation):
    """A `TimeoutError` of a tool passes as it is."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await PlainToolProvider.call_tool(self, tool.name, arguments)
        except ToolExecutionError as error:
            if isinstance(error.__cause__, TimeoutError):
                raise error.__cause__ from None
            raise


@mutant("TOL-4", suite=TOOLS)
class LosesTheCause(CallMutation):
    """The error of a failed call has no cause."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await PlainToolProvider.call_tool(self, tool.name, arguments)
        except ToolExecutionError as error:
            raise ToolExecutionError(str(error)) from None


@mutant("TOL-4", suite=TOOLS)
class GivesResultsAsText(CallMutation):
    """A result that is a boolean is given as text."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        output = await PlainToolProvider.call_tool(self, tool.name, arguments)
        return ToolOutput(content=str(output.content)) if isinstance(output.content, bool) else output


@mutant("TOL-4", suite=TOOLS)
class ShieldsTools(CallMutation):
    """The tool of a cancelled call goes on."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        return await asyncio.shield(asyncio.create_task(PlainToolProvider.call_tool(self, tool.name, arguments)))


@mutant("TOL-4", suite=TOOLS)
class TakesACancellationForAFailure(CallMutation):
    """A cancelled call raises `ToolExecutionError`."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await PlainToolProvider.call_tool(self, tool.name, arguments)
        except asyncio.CancelledError as error:
            raise ToolExecutionError("the tool was cancelled") from error


# --- arguments ---


@mutant("TOL-5", suite=TOOLS)
class QuotesRefusedValues(CallMutation):
    """A call with invalid arguments is refused in words that quote them."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        try:
            jsonschema.validate(arguments, tool.input_schema or {})
        except jsonschema.ValidationError as error:
            raise InvalidToolArgumentsError(
                f"{tool.name}: {error.json_path}: {error.validator}: {error.message}"
            ) from None
        return await PlainToolProvider.call_tool(self, tool.name, arguments)


@mutant("TOL-5", suite=TOOLS)
class RefusesTooLate(CallMutation):
    """Invalid arguments are refused when the tool has been called."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        output = await PlainToolProvider.call_tool(self, tool.name, arguments)
        for error in jsonschema.Draft202012Validator(tool.input_schema or {}).iter_errors(arguments):
            raise InvalidToolArgumentsError(f"{tool.name}: {error.json_path}: {error.validator}")
        return output


@mutant("TOL-5", suite=TOOLS)
class RefusesWithoutAReason(CallMutation):
    """Invalid arguments are refused without a word on what is wrong."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        if not jsonschema.Draft202012Validator(tool.input_schema or {}).is_valid(arguments):
            raise InvalidToolArgumentsError("invalid arguments")
        return await PlainToolProvider.call_tool(self, tool.name, arguments)


# --- defaults ---


@mutant("TOL-6", suite=TOOLS)
class InjectsDefaults(CallMutation):
    """Arguments that are left out get their defaults."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        properties = (tool.input_schema or {}).get("properties", {})
        defaults = {
            name: one["default"] for name, one in properties.items() if isinstance(one, dict) and "default" in one
        }
        return await PlainToolProvider.call_tool(self, tool.name, defaults | arguments)


@mutant("TOL-6", suite=TOOLS)
class InjectsDefaultsInsideObjects(CallMutation):
    """Defaults are added inside of the objects that are given."""

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        given = dict(arguments)
        for name, one in (tool.input_schema or {}).get("properties", {}).items():
            inner = one.get("properties", {}) if isinstance(one, dict) else {}
            defaults = {key: schema["default"] for key, schema in inner.items() if "default" in schema}
            if defaults and isinstance(given.get(name), dict):
                given[name] = defaults | given[name]
        return await PlainToolProvider.call_tool(self, tool.name, given)


# --- calls beside each other ---


@mutant("TOL-7", suite=TOOLS)
class CallsOneAtATime(CallMutation):
    """A call waits until the one before it is over."""

    def __init__(self, tools: Sequence[HostedTool]) -> None:
        super().__init__(tools)
        self._lock = asyncio.Lock()

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        async with self._lock:
            return await PlainToolProvider.call_tool(self, tool.name, arguments)


@mutant("TOL-7", suite=TOOLS)
class KeepsArgumentsOnTheProvider(PlainToolProvider):
    """A call takes its turn with whatever arguments the provider was given last."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self._arguments = arguments
        await asyncio.sleep(0)
        return await super().call_tool(name, self._arguments)


@mutant("TOL-7", suite=TOOLS)
class KeepsTheLastCallsArguments(CallMutation):
    """The result of a call is kept on the provider until the call returns, where a later one puts its own."""

    _begun = 0

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        self._begun += 1
        mine = self._begun
        output = await PlainToolProvider.call_tool(self, tool.name, arguments)
        if mine == self._begun:
            self._last = output
        return getattr(self, "_last", output) if mine < self._begun else output


@mutant("TOL-7", suite=TOOLS)
class JoinsEqualCalls(CallMutation):
    """A call that equals one under way shares its result and does not reach the tool."""

    def __init__(self, tools: Sequence[HostedTool]) -> None:
        super().__init__(tools)
        self._under_way: dict[str, list[asyncio.Future[None]]] = {}

    async def use(self, tool: HostedTool, arguments: dict[str, Any]) -> ToolOutput:
        key = f"{tool.name} {arguments!r}"
        if key in self._under_way:
            self._under_way[key].append(waiting := asyncio.get_running_loop().create_future())
            await waiting
            return ToolOutput(content=f"the answer to {arguments['name']}")
        self._under_way[key] = []
        try:
            await asyncio.sleep(0)
            return await PlainToolProvider.call_tool(self, tool.name, arguments)
        finally:
            for waiting in self._under_way.pop(key):
                waiting.set_result(None)
