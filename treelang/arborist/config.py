"""How an arborist asks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

SchemaVersion: TypeAlias = Literal["1.0", "2.0"]
"""The format of the programs that are asked for."""

StructuredOutputMode: TypeAlias = Literal["auto", "required", "compatibility"]
"""Whether the program format is enforced by the provider: where it can be, always, or never (FBK-5 to FBK-7)."""


@dataclass(frozen=True, slots=True)
class ArboristConfig:
    """The settings of an arborist. They are of no provider, and none changes while an arborist lives.

    Raises:
        ValueError: A setting is out of its range; the message names it.
    """

    model: str
    """The model's name, as its provider spells it."""
    api_key: str | None = field(default=None, repr=False)
    """The credential of a transport that the arborist makes itself; by default the SDK's environment variable."""
    temperature: float | None = 0.0
    """Sent to models that take one, as their transport declares; `None` leaves it to the provider always."""
    timeout: float | None = None
    """Seconds for a whole evaluation, tools included; `None` sets no deadline. Whose passing is a plain
    `TimeoutError`."""
    validation_retries: int = 2
    """How often the model is asked again after an answer that is no valid program (FBK-10)."""
    schema_version: SchemaVersion = "1.0"
    """The format of the programs that are asked for."""
    structured_output_mode: StructuredOutputMode = "auto"
    """`auto`: enforced by the provider where it can be. `required`: enforced or refused. `compatibility`: never."""
    base_url: str | None = None
    """Where a transport that the arborist makes itself sends its requests; by default the provider's own address."""
    max_tokens: int | None = None
    """Tokens that an answer may have; `None` leaves it to the transport and the provider."""

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("model must name a model")
        for name in ("temperature", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a non-negative number, or None")
        if self.validation_retries < 0:
            raise ValueError("validation_retries must be non-negative")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError("max_tokens must be positive, or None")
        for name, choices in (("schema_version", SchemaVersion), ("structured_output_mode", StructuredOutputMode)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name} must be one of {', '.join(map(repr, get_args(choices)))}")
