"""Format 1.0: tool calls with positional parameters, conditionals, and lambdas over lists."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, Strict
from typing_extensions import TypeAliasType

from treelang.language.node import JsonValue, Name, Node


class TreeValue(Node):
    """A constant. In a lambda, a value named like one of its parameters stands for that parameter."""

    type: Literal["value"] = "value"
    name: Name
    value: JsonValue


class TreeFunction(Node):
    """A call of a tool. The params are positional: the first one is the tool's first property, and so on."""

    child_fields: ClassVar[tuple[str, ...]] = ("params",)

    type: Literal["function"] = "function"
    name: Name
    params: Nodes

    @property
    def tool(self) -> str:
        """The tool's name; models put `functions.` before it, as they do with tools of their own."""
        return self.name.removeprefix("functions.")


class TreeConditional(Node):
    """Evaluates the condition, and then only the branch that it chooses; null where that branch is missing."""

    child_fields: ClassVar[tuple[str, ...]] = ("condition", "true_branch", "false_branch")

    type: Literal["conditional"] = "conditional"
    condition: AnyNode
    true_branch: AnyNode
    false_branch: AnyNode | None = None


class TreeLambda(Node):
    """A call of a tool with open places: every parameter is the name of at least one value in the body."""

    child_fields: ClassVar[tuple[str, ...]] = ("body",)

    type: Literal["lambda"] = "lambda"
    params: Annotated[tuple[str, ...], Strict(False)]
    body: TreeFunction


class _Iteration(Node):
    child_fields: ClassVar[tuple[str, ...]] = ("function", "iterable")

    function: TreeLambda
    iterable: AnyNode


class TreeMap(_Iteration):
    """The list of what the lambda, of one parameter, gives for each item of the iterable."""

    type: Literal["map"] = "map"


class TreeFilter(_Iteration):
    """The list of those items of the iterable for which the lambda, of one parameter, gives a true value."""

    type: Literal["filter"] = "filter"


class TreeReduce(_Iteration):
    """Folds the iterable with a lambda of two parameters, accumulator and item.

    The accumulator's value is what the folding starts from; null starts from the first item.
    """

    type: Literal["reduce"] = "reduce"


class TreeProgram(Node):
    """A program. Its result is the value of its one body node, or the list of its body nodes' values."""

    child_fields: ClassVar[tuple[str, ...]] = ("body",)

    type: Literal["program"] = "program"
    body: Nodes
    mode: Literal["single", "parallel"]
    name: str | None = None
    description: str | None = None
    schema_version: Literal["1.0"] = "1.0"


AnyNode = TypeAliasType(
    "AnyNode",
    Annotated[
        TreeProgram | TreeFunction | TreeValue | TreeConditional | TreeLambda | TreeMap | TreeFilter | TreeReduce,
        Field(discriminator="type"),
    ],
)
Nodes: TypeAlias = Annotated[tuple[AnyNode, ...], Strict(False)]

for _model in (TreeFunction, TreeConditional, TreeLambda, TreeMap, TreeFilter, TreeReduce, TreeProgram):
    _model.model_rebuild()
