"""The meaning of both formats as plain as it can be said: an interpreter of their JSON, for comparison only.

It knows nothing of models, compilation, concurrency or deep recursion, and calls tools as functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treelang.runtime.limits import ExecutionLimits

JSON = dict[str, Any]


class EndedEarlyError(Exception):
    """How an evaluation ended early: the resource that was used up, `tool` or `iterable`."""


class Reference:
    """One evaluation of one program."""

    def __init__(self, tools: dict[str, Callable[..., Any]], limits: ExecutionLimits) -> None:
        self.tools = tools
        self.limits = limits
        self.nodes = 0
        self.calls = 0
        self.definitions: dict[str, JSON] = {}
        self.memos: dict[str, Any] = {}

    def run(self, program: JSON) -> Any:
        if program["schema_version"] == "1.0":
            return self.node(program, {}, 1)
        self.enter(1)
        self.definitions = {definition["name"]: definition for definition in program["definitions"]}
        results = [self.expression(body, {}, 2, 0) for body in program["body"]]
        return results[0] if len(results) == 1 else results

    def require(self, used: int, limit: int | None, resource: str) -> None:
        if limit is not None and used > limit:
            raise EndedEarlyError(resource)

    def enter(self, depth: int) -> None:
        self.nodes += 1
        self.require(self.nodes, self.limits.max_nodes, "nodes")
        self.require(depth, self.limits.max_depth, "depth")

    def call(self, name: str, arguments: list[Any]) -> Any:
        self.calls += 1
        self.require(self.calls, self.limits.max_tool_calls, "tool_calls")
        try:
            return self.tools[name](*arguments)
        except TypeError:
            raise EndedEarlyError("tool") from None

    def node(self, node: JSON, names: dict[str, Any], depth: int) -> Any:
        """A node of format 1.0, with what the names of the innermost lambda stand for."""
        self.enter(depth)
        match node["type"]:
            case "value":
                return names.get(node["name"], node["value"])
            case "program":
                results = [self.node(body, names, depth + 1) for body in node["body"]]
                return results[0] if len(results) == 1 else results
            case "function":
                arguments = [self.node(param, names, depth + 1) for param in node["params"]]
                return self.call(node["name"].removeprefix("functions."), arguments)
            case "conditional":
                if self.node(node["condition"], names, depth + 1):
                    return self.node(node["true_branch"], names, depth + 1)
                false_branch = node.get("false_branch")
                return None if false_branch is None else self.node(false_branch, names, depth + 1)
        items = self.node(node["iterable"], names, depth + 1)
        if not isinstance(items, list):
            raise EndedEarlyError("iterable")
        if node["type"] == "reduce" and not items:
            return None
        function = node["function"]
        self.enter(depth + 1)

        def apply(*values: Any) -> Any:
            return self.node(function["body"], dict(zip(function["params"], values, strict=True)), depth + 2)

        match node["type"]:
            case "map":
                return [apply(item) for item in items]
            case "filter":
                return [item for item in items if apply(item)]
        result = next(iter(start_values(function["body"], function["params"][0])))
        if result is None:
            result, *items = items
        for item in items:
            result = apply(result, item)
        return result

    def expression(self, node: JSON, names: dict[str, Any], depth: int, calls: int) -> Any:
        """An expression of format 2.0, with what the function's parameters stand for."""
        self.enter(depth)
        match node["type"]:
            case "literal":
                return node["value"]
            case "variable":
                return names[node["name"]]
            case "tool_call":
                arguments = [self.expression(one, names, depth + 1, calls) for one in node["arguments"].values()]
                return self.call(node["tool"], arguments)
            case "conditional":
                chosen = (
                    "true_branch" if self.expression(node["condition"], names, depth + 1, calls) else "false_branch"
                )
                return self.expression(node[chosen], names, depth + 1, calls)
            case "memo":
                if node["key"] not in self.memos:
                    self.memos[node["key"]] = self.expression(node["expression"], names, depth + 1, calls)
                return self.memos[node["key"]]
        self.require(calls + 1, self.limits.max_call_depth, "call_depth")
        function = self.definitions[node["function"]]
        values = [self.expression(one, names, depth + 1, calls) for one in node["arguments"]]
        return self.expression(function["body"], dict(zip(function["params"], values, strict=True)), 2, calls + 1)


def start_values(node: JSON, name: str) -> list[Any]:
    """The values of that name in a lambda's body, in the order of the text, but for those of inner lambdas."""
    match node["type"]:
        case "value":
            return [node["value"]] if node["name"] == name else []
        case "lambda":
            return []
    below = [node.get(field) for field in ("condition", "true_branch", "false_branch", "iterable")]
    below += node.get("params", []) + node.get("body", [])
    return [value for child in below if child is not None for value in start_values(child, name)]
