"""Mutants of TOL: providers of the kit's described tools, of which each gets one thing wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from tests.conformance.mutants.mutation import mutant
from tests.conformance.support.described import DescribedTools
from treelang import ProviderResponseError, ToolDefinition, ToolExecutionError, ToolNotFoundError, ToolOutput
from treelang_conformance.hosting import HostedTool
from treelang_conformance.registry import SuiteName

M = TypeVar("M", bound=type[DescribedTools])


def provider_mutant(*clauses: str, **touches: str) -> Callable[[M], M]:
    """Register a mutant of the suite `tools`; clauses that it touches are written TOL_2="why"."""
    named = {clause.replace("_", "-"): reason for clause, reason in touches.items()}
    return mutant(*clauses, touches=named, suite=SuiteName.TOOLS)


# --- TOL-1: discovery ---


@provider_mutant("TOL-1")
class ListsTheLastToolTwice(DescribedTools):
    """The last tool stands twice in the listing."""

    async def list_tools(self) -> list[ToolDefinition]:
        listed = await super().list_tools()
        return [*listed, *listed[-1:]]


@provider_mutant("TOL-1")
class DescribesEveryTool(DescribedTools):
    """A tool without a description gets one that is made of its name."""

    def described(self, tool: HostedTool) -> dict[str, Any]:
        return {**super().described(tool), "description": tool.description or f"The tool {tool.name}."}


@provider_mutant("TOL-1", TOL_2="the order of properties is part of a schema", TOL_3="it looks at their order too")
class SortsProperties(DescribedTools):
    """The properties stand in alphabetical order."""

    def described(self, tool: HostedTool) -> dict[str, Any]:
        described = super().described(tool)
        match described:
            case {"input_schema": {"properties": dict() as properties}}:
                described["input_schema"] = {
                    **described["input_schema"],
                    "properties": dict(sorted(properties.items())),
                }
            case {"properties": dict() as properties}:
                described["properties"] = dict(sorted(properties.items()))
        return described


@provider_mutant("TOL-1")
class LooksUpNoDescription(DescribedTools):
    """A definition that is looked up has no description, though the listing has one."""

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        return (await super().get_tool_definition(name)).model_copy(update={"description": None})


@provider_mutant("TOL-1")
class LooksUpNothingForAnUnknownName(DescribedTools):
    """Looking up an unknown name gives `None`."""

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        try:
            return await super().get_tool_definition(name)
        except ToolNotFoundError:
            return None  # type: ignore[return-value]  # which is what is broken


@provider_mutant("TOL-1")
class FailsForAnUnknownName(DescribedTools):
    """A call of an unknown name is a failure of the tool."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await super().call_tool(name, arguments)
        except ToolNotFoundError as error:
            raise ToolExecutionError(f"the tool {name!r} failed") from error


