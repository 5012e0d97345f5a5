"""The closed projection of a program format: a JSON Schema that strict structured output takes.

Providers enforce a subset of JSON Schema: every object closed and all of its properties required, no free-form
objects, few keywords. The projection accepts fewer programs than the format, and none that the format refuses.

Some providers take no schema that refers to itself, and a program does. For those the nodes are written out level by
level, as many levels as their bounds allow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from treelang.language.node import IDENTIFIER
from treelang.language.strict import v1, v2
from treelang.language.strict.arguments import ToolArguments
from treelang.language.strict.bounds import find_excess
from treelang.language.strict.subset import NotExpressibleError, Schema
from treelang.tools.definition import ToolDefinition

_DEEPEST, _SHALLOWEST = 4, 2
"""How many levels of nodes are written out. One alone would be calls of tools with constants, and to force that upon a
model is worse than only to ask it for a program."""


def strict_schema(version: str, tools: Sequence[ToolDefinition | Mapping[str, Any]], *, recursive: bool) -> Schema:
    """The schema by which a model writes a program of a format for these tools, and nothing else.

    Args:
        version: The format, `1.0` or `2.0`.
        tools: What the program may call.
        recursive: Whether the provider takes a schema that refers to itself, and patterns.

    Raises:
        NotExpressibleError: The tools do not fit into what strict output takes; the message says why.
        ValueError: There is no such format.
        ProviderResponseError: A tool is no valid definition.
    """
    if version not in ("1.0", "2.0"):
        raise ValueError(f"there is no format {version!r}; it is '1.0' or '2.0'")
    arguments = {tool.name: ToolArguments(tool) for tool in map(ToolDefinition.of, tools)}
    _require_callable(version, arguments)
    # The smallest first: if it does not fit, none does.
    least = _project(version, arguments, None if recursive else _SHALLOWEST, optional=False)
    if (excess := find_excess(least, recursive=recursive)) is not None:
        raise NotExpressibleError(f"the schema for these tools has {excess}")
    depths = (None,) if recursive else range(_DEEPEST, _SHALLOWEST - 1, -1)
    wider = (_project(version, arguments, levels, optional=True) for levels in depths)
    return next((schema for schema in wider if find_excess(schema, recursive=recursive) is None), least)


def _require_callable(version: str, tools: Mapping[str, ToolArguments]) -> None:
    for tool, arguments in tools.items():
        if version == "2.0" and re.fullmatch(IDENTIFIER, tool) is None:
            raise NotExpressibleError(f"the tool {tool!r} has a name that format 2.0 cannot call")
        if version == "1.0":
            # A constant does not know there to which tool it is given, and so cannot have the shape of an argument.
            for name in arguments.requiring_objects():
                raise NotExpressibleError(
                    f"the argument {name!r} of the tool {tool!r}: it is an object, and constants of format 1.0 are none"
                )


def _project(version: str, tools: Mapping[str, ToolArguments], levels: int | None, *, optional: bool) -> Schema:
    if version == "1.0":
        return v1.project(list(tools), levels)
    return v2.project({name: arguments.choices(optional=optional) for name, arguments in tools.items()}, levels)
