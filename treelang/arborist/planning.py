"""The dialogue with the model that ends in a valid program.

Two things may lead to another request, and they are kept apart: an explicit rejection of strict output, once, with the
same messages (FBK-5, FBK-9, FBK-14); and an answer that is no valid program, as often as configured, with the error in
a further message (FBK-10). Every other failure is final (FBK-8).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from treelang.arborist.config import ArboristConfig
from treelang.arborist.memory import ChatMessage
from treelang.arborist.offered import OfferedTools
from treelang.arborist.prompting import correction, instructions
from treelang.errors import ASTValidationError, StructuredOutputUnsupportedError
from treelang.language.parsing import parse
from treelang.language.program import Program
from treelang.negotiation import ModelCapabilityNegotiator, StructuredOutputSelection
from treelang.observability import Observability
from treelang.transports.contract import ModelCapabilities, ModelTransport, ModelUsage, UsageAwareTransport


@dataclass(frozen=True, slots=True)
class Plan:
    """A valid program, and what it took to get it."""

    program: Program
    usage: ModelUsage
    attempts: int
    fell_back: bool


class Planner:
    """Asks a model for one program. It serves one evaluation, and so keeps what that evaluation has used.

    Args:
        config: How to ask.
        transport: Who answers.
        capabilities: What the transport can do with the model.
        negotiator: What to ask for, given that.
        tools: What the program may call.
        observability: Told how output was asked for, and of what was refused.
    """

    def __init__(
        self,
        config: ArboristConfig,
        transport: ModelTransport,
        capabilities: ModelCapabilities,
        negotiator: ModelCapabilityNegotiator,
        tools: OfferedTools,
        observability: Observability,
    ) -> None:
        self._config = config
        self._transport = transport
        self._negotiator = negotiator
        self._tools = tools
        self._capabilities = capabilities
        self._observability = observability
        self._usage = ModelUsage()
        self._attempts = 0
        self._fell_back = False

    async def plan(self, query: str, history: Iterable[ChatMessage]) -> Plan:
        """Ask until a valid program comes, or no more retries are granted.

        Args:
            query: The question.
            history: Earlier turns.

        Raises:
            ASTValidationError: The last answer is no valid program either.
            StructuredOutputUnsupportedError: Strict output is required, and is not to be had (FBK-6).
            ProviderResponseError: A request failed.
        """
        selection = self._select()
        turns = [
            ChatMessage("system", instructions(self._config.schema_version, self._tools.definitions)),
            *history,
            ChatMessage("user", query),
        ]
        retries = self._config.validation_retries
        while True:
            answer, selection = await self._answer(turns, selection)
            try:
                program = self._read(answer)
            except ASTValidationError as error:
                self._observability.emit("arborist.program_refused", attempts=self._attempts, error=str(error))
                if retries == 0:
                    raise
                turns += _follow_up(answer, error)
            else:
                return Plan(program, self._usage, self._attempts, self._fell_back)
            retries -= 1

    def _select(self) -> StructuredOutputSelection:
        selection = self._negotiator.structured_output(
            self._capabilities,
            model=self._config.model,
            configured_mode=self._config.structured_output_mode,
            schema_version=self._config.schema_version,
            tools=self._tools.definitions,
        )
        self._observability.emit("model.structured_output.selected", mode=selection.mode, reason=selection.reason)
        return selection

    async def _answer(
        self, turns: Sequence[ChatMessage], selection: StructuredOutputSelection
    ) -> tuple[str, StructuredOutputSelection]:
        """The model's answer, and what it was asked to be: something else, once it has rejected strict output."""
        try:
            return await self._complete(turns, selection), selection
        except StructuredOutputUnsupportedError:
            fallback = self._negotiator.fallback_after_rejection(selection, self._config.structured_output_mode)
            if fallback is None or self._fell_back:
                raise
        self._fell_back = True
        self._observability.emit("model.structured_output.fallback", mode=fallback.mode, reason=fallback.reason)
        return await self._complete(turns, fallback), fallback

    async def _complete(self, turns: Sequence[ChatMessage], selection: StructuredOutputSelection) -> str:
        request: dict[str, Any] = {
            "model": self._config.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "response_format": selection.response_format,
        }
        # The tools stand in the instructions and not under `tools`: they are for the program to call, and an answer
        # that called one would be no program (CMP-7).
        if self._config.temperature is not None and self._capabilities.temperature:
            request["temperature"] = self._config.temperature
        if self._config.max_tokens is not None:
            request["max_tokens"] = self._config.max_tokens
        self._attempts += 1
        try:
            return await self._transport.complete(request)
        finally:
            self._count_usage()

    def _count_usage(self) -> None:
        if isinstance(self._transport, UsageAwareTransport):
            last = self._transport.consume_usage()
            self._usage = ModelUsage(
                self._usage.prompt_tokens + last.prompt_tokens,
                self._usage.completion_tokens + last.completion_tokens,
                reported=self._usage.reported or last.reported,
            )

    def _read(self, answer: str) -> Program:
        program = parse(answer)
        if program.schema_version != self._config.schema_version:
            raise ASTValidationError(
                f"the program is of format {program.schema_version}; write one of {self._config.schema_version}",
                pointer="",
            )
        self._tools.check(program)
        return program


def _follow_up(answer: str, error: ASTValidationError) -> list[ChatMessage]:
    """The turns after an answer that is no valid program. An empty one is left out: providers refuse empty turns."""
    given = [ChatMessage("assistant", answer)] if answer.strip() else []
    return [*given, ChatMessage("user", correction(error))]
