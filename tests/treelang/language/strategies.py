"""Made-up programs of both formats, as the JSON that a model would write, valid by construction.

They call the tools of `TOOLS`, and refer only to names that are there; what they compute is of no use to anybody.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

TOOLS = {"answer": [], "same": ["x"], "next": ["n"], "pair": ["a", "b"], "less": ["a", "b"], "three": ["a", "b", "c"]}
"""Names of tools, and of their properties in order."""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
lists = st.lists(st.integers(-3, 3), max_size=4)
titles = st.none() | st.text(st.characters(codec="utf-8"), max_size=5)
modes = st.sampled_from(["single", "parallel"])


@st.composite
def programs_v1(draw: st.DrawFn) -> dict[str, Any]:
    """A program of format 1.0."""
    body = [draw(_nodes_v1(3, ())) for _ in range(draw(st.integers(0, 3)))]
    return {"type": "program", "body": body, "mode": draw(modes), "name": draw(titles), "schema_version": "1.0"}


def _value(name: str, value: Any) -> dict[str, Any]:
    return {"type": "value", "name": name, "value": value}


@st.composite
def _nodes_v1(draw: st.DrawFn, depth: int, scope: tuple[str, ...]) -> dict[str, Any]:
    """A node, in a lambda with these parameters."""
    kinds = ["value", "placeholder"] if scope else ["value"]
    if depth > 0:
        kinds += ["function", "function", "conditional", "map", "filter", "reduce", "program"]
    kind = draw(st.sampled_from(kinds))
    inner = _nodes_v1(depth - 1, scope)
    if kind == "value":
        # Null is for placeholders where there is a lambda.
        return _value("constant", draw(json_values.filter(lambda value: not scope or value is not None)))
    if kind == "placeholder":
        return _value(draw(st.sampled_from(scope)), draw(json_values))
    if kind == "function":
        return draw(_functions_v1(depth, scope, ()))
    if kind == "conditional":
        node = {"type": kind, "condition": draw(inner), "true_branch": draw(inner)}
        return node | draw(st.fixed_dictionaries({}, optional={"false_branch": st.none() | inner}))
    if kind == "program":
        return {"type": kind, "body": draw(st.lists(inner, max_size=2)), "mode": draw(modes)}
    params = ["acc", "item"] if kind == "reduce" else [draw(st.sampled_from(["item", "other"]))]
    body = draw(_functions_v1(depth - 1, tuple(params), tuple(params)))
    if kind == "reduce" and draw(st.booleans()):
        body["params"][0]["value"] = draw(st.just(0) | lists)
    elif kind == "reduce":
        # Without a start value the item may only be passed to the function directly.
        body["params"][0]["value"] = None
        body["params"][2:] = [_value("constant", 1) for _ in body["params"][2:]]
    iterable = draw(st.one_of(lists.map(lambda items: _value("items", items)), inner))
    return {"type": kind, "function": {"type": "lambda", "params": params, "body": body}, "iterable": iterable}


@st.composite
def _functions_v1(draw: st.DrawFn, depth: int, scope: tuple[str, ...], required: tuple[str, ...]) -> dict[str, Any]:
    """A tool call whose first params are the placeholders that have to be there."""
    tool = draw(st.sampled_from([name for name, names in TOOLS.items() if len(names) >= len(required)]))
    params = [_value(name, draw(st.none() | st.integers(0, 2))) for name in required]
    params += [draw(_nodes_v1(depth - 1, scope)) for _ in TOOLS[tool][len(required) :]]
    prefix = draw(st.sampled_from(["", "functions."]))
    return {"type": "function", "name": prefix + tool, "params": params}


@st.composite
def programs_v2(draw: st.DrawFn) -> dict[str, Any]:
    """A program of format 2.0; whether it ever ends is not known."""
    functions = {f"f{index}": [f"p{number}" for number in range(draw(st.integers(0, 2)))] for index in range(3)}
    memos = {f"m{index}": draw(_expressions_v2(2, (), functions, {})) for index in range(2)}
    definitions = [
        {"type": "function_definition", "name": name, "params": params, "body": body}
        for name, params in functions.items()
        if (body := draw(_expressions_v2(3, tuple(params), functions, {})))
    ]
    body = [draw(_expressions_v2(3, (), functions, memos)) for _ in range(draw(st.integers(1, 3)))]
    return {"type": "program", "definitions": definitions, "body": body, "mode": draw(modes), "schema_version": "2.0"}


@st.composite
def _expressions_v2(
    draw: st.DrawFn, depth: int, scope: tuple[str, ...], functions: dict[str, list[str]], memos: dict[str, Any]
) -> dict[str, Any]:
    kinds = ["literal"] + ["variable"] * bool(scope)
    if depth > 0:
        kinds += ["call", "tool_call", "tool_call", "conditional"] + ["memo"] * bool(memos)
    kind = draw(st.sampled_from(kinds))
    inner = _expressions_v2(depth - 1, scope, functions, memos)
    if kind == "literal":
        return {"type": kind, "value": draw(json_values)}
    if kind == "variable":
        return {"type": kind, "name": draw(st.sampled_from(scope))}
    if kind == "call":
        name = draw(st.sampled_from(sorted(functions)))
        return {"type": kind, "function": name, "arguments": [draw(inner) for _ in functions[name]]}
    if kind == "tool_call":
        tool = draw(st.sampled_from(sorted(TOOLS)))
        return {"type": kind, "tool": tool, "arguments": {name: draw(inner) for name in TOOLS[tool]}}
    if kind == "memo":
        key = draw(st.sampled_from(sorted(memos)))
        return {"type": kind, "key": key, "expression": copy.deepcopy(memos[key])}
    return {"type": kind, "condition": draw(inner), "true_branch": draw(inner), "false_branch": draw(inner)}


programs = st.one_of(programs_v1(), programs_v2())


@st.composite
def damaged(draw: st.DrawFn, program: st.SearchStrategy[dict[str, Any]]) -> Any:
    """A program with some places changed, so that most are no programs any more."""
    holder = [copy.deepcopy(draw(program))]
    for _ in range(draw(st.integers(0, 3))):
        places = list(_places(holder))
        container, key = places[draw(st.integers(0, len(places) - 1))]
        change = draw(st.sampled_from(["replace", "remove", "add", "copy"]))
        if change == "replace":
            container[key] = draw(json_values | st.sampled_from(["1.0", "2.0", "single", "value", "literal", "map"]))
        elif change == "remove" and container is not holder:
            del container[key]
        elif change == "add" and isinstance(container, dict):
            container[draw(st.sampled_from(["type", "name", "value", "params", "extra", "key"]))] = draw(json_values)
        elif change == "copy":
            other, place = places[draw(st.integers(0, len(places) - 1))]
            container[key] = copy.deepcopy(other[place])
    return holder[0]


def _places(value: Any) -> Any:
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)
