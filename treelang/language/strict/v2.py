"""Format 2.0 in strict words: a tool call for each tool, with that tool's own arguments.

Every alternative begins with a key that no other begins with, tool calls among each other with another tool, so that a
decoder knows by it which one it is in. Where a schema may not refer to itself, functions are left out: what they are
for is recursion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from treelang.language.node import IDENTIFIER
from treelang.language.strict.shapes import CONSTANT
from treelang.language.strict.subset import Definitions, Schema, array, closed_object, one_of, reference, words
from treelang.language.strict.v1 import constants, program_fields

_IDENTIFIER = {"type": "string", "pattern": IDENTIFIER}
_Tools: TypeAlias = Mapping[str, Sequence[Schema]]
_Literals: TypeAlias = dict[str, str]
"""The definition of a literal by the text of its value's schema."""


def project(tools: _Tools, levels: int | None) -> Schema:
    """The schema of programs that call these tools.

    Args:
        tools: By the tools' names, which arguments can be given together, and what each may be.
        levels: How many expressions may be nested below one another; `None` for any number, by recursion.
    """
    recursive = levels is None
    definitions = constants(recursive=recursive)
    definitions["Literal"] = _literal(CONSTANT)
    literals: _Literals = {json.dumps(CONSTANT): "Literal"}
    for choices in tools.values():
        for value in (value for arguments in choices for value in arguments.values()):
            name = literals.setdefault(json.dumps(value), f"Literal{len(literals)}")
            definitions[name] = _literal(value)
    fields = program_fields("2.0", titles=recursive)
    if levels is None:
        _define_expressions(definitions, tools, literals, "", "")
        functions = array(reference("FunctionDefinition"))
        expressions = array(reference("Expression"))
        return {
            **closed_object({**fields, "definitions": functions, "body": {**expressions, "minItems": 1}}),
            "$defs": definitions,
        }
    for level in range(1, levels + 1):
        _define_expressions(definitions, tools, literals, str(level), str(level - 1) if level > 1 else None)
    body = {**array(reference(f"Expression{levels}")), "minItems": 1}
    return {**closed_object({**fields, "body": body}), "$defs": definitions}


def _literal(value: Schema) -> Schema:
    return closed_object({"value": value, "type": words("literal")})


def _define_expressions(
    definitions: Definitions, tools: _Tools, literals: _Literals, level: str, inner: str | None
) -> None:
    """Add `Expression` of a level, and `Computed`, which is any but a literal.

    Args:
        definitions: Where to add them.
        tools: As in `project`.
        literals: The names of the literals' definitions.
        level: What distinguishes them from the expressions of other levels.
        inner: The level of the expressions in them; `None` where these are literals.
    """

    def expression(value: Schema) -> Schema:
        """An expression of the inner level; what of it is a literal has this value."""
        literal = literals[json.dumps(value)]
        if inner is None:
            return reference(literal)
        if value == CONSTANT:
            return reference(f"Expression{inner}")
        name = f"{literal}OrComputed{inner}"
        definitions[name] = one_of(reference(literal), reference(f"Computed{inner}"))
        return reference(name)

    computed = {
        f"Conditional{level}": closed_object(
            {
                "condition": expression(CONSTANT),
                "type": words("conditional"),
                "true_branch": expression(CONSTANT),
                "false_branch": expression(CONSTANT),
            }
        )
    }
    if level == inner:
        computed |= _functions()
        definitions["FunctionDefinition"] = closed_object(
            {
                "name": _IDENTIFIER,
                "type": words("function_definition"),
                "params": array(_IDENTIFIER),
                "body": expression(CONSTANT),
            }
        )
    for number, (tool, choices) in enumerate(tools.items()):
        arguments = [closed_object({name: expression(one[name]) for name in one}) for one in choices]
        computed[f"ToolCall{level}_{number}"] = closed_object(
            {"tool": words(tool), "type": words("tool_call"), "arguments": one_of(*arguments)}
        )
    definitions |= computed
    definitions[f"Computed{level}"] = {"anyOf": [reference(name) for name in computed]}
    definitions[f"Expression{level}"] = one_of(reference("Literal"), reference(f"Computed{level}"))


def _functions() -> Definitions:
    """The expressions that there are because there are functions, and memos, whose keys are names too."""
    return {
        "Variable": closed_object({"name": _IDENTIFIER, "type": words("variable")}),
        "Call": closed_object(
            {"function": _IDENTIFIER, "type": words("call"), "arguments": array(reference("Expression"))}
        ),
        "Memo": closed_object({"key": _IDENTIFIER, "type": words("memo"), "expression": reference("Expression")}),
    }
