"""`treelang ask`: a question, a module or server with tools, a model; and the answer on standard output."""

from __future__ import annotations

import asyncio
import os
from enum import StrEnum
from typing import Annotated, NamedTuple, NoReturn

import typer

from treelang.arborist.arborist import Arborist
from treelang.arborist.config import ArboristConfig
from treelang.arborist.response import EvalResponse, EvalType
from treelang.cli.output import UnshowableResultError, result_text
from treelang.cli.tools import ToolSourceError, open_tools
from treelang.errors import MissingDependencyError, TreelangError
from treelang.language.serialization import serialize
from treelang.transports.anthropic import AnthropicTransport
from treelang.transports.openai import OpenAITransport
from treelang.transports.openai_responses import OpenAIResponsesTransport
from treelang.transports.sdk import SDKTransport

_NO_KEY = "none"
"""What a server of one's own is told where no key is set; the SDKs demand something."""


class Wire(StrEnum):
    """The protocols that can be spoken."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC_MESSAGES = "anthropic-messages"


class SchemaVersion(StrEnum):
    """The formats that can be asked for."""

    V1 = "1.0"
    V2 = "2.0"


class Adapter(NamedTuple):
    """How a protocol is spoken."""

    transport: type[SDKTransport]
    key_variable: str


ADAPTERS = {
    Wire.OPENAI_CHAT: Adapter(OpenAITransport, "OPENAI_API_KEY"),
    Wire.OPENAI_RESPONSES: Adapter(OpenAIResponsesTransport, "OPENAI_API_KEY"),
    Wire.ANTHROPIC_MESSAGES: Adapter(AnthropicTransport, "ANTHROPIC_API_KEY"),
}


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.", show_default=False)],
    model: Annotated[str, typer.Option(help="The model's name.", envvar="TREELANG_MODEL", show_default=False)],
    tools: Annotated[
        list[str] | None,
        typer.Option(help="module, or module:name, whose functions are the tools; may be repeated.", metavar="MODULE"),
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option(help="Command or address of an MCP server; may be repeated.", metavar="SERVER"),
    ] = None,
    wire: Annotated[Wire, typer.Option(help="The protocol that the provider speaks.")] = Wire.OPENAI_CHAT,
    base_url: Annotated[
        str | None, typer.Option(help="Address of a compatible server, as the protocol's SDK wants it.")
    ] = None,
    schema_version: Annotated[SchemaVersion, typer.Option(help="The format of the program.")] = SchemaVersion.V1,
    timeout: Annotated[float | None, typer.Option(help="Seconds for everything together.")] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Show the program, and do not run it.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say on standard error what it took.")] = False,
) -> None:
    """Answer a question by a program that a model writes and this machine runs.

    The key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY.

    Exit status: 0 with an answer, 1 where the model, the program or a tool failed, 2 where nothing could be asked.
    """
    adapter = ADAPTERS[wire]
    key = os.environ.get(adapter.key_variable)
    if not key and base_url is None:
        _fail(2, f"no key: set {adapter.key_variable}, or name a compatible server by --base-url")
    try:
        config = ArboristConfig(model, timeout=timeout, schema_version=schema_version.value)
    except ValueError as error:
        _fail(2, str(error))
    eval_type = EvalType.TREE if tree else EvalType.WALK

    async def evaluation() -> EvalResponse:
        async with (
            adapter.transport(api_key=key or _NO_KEY, base_url=base_url) as transport,
            open_tools(tools or (), mcp or ()) as provider,
        ):
            return await Arborist(model, provider, config=config, transport=transport).eval(question, eval_type)

    try:
        response = asyncio.run(evaluation())
    except (ToolSourceError, MissingDependencyError) as error:
        _fail(2, str(error))
    except (TreelangError, TimeoutError) as error:
        _fail(1, f"{type(error).__name__}: {error}")
    if verbose:
        typer.echo(_account(response), err=True)
    try:
        typer.echo(serialize(response.program) if tree else result_text(response.result))
    except UnshowableResultError as error:
        _fail(1, str(error))


def _account(response: EvalResponse) -> str:
    usage = response.usage
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens}" if usage.reported else "an unknown number of"
    rejected = ", strict output was rejected" if response.fell_back else ""
    return f"{response.attempts} request{'s' * (response.attempts > 1)}{rejected}, {tokens} tokens"


def _fail(status: int, message: str) -> NoReturn:
    typer.echo(f"treelang ask: {message}", err=True)
    raise typer.Exit(status)
