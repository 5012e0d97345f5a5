"""Format 1.0 in strict words.

Every alternative begins with a key that no other begins with, so that a decoder knows by it which one it is in. `map`,
`filter` and `reduce` look alike and are one alternative. A lambda on its own computes nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from treelang.language.strict.subset import Definitions, Schema, array, closed_object, one_of, reference, words

_PARAMS = ("item", "accumulator")
"""What lambdas may call their parameters where strict output takes no pattern for names."""

_NAME = {"type": "string", "pattern": "^.+$"}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_TITLE = {"type": ["string", "null"]}


def constants(*, recursive: bool) -> Definitions:
    """What a constant may be in either format: no object, since a free one is none that strict output takes."""
    return {
        "Scalar": _SCALAR,
        "Constant": one_of(reference("Scalar"), array(reference("Constant" if recursive else "Scalar"))),
    }


def program_fields(version: str, *, titles: bool) -> Schema:
    """The properties that the programs of both formats begin with."""
    return {
        "mode": words("single", "parallel"),
        "type": words("program"),
        **({"name": _TITLE, "description": _TITLE} if titles else {}),
        "schema_version": words(version),
    }


def project(tools: Sequence[str], levels: int | None) -> Schema:
    """The schema of programs that call these tools.

    Args:
        tools: The names of the tools.
        levels: How many nodes may be nested below one another; `None` for any number, by recursion.
    """
    recursive = levels is None
    definitions = constants(recursive=recursive)
    name = _NAME if recursive else words("value", *_PARAMS)
    definitions["Value"] = closed_object({"value": reference("Constant"), "type": words("value"), "name": name})
    if tools:
        definitions["ToolName"] = words(*tools)
    fields = program_fields("1.0", titles=recursive)
    if levels is None:
        program = closed_object({**fields, "body": array(reference("Node"))})
        definitions["Program"] = program
        _define_nodes(definitions, "", "Node", "Node")
        definitions["Node"]["anyOf"].append(reference("Program"))
        return {**program, "$defs": definitions}
    nodes = ["Value", *(f"Node{level}" for level in range(1, levels + 1))]
    for level in range(1, levels + 1):
        # A lambda's function is a level of its own.
        _define_nodes(definitions, str(level), nodes[level - 1], nodes[max(level - 2, 0)])
    return {**closed_object({**fields, "body": array(reference(nodes[-1]))}), "$defs": definitions}


def _define_nodes(definitions: Definitions, level: str, inner: str, innermost: str) -> None:
    """Add `Node` of a level.

    Args:
        definitions: Where to add it.
        level: What distinguishes it from the nodes of other levels.
        inner: What its own nodes are.
        innermost: What the nodes are that a lambda's function is given.
    """
    recursive = inner == innermost == "Node"
    missing = ({"type": "null"},) if recursive else ()
    definitions[f"Conditional{level}"] = closed_object(
        {
            "condition": reference(inner),
            "type": words("conditional"),
            "true_branch": reference(inner),
            "false_branch": one_of(reference(inner), *missing),
        }
    )
    alternatives = [reference("Value"), reference(f"Conditional{level}")]
    if "ToolName" in definitions:
        definitions[f"Function{level}"] = _function(inner)
        if inner != innermost:
            definitions[f"LambdaBody{level}"] = _function(innermost)
        definitions[f"Lambda{level}"] = closed_object(
            {
                "params": array(_NAME if recursive else words(*_PARAMS)),
                "type": words("lambda"),
                "body": reference(f"Function{level}" if inner == innermost else f"LambdaBody{level}"),
            }
        )
        definitions[f"Iteration{level}"] = closed_object(
            {
                "iterable": reference(inner),
                "type": words("map", "filter", "reduce"),
                "function": reference(f"Lambda{level}"),
            }
        )
        alternatives += [reference(f"Function{level}"), reference(f"Iteration{level}")]
    definitions[f"Node{level}"] = one_of(*alternatives)


def _function(params: str) -> Schema:
    return closed_object({"name": reference("ToolName"), "type": words("function"), "params": array(reference(params))})
