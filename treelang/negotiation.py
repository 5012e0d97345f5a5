"""What output to ask for, given what a transport can do and what the caller wants (FBK-5 to FBK-11, NEG-1 to NEG-6)."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary, ref

from treelang.errors import StructuredOutputUnsupportedError
from treelang.language.strict.projection import strict_schema
from treelang.language.strict.subset import NotExpressibleError
from treelang.tools.definition import ToolDefinition
from treelang.transports.contract import CapabilityAwareTransport, ModelCapabilities, ModelTransport

SCHEMA_NAME = "treelang_program"
"""What the program's schema is called in a request."""

_JSON_MODE: Mapping[str, Any] = {"type": "json_object"}

_REMEMBERED = 256
"""How many rejections are remembered of one transport; the oldest are forgotten."""

OutputMode: TypeAlias = Literal["strict", "compatibility"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a rejection is about: a transport, a model and a schema."""

    transport: ref[ModelTransport]
    key: tuple[str, str]


@dataclass(frozen=True, slots=True)
class StructuredOutputSelection:
    """What is asked for in a request (NEG-2).

    Attributes:
        response_format: The request's `response_format`, complete, to be sent as it is.
        mode: `strict` where the provider enforces the schema, `compatibility` where the request asks for JSON alone.
        reason: Why, in words for logs and events.
    """

    response_format: Mapping[str, Any]
    mode: OutputMode
    reason: str
    _asked: _Asked | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class _CapabilitiesOf(ModelCapabilities):
    """Capabilities that know whose they are, so that a rejection can be remembered of that transport alone."""

    transport: ref[ModelTransport] | None = None

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

    A rejection is remembered for the transport, the model and the schema that it was about, as long as the transport
    and this negotiator live.
    """

    def __init__(self) -> None:
        self._rejected: WeakKeyDictionary[ModelTransport, OrderedDict[tuple[str, str], None]] = WeakKeyDictionary()

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        """What the transport declares of the model; nothing where it declares nothing (FBK-11)."""
        declared = transport.capabilities(model) if isinstance(transport, CapabilityAwareTransport) else None
        declared = declared if isinstance(declared, ModelCapabilities) else ModelCapabilities()
        owner: ref[ModelTransport] | None = None
        with contextlib.suppress(TypeError):  # of what cannot be referred to weakly, nothing is remembered
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
        tools: Sequence[ToolDefinition] = (),
    ) -> StructuredOutputSelection:
        """Strict output where it is declared, allowed and expressible, and was not rejected before; else JSON mode.

        Args:
            capabilities: What `capabilities` returned, or any other.
            model: The model's name.
            configured_mode: `auto`, `required` or `compatibility`.
            schema_version: The program format, `1.0` or `2.0`.
            tools: The tools that were selected for this request.

        Raises:
            StructuredOutputUnsupportedError: The mode is `required`, and strict output is not declared for the model
                or cannot express the tools.
            ValueError: There is no such mode.
        """
        if configured_mode not in ("auto", "required", "compatibility"):
            raise ValueError(f"there is no mode {configured_mode!r}; it is 'auto', 'required' or 'compatibility'")
        if configured_mode == "compatibility":
            return StructuredOutputSelection(_JSON_MODE, "compatibility", "the configured mode is compatibility")
        if not capabilities.strict_json_schema:
            return _without(configured_mode, f"strict output is not declared for the model {model!r}")
        try:
            schema = strict_schema(schema_version, tools, recursive=capabilities.recursive_schemas)
        except NotExpressibleError as defect:
            return _without(configured_mode, f"strict output cannot express the programs: {defect}")
        asked = _asked(capabilities, model, schema)
        if configured_mode == "auto" and asked is not None and self._was_rejected(asked):
            return StructuredOutputSelection(
                _JSON_MODE, "compatibility", "the provider has rejected strict output before"
            )
        response_format = {
            "type": "json_schema",
            "json_schema": {"name": SCHEMA_NAME, "strict": True, "schema": schema},
        }
        return StructuredOutputSelection(
            response_format, "strict", f"strict output is declared for the model {model!r}", asked
        )

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        """JSON mode, under `auto` and after a strict selection; the rejection is remembered.

        Args:
            selection: What was asked for and explicitly rejected.
            configured_mode: `auto`, `required` or `compatibility`.
        """
        if configured_mode != "auto" or selection.mode != "strict":
            return None
        if selection._asked is not None:
            self._remember(selection._asked)
        return StructuredOutputSelection(_JSON_MODE, "compatibility", "the provider rejected strict output")

    def _was_rejected(self, asked: _Asked) -> bool:
        transport = asked.transport()
        return transport is not None and asked.key in self._rejected.get(transport, ())

    def _remember(self, asked: _Asked) -> None:
        transport = asked.transport()
        if transport is None:
            return
        rejected = self._rejected.setdefault(transport, OrderedDict())
        rejected[asked.key] = None
        if len(rejected) > _REMEMBERED:
            rejected.popitem(last=False)


def _without(configured_mode: str, why: str) -> StructuredOutputSelection:
    """JSON mode, or the refusal of it."""
    if configured_mode == "required":
        raise StructuredOutputUnsupportedError(f"strict output is required, and nothing was sent: {why}")
    return StructuredOutputSelection(_JSON_MODE, "compatibility", why)


def _asked(capabilities: ModelCapabilities, model: str, schema: Mapping[str, Any]) -> _Asked | None:
    transport = capabilities.transport if isinstance(capabilities, _CapabilitiesOf) else None
    if transport is None:
        return None
    digest = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
    return _Asked(transport, (model, digest))
