"""Format 2.0: declared functions with lexical parameters, recursion, tool calls by name, memoised expressions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, Strict
from typing_extensions import TypeAliasType

from treelang.language.node import IDENTIFIER, Identifier, JsonValue, Name, Node


def _publish_arguments(schema: dict[str, Any]) -> None:
    """Describe the arguments as the format does: it says nothing about names that are no identifiers.

    Tools have such names (`file-path`), so the model takes them too, with an expression like any other.
    """
    schema["patternProperties"] = {IDENTIFIER: schema.pop("additionalProperties")}


class TreeLiteral(Node):
    """A constant."""

    type: Literal["literal"] = "literal"
    value: JsonValue


class TreeVariable(Node):
    """The value of a parameter of the enclosing function."""

    type: Literal["variable"] = "variable"
    name: Identifier


class TreeCall(Node):
    """A call of a function of this program: as many arguments as it has parameters, evaluated first."""

    child_fields: ClassVar[tuple[str, ...]] = ("arguments",)

    type: Literal["call"] = "call"
    function: Identifier
    arguments: Expressions = ()


class TreeToolCall(Node):
    """A call of a tool with named arguments."""

    child_fields: ClassVar[tuple[str, ...]] = ("arguments",)

    type: Literal["tool_call"] = "tool_call"
    tool: Identifier
    arguments: ToolArguments = Field(default_factory=dict)


class TreeConditional(Node):
    """Evaluates the condition, and then only the branch that it chooses."""

    child_fields: ClassVar[tuple[str, ...]] = ("condition", "true_branch", "false_branch")

    type: Literal["conditional"] = "conditional"
    condition: Expression
    true_branch: Expression
    false_branch: Expression


class TreeMemo(Node):
    """Evaluates an expression without variables once in a run of the program, whoever asks for its key."""

    child_fields: ClassVar[tuple[str, ...]] = ("expression",)

    type: Literal["memo"] = "memo"
    key: Identifier
    expression: Expression


class TreeFunctionDefinition(Node):
    """A function of this program, visible in all of it, also to itself. Its body sees its parameters alone."""

    child_fields: ClassVar[tuple[str, ...]] = ("body",)

    type: Literal["function_definition"] = "function_definition"
    name: Identifier
    params: Annotated[tuple[Identifier, ...], Strict(False)] = ()
    body: Expression


class TreeProgram(Node):
    """A program. Its result is the value of its one body expression, or the list of its body expressions' values."""

    child_fields: ClassVar[tuple[str, ...]] = ("definitions", "body")

    type: Literal["program"] = "program"
    definitions: Annotated[tuple[TreeFunctionDefinition, ...], Strict(False)] = ()
    body: Annotated[tuple[Expression, ...], Strict(False), Field(min_length=1)]
    mode: Literal["single", "parallel"] = "single"
    name: str | None = None
    description: str | None = None
    schema_version: Literal["2.0"] = "2.0"


Expression = TypeAliasType(
    "Expression",
    Annotated[
        TreeLiteral | TreeVariable | TreeCall | TreeToolCall | TreeConditional | TreeMemo, Field(discriminator="type")
    ],
)
Expressions: TypeAlias = Annotated[tuple[Expression, ...], Strict(False)]
ToolArguments: TypeAlias = Annotated[dict[Name, Expression], Field(json_schema_extra=_publish_arguments)]

for _model in (TreeCall, TreeToolCall, TreeConditional, TreeMemo, TreeFunctionDefinition, TreeProgram):
    _model.model_rebuild()
