"""What a program looks like to a reader: a line for each node, and what it needs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from treelang.language import v1, v2
from treelang.language.node import Node
from treelang.language.program import Program

_DEEPEST_INDENT = 30
"""Levels below are not indented further, or a deep program would be mostly blanks."""
_LONGEST_VALUE = 60
"""Characters of a constant that are shown."""


def outline(program: Program) -> Iterator[str]:
    """The lines that show a program: first what it needs, then its nodes."""
    nodes = list(_nodes(program))
    depth = max(depth for _, depth in nodes)
    yield f"format {program.schema_version}, {counted(len(nodes), 'node')}, {counted(depth, 'level')}"
    calls = Counter(name for node, _ in nodes if (name := called_tool(node)) is not None)
    yield "tools: " + (", ".join(f"{name} ({counted(count, 'call')})" for name, count in calls.items()) or "none")
    yield ""
    for node, depth in nodes:
        yield "  " * min(depth - 1, _DEEPEST_INDENT) + _label(node)


def count_nodes(program: Program) -> int:
    """How many nodes a program has, itself counted."""
    return sum(1 for _ in _nodes(program))


def called_tool(node: Node) -> str | None:
    """The tool that a node calls."""
    return node.tool if isinstance(node, v1.TreeFunction | v2.TreeToolCall) else None


def counted(count: int, noun: str) -> str:
    """So many things in words."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _nodes(program: Program) -> Iterator[tuple[Node, int]]:
    """The nodes in the order of the text, each with how deep it is nested; the program is at 1."""
    pending: list[tuple[Node, int]] = [(program, 1)]
    while pending:
        node, depth = pending.pop()
        yield node, depth
        pending.extend((child, depth + 1) for child, _ in reversed(list(node.children(None))))


def _label(node: Node) -> str:
    match node:
        case v1.TreeValue(name=name, value=value):
            return f"value {name} = {_shortened(value)}"
        case v2.TreeLiteral(value=value):
            return f"literal {_shortened(value)}"
        case v1.TreeLambda(params=params):
            return f"lambda ({', '.join(params)})"
        case v2.TreeFunctionDefinition(name=name, params=params):
            return f"function_definition {name} ({', '.join(params)})"
        case v2.TreeToolCall(tool=tool, arguments=arguments):
            return f"tool_call {tool} ({', '.join(arguments)})"
        case (
            v2.TreeCall(function=name) | v2.TreeVariable(name=name) | v2.TreeMemo(key=name) | v1.TreeFunction(name=name)
        ):
            return f"{node.type} {name}"
        case v1.TreeProgram() | v2.TreeProgram():
            return " ".join(["program", node.mode, *([repr(node.name)] if node.name else [])])
    return node.type


def _shortened(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
