"""Format 2.0: functions, their parameters, and memos."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from treelang.language.cycles import cycles
from treelang.language.defects import fail, require_unique
from treelang.language.node import Node
from treelang.language.pointer import Path
from treelang.language.shapes import shapes
from treelang.language.v2 import (
    Expression,
    TreeCall,
    TreeFunctionDefinition,
    TreeLiteral,
    TreeMemo,
    TreeProgram,
    TreeVariable,
)

User: TypeAlias = tuple[type[TreeFunctionDefinition] | type[TreeMemo], str]
"""A function or a memo, by its name or key."""


def check_functions(program: TreeProgram, path: Path) -> None:
    """Require that all names mean something, that calls fit their functions, and that memos can be evaluated.

    Raises:
        ASTValidationError: Something does not.
    """
    check = _Check(program, path)
    for index, definition in enumerate(program.definitions):
        place = ((path, "definitions"), index)
        require_unique(definition.params, "parameter", (place, "params"))
        check.expression(definition.body, (place, "body"), definition.params, definition.name)
    for index, expression in enumerate(program.body):
        check.expression(expression, ((path, "body"), index), (), None)
    check.memos()


class _Check:
    def __init__(self, program: TreeProgram, path: Path) -> None:
        require_unique((definition.name for definition in program.definitions), "function", (path, "definitions"))
        self.program = program
        self.functions = {definition.name: definition for definition in program.definitions}
        self.places: dict[str, list[tuple[TreeMemo, Path]]] = defaultdict(list)
        """The memos of each key."""
        self.needs: dict[User, dict[User, None]] = defaultdict(dict)
        """Which functions and memos a function or a memo refers to directly, in the order of the text."""

    def expression(self, root: Expression, path: Path, params: tuple[str, ...], function: str | None) -> None:
        """Check one function's body, or one expression of the program's body."""
        scope = set(params)
        inside = (TreeFunctionDefinition, function) if function is not None else None
        pending: list[tuple[Node, Path, User | None]] = [(root, path, inside)]
        while pending:
            node, place, user = pending.pop()
            if isinstance(node, TreeLiteral):
                continue
            if isinstance(node, TreeVariable):
                self._variable(node, place, scope, user)
                continue
            if isinstance(node, TreeCall):
                self._call(node, place)
                if user is not None:
                    self.needs[user][TreeFunctionDefinition, node.function] = None
            elif isinstance(node, TreeMemo):
                self.places[node.key].append((node, place))
                if user is not None:
                    self.needs[user][TreeMemo, node.key] = None
                user = (TreeMemo, node.key)
            pending.extend((child, below, user) for child, below in node.children(place))

    def _variable(self, node: TreeVariable, path: Path, scope: set[str], user: User | None) -> None:
        if user is not None and user[0] is TreeMemo:
            fail(
                f"the memo {user[1]!r} depends on the variable {node.name!r}, but is evaluated once for all: take the "
                "variable out, or the memo away",
                path,
            )
        if node.name not in scope:
            known = f"use one of {sorted(scope)}" if scope else "there are no parameters here, use a literal"
            fail(f"there is no variable {node.name!r}: {known}", (path, "name"))

    def _call(self, node: TreeCall, path: Path) -> None:
        function = self.functions.get(node.function)
        if function is None:
            known = f"use one of {sorted(self.functions)}, or " if self.functions else ""
            fail(
                f"the program defines no function {node.function!r}: {known}call a tool with a tool_call",
                (path, "function"),
            )
        expected, count = len(function.params), len(node.arguments)
        if count != expected:
            fail(
                f"the function {node.function!r} takes {expected} arguments, {list(function.params)}, and not {count}",
                (path, "arguments"),
            )

    def memos(self) -> None:
        """Check that a key means one expression, and that no memo needs itself."""
        if any(len(places) > 1 for places in self.places.values()):
            shape = shapes(self.program)
            for key, places in self.places.items():
                first = shape[id(places[0][0])]
                for memo, path in places:
                    if shape[id(memo)] != first:
                        fail(f"the memo {key!r} has another expression elsewhere; use another key", (path, "key"))
        for cycle in cycles(self.needs):
            for kind, key in cycle:
                if kind is TreeMemo:
                    fail(
                        f"the memo {key!r} needs itself for its own value: take the memo away, or break the cycle",
                        self.places[key][0][1],
                    )
