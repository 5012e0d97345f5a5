"""The tools that a command is given: functions of Python modules, and MCP servers."""

from __future__ import annotations

import importlib
import inspect
import shlex
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from treelang.errors import ProviderResponseError
from treelang.tools.functions import FunctionToolProvider
from treelang.tools.joined import JoinedToolProvider
from treelang.tools.mcp import MCPToolProvider
from treelang.tools.provider import ToolProvider


class ToolSourceError(Exception):
    """There are no usable tools at the place that was named; the message says what to mend."""


@asynccontextmanager
async def open_tools(modules: Sequence[str] = (), servers: Sequence[str] = ()) -> AsyncIterator[ToolProvider]:
    """The tools of modules and MCP servers as one provider, for as long as the block lasts.

    Args:
        modules: `module` for all its public functions, or `module:name` for a function, functions or a provider.
        servers: The command that starts an MCP server, or the address of one.

    Raises:
        ToolSourceError: A module has no usable tools, or a server cannot be reached.
        MissingDependencyError: A server is named, and the package `mcp` is not installed.
    """
    async with AsyncExitStack() as stack:
        providers = [load_module_tools(module) for module in modules]
        try:
            providers += [
                await stack.enter_async_context(MCPToolProvider.connect(_address(server))) for server in servers
            ]
        except ProviderResponseError as error:
            raise ToolSourceError(str(error)) from None
        yield providers[0] if len(providers) == 1 else JoinedToolProvider(*providers)


def _address(server: str) -> str | list[str]:
    if server.startswith(("http://", "https://")):
        return server
    try:
        command = shlex.split(server)
    except ValueError as error:  # a quotation mark is missing
        raise ToolSourceError(f"MCP server {server!r}: this is no command: {error}") from None
    if not command:
        raise ToolSourceError("MCP server '': name the command that starts it, or its address")
    return command


def load_module_tools(source: str) -> ToolProvider:
    """The tools at `module` or `module:name`; the current folder is importable.

    Raises:
        ToolSourceError: There are none, or they cannot be tools.
    """
    module_name, _, name = source.partition(":")
    module = _imported(module_name, source)
    found: Any = getattr(module, name, None) if name else _public_functions(module)
    if isinstance(found, ToolProvider):
        return found
    functions = [found] if callable(found) else found
    if not functions or not isinstance(functions, Iterable):
        wanted = f"name a function, a list of functions or a ToolProvider, and not {name!r}" if name else "write one"
        raise ToolSourceError(f"tools {source!r}: there is no public function; {wanted}")
    try:
        return FunctionToolProvider(functions)
    except (TypeError, ValueError) as error:
        raise ToolSourceError(f"tools {source!r}: {error}") from None


def _imported(module_name: str, source: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        own = error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}."))
        mend = "run this from the folder that holds it" if own else "install what the module imports"
        raise ToolSourceError(f"tools {source!r}: no module named {error.name!r}; {mend}") from None
    except (Exception, SystemExit) as error:  # a script without a guard may even exit
        raise ToolSourceError(f"tools {source!r}: importing it raised {type(error).__name__}") from None


def _public_functions(module: ModuleType) -> list[Any]:
    """The functions that a module itself defines, in the order of its text."""
    return [
        function
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    ]
