"""What the nodes of both formats have in common: closed, typed, immutable models, and where their children are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic import JsonValue as PydanticJsonValue

from treelang.language.json_value import copy_json
from treelang.language.pointer import Path

MAX_DEPTH = 10_000
"""How deep nodes may be nested, the program counted as 1. It bounds what is read; an evaluation has its own limits."""

JsonValue: TypeAlias = Annotated[
    PydanticJsonValue, PlainValidator(copy_json), WithJsonSchema({"description": "Any JSON value."})
]
"""A JSON value that belongs to the node alone: it was copied from what was given."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]*$"
Identifier: TypeAlias = Annotated[str, Field(min_length=1, pattern=IDENTIFIER)]


class Node(BaseModel):
    """A node of a program.

    A node that was read may be deeper than Python's recursion limit allows its own methods to go: what walks over
    nodes here uses a stack of its own, and nothing compares or dumps whole trees with the methods of the models.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: str
    child_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that hold nodes: one, several in a tuple, or several by name."""

    def children(self, path: Path) -> Iterator[tuple[Node, Path]]:
        """The nodes directly below this one, in the order of the text, each with its path."""
        for field in self.child_fields:
            held: Any = getattr(self, field)
            if isinstance(held, Node):
                yield held, (path, field)
            elif held is not None:
                below = (path, field)
                entries = held.items() if isinstance(held, dict) else enumerate(held)
                for key, child in entries:
                    yield child, (below, key)
