"""Python functions as tools: what they take is read from their type hints, by pydantic."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypeVar, get_type_hints

from pydantic import PydanticUserError, TypeAdapter, ValidationError, with_config
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # pydantic reads typing's own from Python 3.12 on only

from treelang.errors import ToolExecutionError, ToolNotFoundError
from treelang.language.json_value import NotJSONError, copy_json
from treelang.tools.definition import ToolDefinition
from treelang.tools.provider import ToolOutput, ToolProvider
from treelang.tools.validation import CompiledTool, compile_tool, refusal

Function: TypeAlias = Callable[..., Any]
_Function = TypeVar("_Function", bound=Function)

_AS_GIVEN = (Any, object, str, bool, int, None, type(None))
"""Hints whose values JSON has as they are."""


class FunctionToolProvider(ToolProvider):
    """Functions of this program as tools, plain or `async`.

    A tool has the function's name and docstring, and its parameters in order, with the JSON Schema that pydantic reads
    from the hints; `Annotated[int, Field(description="...", ge=0)]` says more. A parameter with a default may be left
    out, and then the function's own default applies. Arguments arrive in the hinted types, and a result of one of
    pydantic's types (models, dates, sets...) is put into JSON.

    A plain function runs in a thread, so that it does not hold up the event loop. When the call is cancelled it cannot
    be stopped: nobody waits for it any longer, and its result is dropped. A short one is quicker as `async def`.

    To word a failure for whoever runs the program, a function raises `ToolExecutionError` itself; of any other
    exception only the type is named, since exceptions quote what they were given.

    Args:
        *functions: Functions, iterables of functions, or mappings from names to functions.

    Raises:
        TypeError: A function cannot be a tool; the message says why.
        ValueError: Two tools of the same name.
    """

    def __init__(self, *functions: Function | Iterable[Function] | Mapping[str, Function]) -> None:
        self._tools: dict[str, _FunctionTool] = {}
        for given in functions:
            if isinstance(given, Mapping):
                for name, function in given.items():
                    self.add(function, name=name)
            elif callable(given):
                self.add(given)
            else:
                for function in given:
                    self.add(function)

    def add(self, function: _Function, *, name: str | None = None, description: str | None = None) -> _Function:
        """Add a tool. Gives the function back, and so may be used as a decorator.

        Args:
            function: The function.
            name: The tool's name, where it is not the function's.
            description: What the tool does, where the docstring does not say it.

        Raises:
            TypeError: The function cannot be a tool.
            ValueError: There is a tool of that name already.
        """
        tool = _read(function, name, description)
        if tool.definition.name in self._tools:
            raise ValueError(f"there is a tool {tool.definition.name!r} already; give this one another name")
        self._tools[tool.definition.name] = tool
        return function

    async def list_tools(self) -> list[ToolDefinition]:
        """All tools, in the order in which they were added."""
        return [tool.definition for tool in self._tools.values()]

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        """One tool.

        Raises:
            ToolNotFoundError: There is none of that name.
        """
        return self._find(name).definition

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Call the function.

        Raises:
            ToolNotFoundError: There is none of that name.
            InvalidToolArgumentsError: The arguments do not fit; the function was not called.
            ToolExecutionError: The function failed, cancelled itself, or gave back what JSON cannot hold.
        """
        tool = self._find(name)
        values = tool.convert(arguments)
        try:
            if tool.is_async:
                result = await tool.function(**values)
            else:
                result, error = await asyncio.to_thread(_outcome, tool.function, values)
                if error is not None:
                    raise error
                if inspect.isawaitable(result):
                    result = await result
        except ToolExecutionError:
            raise
        except Exception as error:
            raise ToolExecutionError(f"the tool {name!r} failed with {type(error).__name__}") from error
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            raise ToolExecutionError(f"the tool {name!r} cancelled itself") from error
        return ToolOutput(content=_to_json(name, result))

    def _find(self, name: str) -> _FunctionTool:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolNotFoundError(f"there is no tool {name!r}")
        return tool


