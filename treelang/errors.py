"""The error hierarchy: what may leave a boundary of treelang, and nothing else may.

First the model boundary, then tools and programs.

Messages are made of kinds, statuses and names that treelang itself knows. A provider's words are never
copied into them, since providers echo prompts and keys (clause SEC-1); the original exception stays
reachable as `__cause__` (clause ERR-9).
"""

from __future__ import annotations

from typing import Any


class TreelangError(Exception):
    """The root of every error that treelang raises on purpose."""


class ProviderResponseError(TreelangError, RuntimeError):
    """The provider's answer cannot be used: invalid, incomplete or refused (clauses CMP-7, CMP-8, STR-5, STR-6).

    Attributes:
        provider: Name of the deployment that failed, never empty for an error of a transport (ERR-6).
        status_code: HTTP status of a failing response; `None` where there was none, and for an error that
            the provider reported under a successful status (ERR-7).
        retry_after: Seconds to wait before another attempt, finite and >= 0, or `None` (ERR-8).
        code: The provider's own error type or code, where it gave one that is safe to show (ERR-15).
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        status_code: int | None = None,
        retry_after: float | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.status_code = status_code
        self.retry_after = retry_after
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only attributes would be lost by the default protocol (ERR-13).
        return _rebuild, (type(self), self.args, dict(vars(self)))


def _rebuild(
    error_type: type[ProviderResponseError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> ProviderResponseError:
    error = error_type(*args)
    vars(error).update(attributes)
    return error


class ModelTransportError(ProviderResponseError):
    """Any failure of the SDK, of HTTP or of the provider that has no more specific kind (ERR-5)."""


class ModelAuthenticationError(ModelTransportError):
    """The credential was not accepted or not permitted: 401 and 403 (ERR-1)."""


class ModelRateLimitError(ModelTransportError):
    """The provider asks for fewer requests: 429 (ERR-2)."""


class ModelTimeoutError(ModelTransportError, TimeoutError):
    """A timeout of the SDK: connect, read, write or pool (ERR-3). Never the caller's own deadline (ERR-12)."""


class ModelConnectionError(ModelTransportError, ConnectionError):
    """The provider could not be reached or hung up (ERR-4, STR-8)."""


class ModelRequestError(ProviderResponseError, ValueError):
    """The request cannot be expressed on the wire and was not sent (CMP-6)."""


class StructuredOutputUnsupportedError(ProviderResponseError):
    """The provider explicitly rejected strict structured output (FBK-2); never another failure (FBK-3)."""


class MissingDependencyError(TreelangError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


class PlacedError(TreelangError):
    """An error about one place of a program.

    Attributes:
        pointer: JSON pointer (RFC 6901) of that place, `""` for the program itself; `None` where the failure has no
            place in a program, for instance when a tool is called directly.
    """

    def __init__(self, message: str, *, pointer: str | None = None) -> None:
        super().__init__(message)
        self.pointer = pointer

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.pointer is None else f"{message} (at {_shortened(self.pointer) or 'the root'})"


def _shortened(pointer: str) -> str:
    """A pointer as a line of text can hold it: the middle of a very deep one says nothing."""
    return pointer if len(pointer) <= 200 else f"{pointer[:80]}...{pointer[-80:]}"


class ToolNotFoundError(PlacedError, ValueError):
    """The provider has no tool of that name (TOL-1)."""


class ToolExecutionError(PlacedError, RuntimeError):
    """The tool failed, or gave back what is no JSON value (TOL-4). What it raised is `__cause__`."""


class ASTValidationError(PlacedError, ValueError):
    """The program is not valid: no JSON, not of its format, or not fit for the tools that it names."""


class InvalidToolArgumentsError(ToolExecutionError, ASTValidationError):
    """Evaluated arguments that the tool's schema refuses; the tool was not called (TOL-5)."""


class ASTExecutionError(PlacedError, RuntimeError):
    """A valid program that could not be carried through."""


class ASTTypeError(ASTExecutionError, TypeError):
    """A value of the wrong type where the program needs another, such as a `map` over something that is no list."""


class ExecutionLimitError(ASTExecutionError):
    """The execution needed more of a resource than it was granted. Limits are inclusive.

    Attributes:
        resource: `nodes`, `depth`, `call_depth`, `tool_calls` or `wall_clock_seconds`.
        limit: The limit that was crossed, in units of the resource.
    """

    def __init__(self, resource: str, limit: float, *, pointer: str | None = None) -> None:
        super().__init__(f"the execution limit of {resource} is exceeded: {limit}", pointer=pointer)
        self.resource = resource
        self.limit = limit

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.resource, self.limit), dict(vars(self))
