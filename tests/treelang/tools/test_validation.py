"""What refused arguments are told: tool, place and constraint, never the value (TOL-5, TOL-6)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from treelang.errors import ASTValidationError, InvalidToolArgumentsError, ToolExecutionError
from treelang.tools.validation import compile_tool

SUBMIT = compile_tool(
    {
        "name": "submit",
        "input_schema": {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 3},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "code": {"type": "string", "minLength": 3, "maxLength": 5, "pattern": "^[A-Z]+$"},
                "tags": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
                "profile": {
                    "type": "object",
                    "properties": {
                        "email": {"type": "string", "format": "email"},
                        "score": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.1},
                    },
                    "required": ["email"],
                    "additionalProperties": False,
                },
                "choice": {"anyOf": [{"type": "integer"}, {"type": "null"}], "not": {"const": 13}},
                "note": {"type": "string", "default": "not injected"},
            },
            "required": ["count", "kind", "code", "tags", "profile"],
            "additionalProperties": False,
        },
    }
)
VALID = {
    "count": 2,
    "kind": "a",
    "code": "ABC",
    "tags": ["one"],
    "profile": {"email": "person@example.com", "score": 0.3},
}


def test_valid_arguments_pass_and_no_default_is_injected() -> None:
    arguments = copy.deepcopy(VALID)
    SUBMIT.validate(arguments)
    assert arguments == VALID


CHANGES: list[tuple[Callable[[dict[str, Any]], Any], str, str]] = [
    (lambda it: it.pop("count"), "<root>", "required"),
    (lambda it: it.update(SECRET=True), "<root>", "additionalProperties"),
    (lambda it: it.update(count=True), "count", "type"),
    (lambda it: it.update(count=1.5), "count", "type"),
    (lambda it: it.update(count=-90210), "count", "minimum"),
    (lambda it: it.update(count=90210), "count", "maximum"),
    (lambda it: it.update(kind="SECRET"), "kind", "enum"),
    (lambda it: it.update(code="A"), "code", "minLength"),
    (lambda it: it.update(code="SECRET"), "code", "maxLength"),
    (lambda it: it.update(code="abc"), "code", "pattern"),
    (lambda it: it.update(tags=[]), "tags", "minItems"),
    (lambda it: it.update(tags=["SECRET", "SECRET"]), "tags", "uniqueItems"),
    (lambda it: it.update(tags=["x", 90210]), "tags.1", "type"),
    (lambda it: it["profile"].update(email="SECRET"), "profile.email", "format"),
    (lambda it: it["profile"].update(score=-90210), "profile.score", "exclusiveMinimum"),
    (lambda it: it["profile"].update(score=0.33), "profile.score", "multipleOf"),
    (lambda it: it["profile"].update(SECRET=True), "profile", "additionalProperties"),
    (lambda it: it["profile"].pop("email"), "profile", "required"),
    (lambda it: it.update(choice="SECRET"), "choice", "anyOf"),
    (lambda it: it.update(choice=13), "choice", "not"),
    (lambda it: it.update(count=float("nan")), "count", "JSON"),
    (lambda it: it["profile"].update(email=b"SECRET"), "profile.email", "JSON"),
]


@pytest.mark.parametrize(("change", "path", "constraint"), CHANGES, ids=[f"{path}-{word}" for _, path, word in CHANGES])
def test_a_refusal_names_tool_path_and_constraint_and_never_the_value(
    change: Callable[[dict[str, Any]], Any], path: str, constraint: str
) -> None:
    arguments = copy.deepcopy(VALID)
    change(arguments)
    with pytest.raises(InvalidToolArgumentsError) as caught:
        SUBMIT.validate(arguments)
    missing = (
        {"<root>": ", 'count' is missing", "profile": ", 'email' is missing"}[path] if constraint == "required" else ""
    )
    message = f"the tool 'submit' refuses its arguments: at {path!r} the constraint {constraint!r} is broken{missing}"
    assert str(caught.value) == message
    assert caught.value.args == (message,)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert isinstance(caught.value, ToolExecutionError)
    assert isinstance(caught.value, ASTValidationError)


def test_equal_schemas_are_compiled_once() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    one = compile_tool({"name": "one", "input_schema": schema})
    two = compile_tool({"name": "two", "input_schema": copy.deepcopy(schema)})
    assert one._validator is two._validator


def test_schemas_that_python_takes_for_equal_are_compiled_apart() -> None:
    one = compile_tool({"name": "tool", "properties": {"x": {"const": 1}}})
    true = compile_tool({"name": "tool", "properties": {"x": {"const": True}}})
    one.validate({"x": 1})
    true.validate({"x": True})
    with pytest.raises(InvalidToolArgumentsError, match="'const'"):
        true.validate({"x": 1})