class _FunctionTool(NamedTuple):
    function: Function
    is_async: bool
    compiled: CompiledTool
    arguments: TypeAdapter[Any]
    takes_as_given: bool
    """Whether what fits the schema has the hinted types already, but for a whole number written as 1.0."""

    @property
    def definition(self) -> ToolDefinition:
        return self.compiled.definition

    def convert(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments in the hinted types.

        Raises:
            InvalidToolArgumentsError: They do not fit the schema, or a validator that the hints name.
        """
        self.compiled.validate(arguments)
        if self.takes_as_given and float not in map(type, arguments.values()):
            return arguments
        try:
            converted: dict[str, Any] = self.arguments.validate_python(arguments)
            return converted
        except ValidationError as error:
            broken = error.errors(include_input=False, include_context=False, include_url=False)[0]
        raise refusal(self.definition.name, broken["loc"], broken["type"])


def _outcome(function: Function, arguments: dict[str, Any]) -> tuple[Any, BaseException | None]:
    """Result and failure of a call as values: a future cannot carry every exception (`StopIteration` makes it hang)."""
    try:
        return function(**arguments), None
    except BaseException as error:
        return None, error


def _to_json(name: str, result: Any) -> Any:
    try:
        return copy_json(result)
    except NotJSONError:
        pass  # one of pydantic's types perhaps
    try:
        return copy_json(to_jsonable_python(result))
    except Exception as error:  # the result's own code may run, as a generator's does
        inside = getattr(error, "pointer", "")
        raise ToolExecutionError(
            f"the tool {name!r} gave back a {type(result).__name__} that JSON cannot hold{inside and f' (at {inside})'}"
        ) from error


def _read(function: Function, name: str | None, description: str | None) -> _FunctionTool:
    """Make a tool of a function."""
    plain: Any = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    name = name or str(getattr(plain, "__name__", "<unnamed>"))
    if name.startswith("<"):
        raise TypeError(f"the function {name} has no name of its own; add it with name='...'")
    description = description or inspect.cleandoc(plain.__doc__ or "") or None
    if not inspect.isroutine(plain):
        plain = plain.__call__
    try:
        fields, others, defaults = _read_parameters(function, plain)
        arguments, schema = _describe(fields, others, defaults)
    except (TypeError, NameError, PydanticUserError) as error:
        raise TypeError(f"the function {name!r} cannot be a tool: {str(error).splitlines()[0]}") from error
    definition = ToolDefinition(name=name, description=description, input_schema=schema)
    return _FunctionTool(
        function=function,
        is_async=inspect.iscoroutinefunction(plain),
        compiled=compile_tool(definition),
        arguments=arguments,
        takes_as_given=not others and all(hint in _AS_GIVEN for hint in fields.values()),
    )


def _read_parameters(function: Function, plain: Function) -> tuple[dict[str, Any], bool, dict[str, Any]]:
    """The hints of the parameters, whether any others are taken, and the defaults."""
    hints = get_type_hints(plain, include_extras=True)
    fields: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    others = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            others = True
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise TypeError(f"arguments of tools have names, and those of {parameter.name!r} cannot be given by name")
        if isinstance(parameter.default, FieldInfo):
            raise TypeError(f"write the Field of {parameter.name!r} in its hint, Annotated[..., Field(...)]")
        fields[parameter.name] = hints.get(parameter.name, Any)
        if parameter.default is not parameter.empty:
            defaults[parameter.name] = parameter.default
    return fields, others, defaults


def _describe(
    fields: dict[str, Any], others: bool, defaults: dict[str, Any]
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """What puts arguments into the hinted types, and their JSON Schema."""
    # A typed dictionary and not a model: it takes any names, and adds no default to what was given (TOL-6).
    members = {name: NotRequired[hint] if name in defaults else hint for name, hint in fields.items()}
    described = TypedDict("described", members)  # type: ignore[misc] # its members are not known before
    with_config(extra="allow" if others else "forbid")(described)
    arguments: TypeAdapter[Any] = TypeAdapter(described)
    schema = arguments.json_schema(schema_generator=_WithoutTitles)
    del schema["title"]
    for name, default in defaults.items():
        _annotate_default(schema["properties"][name], default)
    return arguments, schema


def _annotate_default(schema: dict[str, Any], default: Any) -> None:
    """Say what the default is, where JSON can; it is only said, and nobody injects it (TOL-6)."""
    with contextlib.suppress(ValueError):
        schema.setdefault("default", copy_json(to_jsonable_python(default)))


class _WithoutTitles(GenerateJsonSchema):
    """A property's title would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
