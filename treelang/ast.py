"""Programs from the outside: read them, write them, run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from treelang.language.node import Node
from treelang.language.parsing import parse
from treelang.language.program import Program
from treelang.language.serialization import serialize
from treelang.runtime.evaluation import evaluate
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.provider import ToolProvider


class AST:
    """Programs of the formats 1.0 and 2.0.

    A program is an immutable tree of nodes, whatever format it has:

        program = AST.parse(text)
        result = await AST.eval(program, provider, limits=ExecutionLimits(max_tool_calls=100))
    """

    @overload
    @staticmethod
    def parse(source: str | Mapping[str, Any]) -> Program: ...
    @overload
    @staticmethod
    def parse(source: list[Any]) -> list[Program]: ...
    @staticmethod
    def parse(source: str | Mapping[str, Any] | list[Any]) -> Program | list[Program]:
        """Read and check a program: see `treelang.language.parsing.parse`."""
        return parse(source)

    @staticmethod
    def repr(program: Node) -> str:
        """The JSON text of a program, which `parse` reads back as an equal one."""
        return serialize(program)

    @staticmethod
    async def eval(program: Program, provider: ToolProvider, limits: ExecutionLimits | None = None) -> Any:
        """Run a program with a provider's tools: see `treelang.runtime.evaluation.evaluate`."""
        return await evaluate(program, provider, limits)
