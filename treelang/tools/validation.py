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
        if (error := self._refusal(arguments)) is not None:
            raise error

    def _refusal(self, arguments: Mapping[str, Any]) -> InvalidToolArgumentsError | None:
        """What is wrong with the arguments, judged once more as what JSON makes of them."""
        try:
            error = next(iter(self._validator.iter_errors(copy_json(arguments))), None)
        except NotJSONError as defect:
            return refusal(self.definition.name, defect.pointer.split("/")[1:], "JSON")
        if error is None:
            return None
        constraint = error.kind.name
        # What is missing is named by the schema, so it is nothing that the caller gave.
        missing = error.kind.property if constraint == "required" else None
        return refusal(self.definition.name, error.instance_path, constraint, missing)


def refusal(
    tool: str, path: Sequence[str | int], constraint: str, missing: str | None = None
) -> InvalidToolArgumentsError:
    """The error of arguments that do not fit: it names tool, path and constraint, and never the value (TOL-5)."""
    place = ".".join(map(str, path)) or "<root>"
    detail = "" if missing is None else f", {missing!r} is missing"
    return InvalidToolArgumentsError(
        f"the tool {tool!r} refuses its arguments: at {place!r} the constraint {constraint!r} is broken{detail}"
    )


def compile_tool(definition: ToolDefinition | Mapping[str, Any]) -> CompiledTool:
    """Make the arguments of a tool judgeable; equal schemas are compiled once.

    Args:
        definition: A definition, or a provider's mapping that says the same.

    Raises:
        ProviderResponseError: It is no valid definition.
    """
    return CompiledTool(ToolDefinition.of(definition))
