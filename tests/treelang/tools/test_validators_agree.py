r"""The fast validator against jsonschema, the reference: both judge alike, but for what is decided otherwise.

The generated schemas have no patterns that the dialects of ECMA-262 and Python read differently, and no divisors
without an exact binary form; those cases stand in the table below, each with its decision.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.treelang.tools.schemas import ARGUMENTS, input_schemas, perhaps_schemas
from treelang.errors import InvalidToolArgumentsError, ProviderResponseError
from treelang.tools.schema import ASSERTED_FORMATS
from treelang.tools.validation import compile_tool

checked = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

formatted = st.one_of(
    st.dates().map(str),
    st.ip_addresses().map(str),
    st.uuids().map(str),
    st.emails(),
    st.from_regex(r"[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}", fullmatch=True),
    st.from_regex(r"[0-9a-f:.%]{2,20}", fullmatch=True),
    st.from_regex(r"[0-9a-f-]{36}", fullmatch=True),
    st.text(),
)


def accepts(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    try:
        compile_tool({"name": "tool", "input_schema": schema}).validate(arguments)
    except InvalidToolArgumentsError:
        return False
    return True


def reference_accepts(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    formats = jsonschema.FormatChecker(ASSERTED_FORMATS)
    return jsonschema.Draft202012Validator(schema, format_checker=formats).is_valid(arguments)


@checked
@given(input_schemas(), ARGUMENTS)
def test_both_accept_the_same_arguments(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    given = copy.deepcopy(arguments)
    assert accepts(schema, arguments) == reference_accepts(schema, arguments)
    assert arguments == given


@checked
@given(perhaps_schemas())
def test_both_find_the_same_schemas_valid(schema: dict[str, Any]) -> None:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        with pytest.raises(ProviderResponseError, match=r"^the tool 'tool' has an invalid input schema: at "):
            compile_tool({"name": "tool", "input_schema": schema})
    else:
        compile_tool({"name": "tool", "input_schema": schema})


@checked
@given(st.sampled_from(sorted(ASSERTED_FORMATS)), formatted)
def test_what_has_a_format_has_it_for_the_reference_too(name: str, text: str) -> None:
    schema = {"properties": {"a": {"format": name}}}
    assert accepts(schema, {"a": text}) <= reference_accepts(schema, {"a": text})


def test_the_reference_knows_the_formats_that_are_asserted() -> None:
    assert set(jsonschema.FormatChecker().checkers) >= ASSERTED_FORMATS


DECIDED: list[tuple[str, dict[str, Any], Any, bool, bool]] = [
    # what is decided, the schema, the value, what we say, what jsonschema says
    ("digits are ASCII", {"pattern": r"^\d$"}, "\u0663", False, True),
    ("no digit is what is no ASCII digit", {"pattern": r"^\D$"}, "\u0663", True, False),
    ("word characters are ASCII", {"pattern": r"^\w$"}, "é", False, True),
    ("the end is the very end", {"pattern": "a$"}, "a\n", False, True),
    ("0.3 is three times 0.1", {"multipleOf": 0.1}, 0.3, True, False),
    ("19.99 is so many hundredths", {"multipleOf": 0.01}, 19.99, True, False),
    ("NaN is no number", {"type": "number"}, math.nan, False, True),
    ("infinity is no number", {"type": "number"}, math.inf, False, True),
    ("a tuple is an array", {"type": "array", "items": {"type": "integer"}}, (1, 2), True, False),
    ("a key that is no text makes no object", {"additionalProperties": {"type": "integer"}}, {1: 2}, False, True),
    ("a time without a zone may be a date-time", {"format": "date-time"}, "2026-01-01T00:00:00", True, True),
]


@pytest.mark.parametrize(
    ("schema", "value", "ours", "theirs"), [case[1:] for case in DECIDED], ids=[c[0] for c in DECIDED]
)
def test_where_they_differ_it_is_decided(schema: dict[str, Any], value: Any, ours: bool, theirs: bool) -> None:
    schema = {"properties": {"a": schema}}
    assert accepts(schema, {"a": value}) is ours
    assert reference_accepts(schema, {"a": value}) is theirs


def test_a_pattern_of_python_alone_makes_a_definition_invalid() -> None:
    with pytest.raises(ProviderResponseError, match='is not a "regex"'):
        compile_tool({"name": "tool", "input_schema": {"properties": {"a": {"pattern": r"^(?P<x>a)(?P=x)\Z"}}}})


def test_a_pattern_of_a_stranger_cannot_keep_the_program_busy() -> None:
    tool = compile_tool({"name": "tool", "input_schema": {"properties": {"a": {"pattern": "^(a|a)+$"}}}})
    with pytest.raises(InvalidToolArgumentsError, match="'a' the constraint 'pattern'"):
        tool.validate({"a": "a" * 100_000 + "b"})  # the time that Python's engine takes doubles with every letter
