"""Questions answered by programs that a model writes and this process runs."""

from __future__ import annotations

import asyncio

from treelang.arborist.config import ArboristConfig
from treelang.arborist.memory import ChatMessage, Memory
from treelang.arborist.offered import OfferedTools
from treelang.arborist.planning import Planner
from treelang.arborist.response import EvalResponse, EvalType
from treelang.arborist.selection import AllTools, ToolSelector
from treelang.language.serialization import serialize
from treelang.negotiation import DefaultModelCapabilityNegotiator, ModelCapabilityNegotiator
from treelang.observability import Observability
from treelang.runtime.evaluation import evaluate
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.provider import ToolProvider
from treelang.transports.contract import ModelTransport

DEFAULT_LIMITS = ExecutionLimits(max_nodes=1_000_000, max_call_depth=10_000, max_tool_calls=10_000, max_concurrency=100)
"""What a program written by a model may use where nothing else is said: enough for honest work, and it ends."""

_NEGOTIATOR = DefaultModelCapabilityNegotiator()
"""One for all arborists, so that what a provider rejected is paid for once, however many share its transport."""


class Arborist:
    """Turns a question and a provider's tools into a program, and runs it. It knows no provider of models.

    One arborist serves any number of evaluations at the same time; what they share is the memory, if there is one.

    Args:
        model: The model's name, as its provider spells it.
        provider: The tools.
        selector: Which tools are offered for a question; by default all.
        memory: What is remembered of earlier questions; by default nothing.
        config: Further settings; it names the same model.
        transport: Who answers for the model. It remains its owner's to close.
        observability: Where events are reported; by default nowhere.
        execution_limits: What running a program may use, exactly as given; by default `DEFAULT_LIMITS`.
        capability_negotiator: How output is asked for; by default a `DefaultModelCapabilityNegotiator` that all share.

    Raises:
        ValueError: There is no transport, or two models are named.
    """

    def __init__(
        self,
        model: str,
        provider: ToolProvider,
        selector: ToolSelector | None = None,
        memory: Memory | None = None,
        *,
        config: ArboristConfig | None = None,
        transport: ModelTransport | None = None,
        observability: Observability | None = None,
        execution_limits: ExecutionLimits | None = None,
        capability_negotiator: ModelCapabilityNegotiator | None = None,
    ) -> None:
        self.config = config or ArboristConfig(model)
        if self.config.model != model:
            raise ValueError(f"two models are named, {model!r} and, in config, {self.config.model!r}; name one")
        if transport is None:
            raise ValueError(f"{type(self).__name__} needs a transport; OpenAIArborist can make one itself")
        self.transport = transport
        self.provider = provider
        self._selector = selector or AllTools()
        self._memory = memory
        self._observability = observability or Observability(sinks=())
        # Watching costs at every call, so what nobody watches is left as it is.
        self._watched_transport = observability.watch_transport(transport) if observability else transport
        self._watched_provider = observability.watch_tools(provider) if observability else provider
        self._limits = execution_limits or DEFAULT_LIMITS
        self._negotiator = _NEGOTIATOR if capability_negotiator is None else capability_negotiator

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.model!r}, {self.transport!r})"

    async def eval(self, query: str, eval_type: EvalType = EvalType.WALK) -> EvalResponse:
        """Answer a question by a program.

        Args:
            query: The question.
            eval_type: Whether to run the program.

        Raises:
            TimeoutError: `config.timeout` has passed. It is the plain one, and never a `ModelTimeoutError`.
            ASTValidationError: The model wrote no valid program, not even after the configured retries.
            StructuredOutputUnsupportedError: Strict output is required, and is not to be had.
            ProviderResponseError: The model or the listing of tools failed; see `treelang.errors` for the kinds.
            ASTExecutionError: The program could not be carried through; `ExecutionLimitError` if a limit was crossed.
            ToolExecutionError: A tool failed, or its schema refused the arguments.
            asyncio.CancelledError: Unchanged; nothing of the evaluation goes on.
        """
        with self._observability.operation(
            "arborist.eval",
            model=self.config.model,
            eval_type=eval_type,
            schema_version=self.config.schema_version,
            query=query,
        ) as operation:
            response = await self._eval_in_time(query, EvalType(eval_type))
            operation.add(attempts=response.attempts, fell_back=response.fell_back)
            return response

    async def _eval_in_time(self, query: str, eval_type: EvalType) -> EvalResponse:
        seconds = self.config.timeout
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await self._eval(query, eval_type)
        except Exception as error:
            if deadline.expired():  # whatever its cancellation was made into on the way
                raise TimeoutError(f"the evaluation took longer than the configured {seconds:g} seconds") from error
            raise

    async def _eval(self, query: str, eval_type: EvalType) -> EvalResponse:
        tools = OfferedTools(
            await self._selector.select(self._watched_provider, query=query), self.config.schema_version
        )
        history = await self._memory.get() if self._memory is not None else ()
        planner = Planner(
            self.config,
            self._watched_transport,
            # The transport itself is asked, which may have more to say than a wrapper passes on.
            self._negotiator.capabilities(self.transport, self.config.model),
            self._negotiator,
            tools,
            self._observability,
        )
        plan = await planner.plan(query, history)
        result = None
        if eval_type is EvalType.WALK:
            result = await evaluate(plan.program, self._watched_provider, self._limits)
        if self._memory is not None:
            await self._memory.add([ChatMessage("user", query), ChatMessage("assistant", serialize(plan.program))])
        return EvalResponse(query, eval_type, plan.program, result, plan.usage, plan.attempts, plan.fell_back)
