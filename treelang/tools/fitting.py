"""Whether a program fits the tools that there are, as far as it can be told before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treelang.language import v1, v2
from treelang.language.defects import fail
from treelang.language.node import Node
from treelang.language.pointer import Path
from treelang.language.program import Program
from treelang.tools.definition import ToolDefinition


def check_fit(program: Program, tools: Mapping[str, ToolDefinition]) -> None:
    """Require that a program calls no other tools, and these with as many or with the right arguments.

    The values of arguments are judged when they are there, by the evaluator.

    Raises:
        ASTValidationError: It does not; the error names the place and the mend.
    """
    pending: list[tuple[Node, Path]] = [(program, None)]
    while pending:
        node, path = pending.pop()
        if isinstance(node, v1.TreeFunction):
            definition = _find(tools, node.tool, (path, "name"))
            _check_count(definition, len(node.params), (path, "params"))
        elif isinstance(node, v2.TreeToolCall):
            definition = _find(tools, node.tool, (path, "tool"))
            _check_names(definition, node.arguments.keys(), (path, "arguments"))
        pending.extend(reversed(list(node.children(path))))


def _find(tools: Mapping[str, ToolDefinition], name: str, path: Path) -> ToolDefinition:
    definition = tools.get(name)
    if definition is None:
        names = ", ".join(map(repr, tools))
        fail(f"there is no tool {name!r}; " + (f"use one of {names}" if names else "there are no tools at all"), path)
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