@provider_mutant("TOL-1")
class KnowsNamesInAnyCase(DescribedTools):
    """A name is found whether or not its letters are capital ones."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        exact = next((known for known in self.tools if known.lower() == name.lower()), name)
        return await super().call_tool(exact, arguments)


# --- TOL-2: schemas ---

CONSTRAINTS_ARE_LOST = "what a schema no longer says, nothing is held against"


class SchemaMutation(DescribedTools):
    """A provider that describes input schemas differently."""

    def rewritten(self, schema: Any) -> Any:
        raise NotImplementedError

    def described(self, tool: HostedTool) -> dict[str, Any]:
        described = super().described(tool)
        if described.get("input_schema") is not None:
            described["input_schema"] = self.rewritten(described["input_schema"])
        return described


@provider_mutant("TOL-2", TOL_5=CONSTRAINTS_ARE_LOST)
class KeepsThreeKeywordsOfTheRoot(SchemaMutation):
    """Of the root of a schema `type`, `properties` and `required` are kept alone."""

    def rewritten(self, schema: Any) -> Any:
        if not isinstance(schema, Mapping) or "$ref" in json.dumps(schema, default=str):
            return schema
        return {name: schema[name] for name in ("type", "properties", "required") if name in schema}


@provider_mutant("TOL-2")
class DropsKeywordsOfItsOwn(SchemaMutation):
    """Keywords that JSON Schema does not know are left out of the root."""

    def rewritten(self, schema: Any) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        return {name: value for name, value in schema.items() if not str(name).startswith("x-")}


@provider_mutant("TOL-2")
class LeavesInvalidDefinitionsOut(DescribedTools):
    """A tool whose schema is invalid is missing in the listing, and nothing is said."""

    async def list_tools(self) -> list[ToolDefinition]:
        listed = []
        for tool in self.tools.values():
            try:
                listed.append(ToolDefinition.of(self.described(tool)))
            except ProviderResponseError:
                continue
        return listed


@provider_mutant("TOL-2")
class BuildsDefinitionsUnchecked(DescribedTools):
    """Definitions are built without a look at their schemas."""

    async def list_tools(self) -> list[ToolDefinition]:
        listed = []
        for tool in self.tools.values():
            described = self.described(tool)
            try:
                listed.append(ToolDefinition.of(described))
            except ProviderResponseError:
                listed.append(ToolDefinition.model_construct(**{**described, "properties": {}}))
        return listed


@provider_mutant("TOL-2")
class FetchesWhatASchemaRefersTo(SchemaMutation):
    """What a schema refers to by an address is fetched."""

    def rewritten(self, schema: Any) -> Any:
        if isinstance(schema, Mapping):
            address = schema.get("$ref")
            if isinstance(address, str) and address.startswith("http:"):
                self._fetch(address)
            return {name: self.rewritten(value) for name, value in schema.items()}
        if isinstance(schema, list):
            return [self.rewritten(item) for item in schema]
        return schema

    def _fetch(self, address: str) -> None:
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(address, timeout=1).close()  # noqa: S310  # of the loopback, and it is the fault


# --- TOL-3: properties alone ---


@provider_mutant("TOL-3")
class LeavesPropertiesOptional(DescribedTools):
    """A tool that is described by its properties alone requires none of them."""

    def described(self, tool: HostedTool) -> dict[str, Any]:
        described = super().described(tool)
        if tool.input_schema is None:
            schema = {"type": "object", "properties": dict(tool.properties), "additionalProperties": False}
            return {**described, "input_schema": schema}
        return described


@provider_mutant("TOL-3")
class AllowsFurtherArguments(DescribedTools):
    """A tool that is described by its properties alone takes others besides."""

    def described(self, tool: HostedTool) -> dict[str, Any]:
        described = super().described(tool)
        if tool.input_schema is None:
            properties = dict(tool.properties)
            schema = {"type": "object", "properties": properties, "required": list(properties)}
            return {**described, "input_schema": schema}
        return described


# --- TOL-4: calls ---


@provider_mutant("TOL-4")
class GivesTheBareValue(DescribedTools):
    """A call gives what the tool gave, without a `ToolOutput` around it."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        bare: ToolOutput = (await super().call_tool(name, arguments)).content
        return bare


@provider_mutant("TOL-4")
class TurnsEveryResultIntoText(DescribedTools):
    """What a tool gives is turned into text."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        content = (await super().call_tool(name, arguments)).content
        return ToolOutput(content=content if isinstance(content, str) else json.dumps(content))


@provider_mutant("TOL-4")
class RaisesWhatTheToolRaises(DescribedTools):
    """A tool's failure leaves the provider as the tool raised it."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await super().call_tool(name, arguments)
        except ToolExecutionError as error:
            if error.__cause__ is not None:
                raise error.__cause__ from None
            raise


@provider_mutant("TOL-4")
class LosesTheCause(DescribedTools):
    """The error for a tool's failure has no cause."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await super().call_tool(name, arguments)
        except ToolExecutionError as error:
            raise ToolExecutionError(str(error)) from None


@provider_mutant("TOL-4", TOL_7="the failure of a neighbour is one of its ends")
class ReturnsFailures(DescribedTools):
    """A tool's failure is returned as if it were a result."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await super().call_tool(name, arguments)
        except ToolExecutionError as error:
            return ToolOutput(content={"error": str(error)})


@provider_mutant("TOL-4", TOL_7="the cancellation of a neighbour is one of its ends")
class TurnsACancellationIntoAFailure(DescribedTools):
    """A call that is cancelled ends as a failure of the tool."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await super().call_tool(name, arguments)
        except asyncio.CancelledError as error:
            raise ToolExecutionError(f"the tool {name!r} was cancelled") from error


@provider_mutant("TOL-4")
class LosesTheMessageOfACancellation(DescribedTools):
    """A call that is cancelled ends in another `CancelledError`, without the message."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return await super().call_tool(name, arguments)
        except asyncio.CancelledError:
            raise asyncio.CancelledError from None


