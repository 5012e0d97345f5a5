"""The evaluator against the reference: the same values, the same errors, the same number of tool calls."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.treelang.language.strategies import TOOLS, programs_v1, programs_v2
from tests.treelang.runtime.reference import EndedEarlyError, Reference
from tests.treelang.runtime.tools import Functions
from treelang.ast import AST
from treelang.errors import ASTTypeError, ExecutionLimitError, ToolExecutionError, TreelangError
from treelang.runtime.limits import ExecutionLimits

FUNCTIONS = {
    "answer": lambda: 42,
    "same": lambda x: x,
    "next": lambda n: n + 1,
    "pair": lambda a, b: [a, b],
    "less": lambda a, b: a < b,
    "three": lambda a, b, c: {"a": a, "b": [b, c]},
}
counts = st.none() | st.integers(1, 30)
limits_v1 = st.builds(ExecutionLimits, max_nodes=counts, max_depth=st.none() | st.integers(1, 7), max_tool_calls=counts)
limits_v2 = st.builds(
    ExecutionLimits,
    max_nodes=st.integers(1, 30) | st.just(3000),  # programs of format 2.0 need not end
    max_depth=st.none() | st.integers(1, 6),
    max_call_depth=st.integers(1, 4) | st.just(30),
    max_tool_calls=counts,
)
cases = st.one_of(st.tuples(programs_v1(), limits_v1), st.tuples(programs_v2(), limits_v2))


def outcome_of_reference(program: dict[str, Any], limits: ExecutionLimits) -> tuple[str, int]:
    reference = Reference(FUNCTIONS, limits)
    try:
        return json.dumps(reference.run(program), sort_keys=True), reference.calls
    except EndedEarlyError as end:
        used_up = str(end) == "tool_calls"  # the call that was one too many was not made
        return str(end), reference.calls - used_up


def outcome(program: dict[str, Any], limits: ExecutionLimits) -> tuple[str, int]:
    provider = Functions(**FUNCTIONS)
    try:
        result = json.dumps(asyncio.run(AST.eval(AST.parse(program), provider, limits)), sort_keys=True)
    except ExecutionLimitError as error:
        result = error.resource
    except ToolExecutionError:
        result = "tool"
    except ASTTypeError:
        result = "iterable"
    return result, len(provider.calls)


def test_the_functions_are_the_tools_that_programs_are_made_with() -> None:
    assert FUNCTIONS.keys() == TOOLS.keys()


CALL_THEN_CONSTANT = {
    "type": "program",
    "mode": "parallel",
    "body": [
        {"type": "function", "name": "answer", "params": []},
        {"type": "value", "name": "one too many", "value": None},
        {"type": "function", "name": "answer", "params": []},
    ],
    "schema_version": "1.0",
}


@settings(deadline=None, max_examples=200)
@given(cases)
@example((CALL_THEN_CONSTANT, ExecutionLimits(max_nodes=2)))
def test_in_turn_everything_is_the_same(case: tuple[dict[str, Any], ExecutionLimits]) -> None:
    program, granted = case
    limits = ExecutionLimits(**{name: getattr(granted, name) for name in granted.__slots__} | {"max_concurrency": 1})

    assert outcome(program, limits) == outcome_of_reference(program, limits)


@settings(deadline=None)
@given(cases)
def test_at_the_same_time_what_succeeds_is_the_same(case: tuple[dict[str, Any], ExecutionLimits]) -> None:
    program, limits = case
    try:
        value = Reference(FUNCTIONS, limits).run(program)
    except EndedEarlyError:
        # Which of several branches fails first, and what the others have done by then, is left open.
        with pytest.raises(TreelangError):
            asyncio.run(AST.eval(AST.parse(program), Functions(**FUNCTIONS), limits))
    else:
        assert outcome(program, limits) == outcome_of_reference(program, limits)
        assert json.dumps(value, sort_keys=True) == outcome(program, limits)[0]
