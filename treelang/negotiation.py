"""What output to ask for, given what a transport can do and what the caller wants (FBK-5 to FBK-11, NEG-1 to NEG-6)."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from weakref import ref

from treelang.errors import StructuredOutputUnsupportedError
from treelang.language.strict.projection import strict_schema
from treelang.language.strict.subset import NotExpressibleError
from treelang.tools.definition import ToolDefinition
from treelang.transports.contract import ModelCapabilities, ModelTransport

SCHEMA_NAME = "treelang_program"
"""What the program's schema is called in a request."""

OutputMode: TypeAlias = Literal["strict", "compatibility"]

_REMEMBERED = 1_024
"""How many rejections a negotiator remembers; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a rejection is about: a transport, a model and a schema."""

    transport: ref[Any] | None
    """`None` for capabilities that did not come from a transport."""
    model: str
    schema: bytes
    """A digest of the schema."""

    @property
    def key(self) -> tuple[int | None, str, bytes]:
        """What it is remembered by. Transports are told apart by identity: equal ones may be of two deployments."""
        return None if self.transport is None else id(self.transport()), self.model, self.schema


@dataclass(frozen=True, slots=True)
class StructuredOutputSelection:
    """What is asked for in a request (NEG-2). Two that ask for the same are equal, whatever the reason.

    Attributes:
        response_format: The request's `response_format`, complete, to be sent as it is.
        mode: `strict` where the provider enforces the schema, `compatibility` where the request asks for JSON alone.
        reason: Why, in words for logs and events.
    """

    response_format: Mapping[str, Any]
    mode: OutputMode
    reason: str = field(default="", compare=False)
    _asked: _Asked | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class _CapabilitiesOf(ModelCapabilities):
    """Capabilities that know whose they are, so that a rejection can be remembered of that transport alone."""

    transport: ref[Any] | None = None
    """`None` for a transport that cannot be referred to weakly."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelCapabilities) and _flags(self) == _flags(other)

    def __hash__(self) -> int:
        return hash(_flags(self))


def _flags(capabilities: ModelCapabilities) -> tuple[bool, bool]:
    return capabilities.strict_json_schema, capabilities.temperature


@runtime_checkable
class ModelCapabilityNegotiator(Protocol):
    """Decides what output is asked for. No method makes a model request (NEG-1)."""

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        """What a transport can do with a model; the conservative defaults where it does not say (NEG-6)."""
        ...

    def structured_output(
        self,
        capabilities: ModelCapabilities,
        *,
        model: str,
        configured_mode: str,
        schema_version: str,
        tools: Sequence[ToolDefinition],
    ) -> StructuredOutputSelection:
        """What to ask for in the first request.

        Args:
            capabilities: What `capabilities` returned.
            model: The model's name.
            configured_mode: `auto`, `required` or `compatibility`.
            schema_version: The program format, `1.0` or `2.0`.
            tools: The tools that were selected for this request.

        Raises:
            StructuredOutputUnsupportedError: Strict output is required, and is not to be had (FBK-6, NEG-3).
        """
        ...

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        """What to ask for after an explicit rejection of `selection`, or `None` where that is final (NEG-4).

        It is to be asked about a `StructuredOutputUnsupportedError` alone: no other failure says anything about what
        a model can do (NEG-5).
        """
        ...


class DefaultModelCapabilityNegotiator:
    """Strict output where the transport declares it, JSON mode elsewhere; a rejection is paid for once.

    A rejection is remembered for the transport, the model and the schema that it was about. No transport is kept alive
    by that, and one that cannot be referred to weakly is asked again.
    """

    def __init__(self) -> None:
        self._rejected: OrderedDict[tuple[int | None, str, bytes], _Asked] = OrderedDict()

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        """What the transport declares of the model; nothing where it declares nothing (FBK-11)."""
        declare = getattr(transport, "capabilities", None)
        declared = declare(model) if callable(declare) else None
        if not isinstance(declared, ModelCapabilities):
            declared = ModelCapabilities()
        owner: ref[Any] | None = None
        with contextlib.suppress(TypeError):
            owner = ref(transport)
        return _CapabilitiesOf(
            declared.strict_json_schema, declared.temperature, declared.recursive_schemas, transport=owner
        )

    def structured_output(
        self,
        capabilities: ModelCapabilities,
        *,
        model: str,
        configured_mode: str,
        schema_version: str,
        tools: Sequence[ToolDefinition | Mapping[str, Any]] = (),
    ) -> StructuredOutputSelection:
        """Strict output where it is declared, allowed and expressible, and was not rejected before; else JSON mode.

        Args:
            capabilities: What `capabilities` returned. A rejection of others is remembered of no transport but of
                all that are described in the same way.
            model: The model's name.
            configured_mode: `auto`, `required` or `compatibility`.
            schema_version: The program format, `1.0` or `2.0`.
            tools: The tools that were selected for this request; definitions, or mappings that say the same.

        Raises:
            StructuredOutputUnsupportedError: The mode is `required`, and strict output is not declared for the model,
                cannot express the programs, or was rejected before.
            ProviderResponseError: A tool is no valid definition.
            ValueError: There is no such mode, or no such format to write a strict schema of.
        """
        if configured_mode not in ("auto", "required", "compatibility"):
            raise ValueError(f"there is no mode {configured_mode!r}; it is 'auto', 'required' or 'compatibility'")
        if configured_mode == "compatibility":
            return _json_mode("the configured mode is compatibility")
        asked: _Asked | None = None
        if not capabilities.strict_json_schema:
            obstacle = f"the transport does not declare strict output for the model {model!r}"
        else:
            try:
                schema = strict_schema(schema_version, tools, recursive=capabilities.recursive_schemas)
            except NotExpressibleError as defect:
                obstacle = f"strict output cannot express the programs: {defect}"
            else:
                asked = _asked(capabilities, model, schema)
                if asked is None or not self._was_rejected(asked):
                    return _strict(schema, f"the transport declares strict output for the model {model!r}", asked)
                obstacle = f"the provider has rejected the strict schema for the model {model!r} before"
        if configured_mode == "required":
            raise StructuredOutputUnsupportedError(f"strict output is required, and nothing was sent: {obstacle}")
        return _json_mode(obstacle)

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        """JSON mode, under `auto` and after a strict selection. The rejection is remembered, also where it is final.

        Args:
            selection: What was asked for and explicitly rejected.
            configured_mode: `auto`, `required` or `compatibility`.
        """
        if selection.mode != "strict":
            return None
        if selection._asked is not None:
            self._remember(selection._asked)
        return _json_mode("the provider rejected the strict schema") if configured_mode == "auto" else None

    def _was_rejected(self, asked: _Asked) -> bool:
        known = self._rejected.get(asked.key)
        # The identity of a transport that is gone may have become another's.
        return known is not None and (known.transport is None or known.transport() is not None)

    def _remember(self, asked: _Asked) -> None:
        self._rejected.pop(asked.key, None)
        self._rejected[asked.key] = asked
        if len(self._rejected) > _REMEMBERED:
            self._rejected.popitem(last=False)


def _strict(schema: Mapping[str, Any], reason: str, asked: _Asked | None) -> StructuredOutputSelection:
    described = {"name": SCHEMA_NAME, "strict": True, "schema": schema}
    return StructuredOutputSelection({"type": "json_schema", "json_schema": described}, "strict", reason, asked)


def _json_mode(reason: str) -> StructuredOutputSelection:
    return StructuredOutputSelection({"type": "json_object"}, "compatibility", reason)


def _asked(capabilities: ModelCapabilities, model: str, schema: Mapping[str, Any]) -> _Asked | None:
    transport: ref[Any] | None = None
    if isinstance(capabilities, _CapabilitiesOf):
        transport = capabilities.transport
        if transport is None:
            return None
    return _Asked(transport, model, hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).digest())