@provider_mutant("TOL-4")
class PassesNumbersAsText(DescribedTools):
    """A tool gets whole numbers as text."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        passed = {key: str(value) if type(value) is int else value for key, value in arguments.items()}
        return await super().call_tool(name, passed)


# --- TOL-5: invalid arguments ---


class ValidatingMutation(DescribedTools):
    """A provider that looks at arguments itself, and names what it sees."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if name in self.tools:
            schema = self.tools[name].input_schema or {}
            properties = schema.get("properties", {}) if schema else self.tools[name].properties
            for key, value in arguments.items():
                kind = properties.get(key, {}).get("type") if isinstance(properties.get(key), Mapping) else None
                if (kind == "integer" and isinstance(value, str)) or (kind == "string" and isinstance(value, int)):
                    await self.refuse(name, arguments, key)
        return await super().call_tool(name, arguments)

    async def refuse(self, name: str, arguments: dict[str, Any], key: str) -> None:
        raise NotImplementedError


@provider_mutant("TOL-5")
class QuotesTheArgumentThatItRefuses(ValidatingMutation):
    """Called directly, it refuses an argument and quotes it in the error."""

    async def refuse(self, name: str, arguments: dict[str, Any], key: str) -> None:
        raise ToolExecutionError(f"the tool {name!r} takes no {key}={arguments[key]!r}")


@provider_mutant("TOL-5")
class CallsBeforeItRefuses(ValidatingMutation):
    """Called directly, it calls the tool with invalid arguments and refuses them afterwards."""

    async def refuse(self, name: str, arguments: dict[str, Any], key: str) -> None:
        await DescribedTools.call_tool(self, name, arguments)
        raise ToolExecutionError(f"the tool {name!r} refuses its arguments: at {key!r} the constraint 'type' is broken")


# --- TOL-6: defaults ---


@provider_mutant("TOL-6")
class InjectsDefaults(DescribedTools):
    """An argument that is left out is passed with the default of its schema."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        defaults: dict[str, Any] = {}
        if name in self.tools:
            properties = (self.tools[name].input_schema or {}).get("properties", {})
            defaults = {
                key: one["default"] for key, one in properties.items() if isinstance(one, Mapping) and "default" in one
            }
        return await super().call_tool(name, {**defaults, **arguments})


@provider_mutant("TOL-6", TOL_2="a schema without its annotations is not whole")
class TakesDefaultsOutOfTheSchema(SchemaMutation):
    """The defaults in a schema are not told."""

    def rewritten(self, schema: Any) -> Any:
        match schema:
            case {"properties": dict() as properties}:
                bare = {
                    name: {key: value for key, value in one.items() if key != "default"}
                    if isinstance(one, dict)
                    else one
                    for name, one in properties.items()
                }
                return {**schema, "properties": bare}
        return schema


# --- TOL-7: concurrency ---


@provider_mutant("TOL-7")
class CallsOneAfterTheOther(DescribedTools):
    """A call waits until the one before it is over."""

    def __init__(self, tools: Sequence[HostedTool]) -> None:
        super().__init__(tools)
        self._lock = asyncio.Lock()

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        async with self._lock:
            return await super().call_tool(name, arguments)


@provider_mutant("TOL-7")
class KeepsTheArgumentsOnTheProvider(DescribedTools):
    """A call is made with whatever arguments the provider was given last."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self._arguments = arguments
        await asyncio.sleep(0)
        return await super().call_tool(name, self._arguments)


@provider_mutant("TOL-7")
class FailsTogether(DescribedTools):
    """The failure of one call ends all that run beside it."""

    def __init__(self, tools: Sequence[HostedTool]) -> None:
        super().__init__(tools)
        self._running: set[asyncio.Task[ToolOutput]] = set()

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        call: Awaitable[ToolOutput] = super().call_tool(name, arguments)
        task = asyncio.ensure_future(call)
        self._running.add(task)
        try:
            return await task
        except ToolExecutionError:
            for other in self._running - {task}:
                other.cancel()
            raise
        finally:
            self._running.discard(task)
