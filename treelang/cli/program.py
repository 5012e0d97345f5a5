"""`treelang program`: read programs, show them, run them with tools, and print the formats' schemas."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from treelang.ast import AST
from treelang.cli.outline import count_nodes, counted, outline
from treelang.cli.output import UnshowableResultError, result_text
from treelang.cli.tools import ToolSourceError, open_tools
from treelang.errors import ASTValidationError, MissingDependencyError, ProviderResponseError, TreelangError
from treelang.language.program import PROGRAMS, Program
from treelang.language.published import published_schema_text
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.definition import ToolDefinition
from treelang.tools.fitting import check_fit
from treelang.tools.provider import ToolProvider

T = TypeVar("T")

INVALID_OR_FAILED, CANNOT_TRY = 1, 2

File = Annotated[str, typer.Argument(metavar="FILE", help="The program's file; - is standard input.")]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--tools", metavar="MODULE", help="module, or module:name, whose functions are the tools; may be repeated."
    ),
]
Servers = Annotated[
    list[str] | None,
    typer.Option("--mcp", metavar="SERVER", help="Command or address of an MCP server; may be repeated."),
]

app = typer.Typer(
    help="Read, show and run programs of the formats 1.0 and 2.0.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of programs; - is standard input.")],
    tools: Modules = None,
    mcp: Servers = None,
) -> None:
    """Say of every program whether it is valid and, where tools are named, whether it fits them.

    Exit status: 0 all are, 1 one is not, 2 a file or the tools cannot be read.
    """
    texts = [_text(file) for file in files]
    known = _with_tools(_listed, tools, mcp) if tools or mcp else None
    invalid = False
    for file, text in zip(files, texts, strict=True):
        try:
            program = _program(text)
            if known is not None:
                check_fit(program, known)
        except ASTValidationError as error:
            invalid = True
            _complain(f"{_name(file)}: {error}")
        else:
            nodes = counted(count_nodes(program), "node")
            typer.echo(f"{_name(file)}: valid, format {program.schema_version}, {nodes}")
    raise typer.Exit(INVALID_OR_FAILED if invalid else 0)


@app.command()
def inspect(file: File) -> None:
    """Show a program: its format and size, the tools that it needs, and its nodes, a line each.

    Exit status: 0 it was shown, 1 it is not valid, 2 the file cannot be read.
    """
    for line in outline(_valid_program(file)):
        typer.echo(line)


@app.command()
def run(
    file: File,
    tools: Modules = None,
    mcp: Servers = None,
    max_nodes: Annotated[int | None, typer.Option(min=1, help="Evaluations of nodes.")] = None,
    max_depth: Annotated[int | None, typer.Option(min=1, help="How deep an evaluated node may be nested.")] = None,
    max_call_depth: Annotated[int | None, typer.Option(min=1, help="Calls of functions inside each other.")] = None,
    max_tool_calls: Annotated[int | None, typer.Option(min=1, help="Calls of tools.")] = None,
    max_concurrency: Annotated[int | None, typer.Option(min=1, help="Branches at the same time.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds for the whole run.")] = None,
) -> None:
    """Run a program, and print its result as JSON. Limits that are not given do not hold.

    Exit status: 0 with a result, 1 the program is not valid or has failed, 2 the file or the tools cannot be read.
    """
    program = _valid_program(file)
    try:
        limits = ExecutionLimits(max_nodes, max_depth, max_call_depth, max_tool_calls, max_concurrency, timeout)
    except ValueError as error:
        _fail(CANNOT_TRY, str(error))

    async def evaluation(provider: ToolProvider) -> Any:
        await _listed(provider)  # unusable tools are told before anything runs
        return await AST.eval(program, provider, limits)

    try:
        typer.echo(result_text(_with_tools(evaluation, tools, mcp)))
    except (TreelangError, TimeoutError) as error:
        _fail(INVALID_OR_FAILED, f"{_name(file)}: {type(error).__name__}: {error}")
    except asyncio.CancelledError:
        _fail(INVALID_OR_FAILED, f"{_name(file)}: a tool has cancelled the run")
    except UnshowableResultError as error:
        _fail(INVALID_OR_FAILED, f"{_name(file)}: {error}")


@app.command()
def schema(version: Annotated[str, typer.Argument(help=f"One of the formats: {', '.join(PROGRAMS)}.")]) -> None:
    """Print the JSON Schema (Draft 2020-12) of a format, as it is published.

    Exit status: 0 it was printed, 2 there is no such format.
    """
    if version not in PROGRAMS:
        _fail(CANNOT_TRY, f"there is no format {version!r}; use one of {', '.join(PROGRAMS)}")
    typer.echo(published_schema_text(version), nl=False)


def _text(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        _fail(CANNOT_TRY, f"{_name(file)}: cannot be read: {error.strerror}")


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def _program(text: bytes) -> Program:
    try:
        decoded = text.decode("utf-8-sig")  # some editors put a mark at the beginning
    except UnicodeDecodeError as error:
        raise ASTValidationError(
            f"the program is no UTF-8 text, from byte {error.start} on; save it as UTF-8", pointer=""
        ) from None
    return AST.parse(decoded)


def _valid_program(file: str) -> Program:
    try:
        return _program(_text(file))
    except ASTValidationError as error:
        _fail(INVALID_OR_FAILED, f"{_name(file)}: {error}")


async def _listed(provider: ToolProvider) -> dict[str, ToolDefinition]:
    try:
        listed = map(ToolDefinition.of, await provider.list_tools())
        return {definition.name: definition for definition in listed}
    except ProviderResponseError as error:
        raise ToolSourceError(str(error)) from None


def _with_tools(
    work: Callable[[ToolProvider], Awaitable[T]], modules: list[str] | None, servers: list[str] | None
) -> T:
    """Do something with the tools that the command was given; where there are none to be had, end."""

    async def session() -> T:
        async with open_tools(modules or (), servers or ()) as provider:
            return await work(provider)

    try:
        return asyncio.run(session())
    except (ToolSourceError, MissingDependencyError) as error:
        _fail(CANNOT_TRY, str(error))


def _complain(message: str) -> None:
    typer.echo(f"treelang program: {message}", err=True)


def _fail(status: int, message: str) -> NoReturn:
    _complain(message)
    raise typer.Exit(status)
