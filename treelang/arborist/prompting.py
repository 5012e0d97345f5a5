"""What is said to the model. The words are in the files of the folder `prompts`; here they are filled in.

A prompt is filled in one pass, so that nothing which a tool, a user or a model wrote is taken for a place to fill. The
instructions begin with what never changes and end with the tools, as prompt caches want it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from importlib.resources import files

from treelang.tools.definition import ToolDefinition

_PLACE = re.compile(r"\{\{(\w+)\}\}")


def instructions(schema_version: str, tools: Iterable[ToolDefinition]) -> str:
    """How to write a program of a format, and with which tools: the system message.

    It is the same whether or not the provider enforces the format, so that a fallback changes nothing else (FBK-14).
    It holds the word JSON, which some providers demand in JSON mode (FBK-12).

    Args:
        schema_version: The format.
        tools: The selected tools, in the order in which the model is to read of them.
    """
    lines = [_tool_line(tool) for tool in tools]
    listed = _filled("tools", tools="\n".join(lines)) if lines else _filled("no-tools")
    return _filled(f"instructions-{schema_version}", tools=listed)


def correction(error: Exception) -> str:
    """What the user turn says that follows an answer which is no valid program."""
    return _filled("correction", error=str(error))


def _tool_line(tool: ToolDefinition) -> str:
    line = {
        "name": tool.name,
        "description": tool.description,
        "parameters": list(tool.properties),
        "input_schema": tool.complete_schema(),
    }
    return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


def _filled(prompt: str, **values: str) -> str:
    return _PLACE.sub(lambda place: values[place[1]], _text(prompt))


@functools.cache
def _text(prompt: str) -> str:
    return files("treelang.arborist").joinpath("prompts", f"{prompt}.md").read_text("utf-8").strip()
