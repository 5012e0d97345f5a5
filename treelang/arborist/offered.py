"""The tools that are offered to the model, and whether a program keeps to them.

What is found here costs a retry; what only evaluated arguments can tell is found by the evaluator, when it is too late
to ask the model again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from treelang.errors import ASTValidationError
from treelang.language import v1, v2
from treelang.language.defects import fail
from treelang.language.node import IDENTIFIER, Node
from treelang.language.pointer import Path
from treelang.language.program import Program
from treelang.tools.definition import ToolDefinition


class OfferedTools:
    """The tools of one evaluation, by name, in the order in which they were selected.

    Args:
        selected: What a selector gave: definitions, or mappings that say the same.
        schema_version: The format of the programs that are to call them.

    Raises:
        ProviderResponseError: A definition is not valid.
        ASTValidationError: Two tools have the same name, or programs of the format cannot name one.
    """

    def __init__(self, selected: Iterable[ToolDefinition | Mapping[str, Any]], schema_version: str) -> None:
        self.definitions = [ToolDefinition.of(metadata) for metadata in selected]
        self._by_name = {definition.name: definition for definition in self.definitions}
        if len(self._by_name) < len(self.definitions):
            raise ASTValidationError("two of the selected tools have the same name; select each once")
        for name in self._by_name:
            if schema_version == "2.0" and re.fullmatch(IDENTIFIER, name) is None:
                raise ASTValidationError(
                    f"programs of format 2.0 cannot name the tool {name!r}, which is no identifier; "
                    "rename it, select others, or use format 1.0"
                )

    def check(self, program: Program) -> None:
        """Require that a program calls no other tools, and these with as many or with the right arguments.

        Raises:
            ASTValidationError: It does not; the error names the place and the mend.
        """
        pending: list[tuple[Node, Path]] = [(program, None)]
        while pending:
            node, path = pending.pop()
            if isinstance(node, v1.TreeFunction):
                definition = self._find(node.name.removeprefix("functions."), (path, "name"))
                _check_count(definition, len(node.params), (path, "params"))
            elif isinstance(node, v2.TreeToolCall):
                definition = self._find(node.tool, (path, "tool"))
                _check_names(definition, node.arguments.keys(), (path, "arguments"))
            pending.extend(reversed(list(node.children(path))))

    def _find(self, name: str, path: Path) -> ToolDefinition:
        definition = self._by_name.get(name)
        if definition is None:
            names = ", ".join(map(repr, self._by_name))
            fail(
                f"there is no tool {name!r}; " + (f"use one of {names}" if names else "there are no tools at all"), path
            )
        return definition


def _check_count(definition: ToolDefinition, count: int, path: Path) -> None:
    names = list(definition.properties)
    if count > len(names) or (count < len(names) and definition.input_schema is None):
        fail(f"the tool {definition.name!r} takes the params {names}, but {count} are given", path)
    for name in names[count:]:
        if name in definition.complete_schema().get("required", ()):
            fail(f"the tool {definition.name!r} needs the param {name!r}; its params are {names}", path)


def _check_names(definition: ToolDefinition, given: Iterable[str], path: Path) -> None:
    """Judge the names of arguments by the schema's root; what lies deeper is judged with the values."""
    schema = definition.complete_schema()
    given = dict.fromkeys(given)
    for name in schema.get("required", ()):
        if name not in given:
            fail(f"the tool {definition.name!r} needs the argument {name!r}", path)
    if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
        for name in given:
            if name not in definition.properties:
                names = list(definition.properties)
                fail(f"the tool {definition.name!r} has no argument {name!r}; its arguments are {names}", (path, name))
