"""Described tools as Python functions."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import WithJsonSchema
from pydantic.errors import PydanticUserError

from treelang import FunctionToolProvider, ToolProvider
from treelang.tools.definition import ToolDefinition
from treelang_conformance.hosting import CannotHost, HostedTool

_LEFT_OUT = object()
"""The default of parameters that may be left out: JSON cannot hold it, so the schema that is read names none."""


class _OwnSchema(WithJsonSchema):
    """A schema for one hint alone.

    `typing` gives equal hints as one object, and takes `{"const": True}` for equal to `{"const": 1}`.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__


async def host(tools: Sequence[HostedTool]) -> ToolProvider:
    """A provider of functions that do what the tools do.

    Raises:
        CannotHost: A schema says what the parameters of a function cannot say.
        ProviderResponseError: The schema of an argument is invalid.
    """
    provider = FunctionToolProvider()
    for tool in tools:
        try:
            provider.add(_as_function(tool), name=tool.name, description=tool.description)
        except (TypeError, ValueError, KeyError, PydanticUserError) as error:
            raise CannotHost(f"no function has such parameters: {type(error).__name__}") from error
    for tool, definition in zip(tools, await provider.list_tools(), strict=True):
        if tool.input_schema is not None and not _says(definition, tool.input_schema):
            raise CannotHost("the parameters of a function cannot say the whole of this input schema")
    return provider


def _as_function(tool: HostedTool) -> Any:
    schema: Mapping[str, Any] = tool.input_schema if tool.input_schema is not None else {}
    properties = schema.get("properties", {}) if tool.input_schema is not None else tool.properties
    required = schema.get("required", ()) if tool.input_schema is not None else tool.properties
    if not isinstance(properties, Mapping):
        raise CannotHost("the properties of this input schema are no parameters")
    parameters = [_parameter(name, one, name in required) for name, one in properties.items()]
    if schema.get("additionalProperties", False) is not False:
        parameters.append(inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD))

    async def function(**arguments: Any) -> Any:
        return await tool.call(arguments)

    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by inspect
    return function


def _parameter(name: str, schema: Any, required: bool) -> inspect.Parameter:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CannotHost("a function has no parameter of such a name")
    if not isinstance(schema, Mapping):
        raise CannotHost("a hint cannot say such a schema of an argument")
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else _LEFT_OUT,
        annotation=Annotated[Any, _OwnSchema(dict(schema))],
    )


def _says(definition: ToolDefinition, schema: Mapping[str, Any]) -> bool:
    return definition.input_schema == schema and list(definition.properties) == list(schema.get("properties", ()))
