"""Whether arguments fit a tool: compiled once per definition, a microsecond per call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treelang.errors import InvalidToolArgumentsError
from treelang.language.json_value import NotJSONError, copy_json
from treelang.tools.definition import ToolDefinition
from treelang.tools.schema import compile_schema


class CompiledTool:
    """A tool whose arguments can be validated.

    Attributes:
        definition: The definition that it was compiled from.
        properties: The names of the arguments, in the order of positional parameters.
        schema: The complete JSON Schema of the arguments. Not to be changed.
    """

    def __init__(self, definition: ToolDefinition) -> None:
        self.definition = definition
        self.properties = tuple(definition.properties)
        self.schema = definition.complete_schema()
        self._validator = compile_schema(definition.name, self.schema)
        self._is_valid = self._validator.is_valid

    def __repr__(self) -> str:
        return f"CompiledTool({self.definition.name!r})"

    def validate(self, arguments: Mapping[str, Any]) -> None:
        """Judge the arguments of a call; they are not changed, and no default is added (TOL-5, TOL-6).

        Args:
            arguments: JSON values by name.

        Raises:
            InvalidToolArgumentsError: The schema refuses them; it names the tool, the place and the broken constraint.
        """
        try:
            if self._is_valid(arguments):
                return
        except ValueError:
            pass  # nested without end, or with a key that is no text
        if (reason := self._reason(arguments)) is not None:
            raise InvalidToolArgumentsError(f"the tool {self.definition.name!r} refuses its arguments: {reason}")

    def _reason(self, arguments: Mapping[str, Any]) -> str | None:
        """The place and the broken constraint, but never the value; `None` where there is nothing to say."""
        try:
            error = next(iter(self._validator.iter_errors(copy_json(arguments))), None)
        except NotJSONError as error:
            return f"at {_dotted(error.pointer.split('/')[1:])} is no JSON value: {error}"
        if error is None:
            return None
        return f"at {_dotted(error.instance_path)} the constraint {error.kind.name!r} is broken"


def _dotted(steps: Sequence[str | int]) -> str:
    return repr(".".join(map(str, steps)) or "<root>")


def compile_tool(definition: ToolDefinition | Mapping[str, Any]) -> CompiledTool:
    """Make the arguments of a tool judgeable; equal schemas are compiled once.

    Args:
        definition: A definition, or a provider's mapping that says the same.

    Raises:
        ProviderResponseError: It is no valid definition.
    """
    return CompiledTool(ToolDefinition.of(definition))
