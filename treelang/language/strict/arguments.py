"""Which arguments of a tool strict output can express, and which of them can be given together."""

from __future__ import annotations

from collections.abc import Iterable

from treelang.language.strict.shapes import Shapes, has_default, holds_object, takes_null
from treelang.language.strict.subset import NotExpressibleError, Schema
from treelang.tools.definition import ToolDefinition


class ToolArguments:
    """The arguments of a tool that strict output can express.

    A required argument has to be; an optional one is left out where it cannot.

    Args:
        tool: The tool.

    Attributes:
        values: What each argument may be, by name, in the order of positional parameters.

    Raises:
        NotExpressibleError: A required argument cannot be expressed, or it cannot be told which are required.
    """

    def __init__(self, tool: ToolDefinition) -> None:
        shapes = Shapes(tool.complete_schema())
        try:
            self._required = shapes.required()
        except NotExpressibleError as defect:
            raise NotExpressibleError(f"the arguments of the tool {tool.name!r}: {defect}") from None
        self._settled: list[str] = []
        self._optional: list[str] = []
        self.values: dict[str, Schema] = {}
        for name, described in tool.properties.items():
            schema = dict(described)
            try:
                value = shapes.value(schema)
                if not name:
                    raise NotExpressibleError("it has no name")
            except NotExpressibleError as defect:
                if name in self._required:
                    raise NotExpressibleError(f"the argument {name!r} of the tool {tool.name!r}: {defect}") from None
                continue
            self.values[name] = value
            settled = name in self._required or takes_null(value) or has_default(schema)
            (self._settled if settled else self._optional).append(name)
        for name in sorted(self._required - self.values.keys()):
            raise NotExpressibleError(f"the argument {name!r} of the tool {tool.name!r}: it is not described")

    def choices(self, *, optional: bool) -> list[dict[str, Schema]]:
        """Which arguments can be given together, and what each may be.

        In strict output every property is required. What takes null, or has a default that can be written down, loses
        nothing by that. Of other optional arguments, the first ones are given: none, the first, the first two and so
        on. Each choice begins with another name, by which a decoder tells it from the others.

        Args:
            optional: Whether there is room for those; else none of them can be given.
        """
        some = [[name, *self._optional[:index]] for index, name in enumerate(self._optional)] if optional else []
        return [{name: self.values[name] for name in (*names, *self._settled)} for names in ([], *some)]

    def requiring_objects(self) -> Iterable[str]:
        """The required arguments that are, or hold, objects."""
        return (name for name, value in self.values.items() if name in self._required and holds_object(value))
