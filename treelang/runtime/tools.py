"""The tools of one execution: found once, arguments checked before and results after every call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NoReturn

from treelang.errors import (
    ASTTypeError,
    ASTValidationError,
    InvalidToolArgumentsError,
    PlacedError,
    ToolExecutionError,
    TreelangError,
)
from treelang.language.json_value import NotJSONError, copy_json
from treelang.language.pointer import Path, pointer
from treelang.runtime.budget import Budget
from treelang.tools.provider import ToolProvider
from treelang.tools.validation import CompiledTool, compile_tool

_SCALARS = frozenset({str, int, float, bool, type(None)})


class Cancellation:
    """Whether tasks of one execution were cancelled since it began, which tools may have hidden from them."""

    def __init__(self) -> None:
        self.noticed = False
        """Whether one was: what costs time is looked at only then."""
        self._first = asyncio.current_task()
        self._requests_before = self._first.cancelling() if self._first else 0

    def notice(self, error: BaseException) -> None:
        """Take note of what the event loop raises in a task of the execution."""
        self.noticed |= isinstance(error, asyncio.CancelledError)

    def proceed(self) -> None:
        """Go on with the cancellation of the current task, where somebody has made nothing of it.

        Raises:
            asyncio.CancelledError: The task was cancelled.
        """
        if self.noticed:
            task = asyncio.current_task()
            if task is not None and task.cancelling() > (self._requests_before if task is self._first else 0):
                raise asyncio.CancelledError


class Tools:
    """The provider's tools, each looked up at its first call."""

    def __init__(self, provider: ToolProvider, budget: Budget, cancellation: Cancellation) -> None:
        self.known: dict[str, Tool] = {}
        self._provider = provider
        self._budget = budget
        self._cancellation = cancellation
        self._looking = asyncio.Lock()

    async def find(self, name: str, path: Path) -> Tool:
        """The tool of that name.

        Args:
            name: The tool's name.
            path: The place that calls it.

        Raises:
            ToolNotFoundError: The provider has none.
            ProviderResponseError: Its definition is not valid.
            ToolExecutionError: The provider failed in some other way.
        """
        async with self._looking:
            tool = self.known.get(name)
            if tool is None:
                try:
                    definition = await self._provider.get_tool_definition(name)
                except Exception as error:
                    self._cancellation.proceed()
                    _fail(error, f"the look-up of the tool {name!r}", path)
                self._cancellation.proceed()
                tool = Tool(name, compile_tool(definition), self._provider, self._budget, self._cancellation)
                self.known[name] = tool
        return tool


class Tool:
    """A tool that programs can call."""

    def __init__(
        self, name: str, compiled: CompiledTool, provider: ToolProvider, budget: Budget, cancellation: Cancellation
    ) -> None:
        self.name = name
        self.properties = tuple(compiled.properties)
        self._validate = compiled.validate
        self._takes_fewer = compiled.definition.input_schema is not None
        self._call = provider.call_tool
        self._budget = budget
        self._cancellation = cancellation

    def positional(self, count: int, path: Path) -> Sequence[str]:
        """The names of so many positional parameters.

        Raises:
            ASTValidationError: The tool takes another number.
        """
        expected = len(self.properties)
        if count == expected:
            return self.properties
        if count > expected or not self._takes_fewer:
            limit = "at most " if self._takes_fewer else ""
            raise ASTValidationError(
                f"the tool {self.name!r} takes {limit}{expected} parameters, {list(self.properties)}, and not {count}",
                pointer=pointer(path),
            )
        return self.properties[:count]

    async def call(self, names: Sequence[str], values: Sequence[Any], path: Path) -> Any:
        """Call the tool, and give the content of its output, which nobody else holds.

        Args:
            names: The arguments' names.
            values: Their values, in the same order; the tool gets copies.
            path: The place that calls it.

        Raises:
            InvalidToolArgumentsError: The tool's schema refuses the arguments; the provider was not asked.
            ExecutionLimitError: No more calls are granted.
            ToolExecutionError: The call failed, or gave back what is no JSON value.
        """
        arguments = dict(zip(names, values))  # noqa: B905 - they are as many, and the keyword takes as long as all this
        if not _SCALARS.issuperset(map(type, values)):
            arguments = {name: self._own(name, value, path) for name, value in arguments.items()}
        try:
            self._validate(arguments)
        except InvalidToolArgumentsError as error:
            _place(error, path)
            raise
        if self._budget.count_tool_call():
            await asyncio.sleep(0)
        try:
            output = await self._call(self.name, arguments)
        except Exception as error:
            self._cancellation.proceed()
            _fail(error, f"the tool {self.name!r}", path)
        if self._cancellation.noticed:
            self._cancellation.proceed()
        try:
            return copy_json(output.content)
        except AttributeError:
            raise ToolExecutionError(
                f"the provider of the tool {self.name!r} gave back {type(output).__name__} and no ToolOutput",
                pointer=pointer(path),
            ) from None
        except NotJSONError as error:
            inside = f" at {error.pointer}" if error.pointer else ""
            raise ToolExecutionError(
                f"the tool {self.name!r} gave back what is no JSON value{inside}: {error}", pointer=pointer(path)
            ) from None

    def _own(self, name: str, value: Any, path: Path) -> Any:
        try:
            return copy_json(value)
        except NotJSONError:
            raise ASTTypeError(
                f"the argument {name!r} of the tool {self.name!r} is a lambda, which no tool takes",
                pointer=pointer(path),
            ) from None


def _fail(error: Exception, who: str, path: Path) -> NoReturn:
    """Fail as a tool or its provider has failed, and say where in the program.

    Raises:
        TreelangError: An error of the hierarchy as it is; anything else is a `ToolExecutionError`.
        TimeoutError: It may be somebody's deadline, and a deadline is never translated.
    """
    if isinstance(error, TreelangError | TimeoutError):
        _place(error, path)
        raise error
    raise ToolExecutionError(f"{who} failed with {type(error).__name__}", pointer=pointer(path)) from error


def _place(error: Exception, path: Path) -> None:
    """Say where in the program a failure outside of it was met."""
    if isinstance(error, PlacedError) and error.pointer is None:
        error.pointer = pointer(path)
