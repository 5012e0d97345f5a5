"""Whether a selection can be sent as it is: its mode, its format, and a schema that providers can take."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from treelang import ModelRequestError, StructuredOutputSelection, check_request
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._transports import MODEL
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.violation import Violation

_FORMATS = {"strict": "json_schema", "compatibility": "json_object"}
"""The type of the response format by the mode."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What OpenAI documents, on both wires, for the name of a schema."""

_NO_OBJECTS: tuple[Any, ...] = (None, True, 0, "text", [])
_INSTANCES = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose values are data; nothing in them is a reference."""


def require_complete(case: NegotiatorCase, selection: StructuredOutputSelection) -> None:
    """Require that a selection can be sent as it is."""
    case.require(
        isinstance(selection.mode, str) and selection.mode in _FORMATS,
        expected="the mode 'strict' or 'compatibility'",
        happened=f"the selection's mode is {selection.mode!r}",
    )
    response_format = selection.response_format
    kind = response_format.get("type") if isinstance(response_format, Mapping) else None
    case.require(
        kind == _FORMATS[selection.mode],
        expected=f"a response format of the type {_FORMATS[selection.mode]!r}, since the mode is {selection.mode!r}",
        happened=f"it is {shortened(response_format)}",
    )
    keys = {"type", "json_schema"} if selection.mode == "strict" else {"type"}
    case.require(
        set(response_format) == keys,
        expected=f"a response format with nothing but {' and '.join(sorted(keys))}",
        happened=f"its keys are {', '.join(map(repr, response_format))}",
    )
    try:
        checked = check_request(
            {"model": MODEL, "messages": [{"role": "user", "content": "?"}], "response_format": response_format}, "kit"
        )
    except ModelRequestError as error:
        raise Violation(expected="a response format that a transport takes", happened=str(error)) from error
    if checked.strict is not None:
        _require_strict(case, response_format["json_schema"], checked.strict.schema)


def _require_strict(case: NegotiatorCase, described: Mapping[str, Any], schema: dict[str, Any]) -> None:
    case.require(
        described.get("strict") is True,
        expected="`strict` to be true beside the schema, for otherwise providers enforce nothing",
        happened=f"it is {described.get('strict', 'missing')!r}",
    )
    case.require(
        _NAME.fullmatch(described["name"]),
        expected="a name for the schema of 1 to 64 letters, digits, hyphens and underscores",
        happened=f"it is {shortened(described['name'])}",
    )
    defect = _defect(json.dumps(schema))
    case.require(defect is None, expected=defect[0] if defect else "", happened=defect[1] if defect else "")


@functools.lru_cache(maxsize=256)  # a check meets few schemas and each of them often, and to judge one takes its time
def _defect(text: str) -> tuple[str, str] | None:
    """What is wrong with a schema: what is expected, and what it is instead; `None` for a sound one."""
    schema = json.loads(text)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = f"at {error.json_path} {shortened(error.message)}"
        return "a schema that is valid under JSON Schema Draft 2020-12", where
    missing = sorted(reference for reference in _references(schema) if _target(schema, reference) is None)
    if missing:
        return "a schema that refers to places inside of itself alone", f"it refers to {', '.join(map(repr, missing))}"
    validator = Draft202012Validator(schema)
    try:
        accepted = [value for value in _NO_OBJECTS if validator.is_valid(value)]
    except Exception as error:  # whatever becomes of an anchor that is nowhere, or of a circle without an end
        return "a schema that an answer can be held against", f"that raised {type_name(error)}: {error}"
    if accepted:
        # No provider enforces such a schema.
        return "a schema that lets objects through alone, since a program is one", f"it lets {accepted[0]!r} through"
    return None


def _references(schema: object) -> Iterator[str]:
    """Every reference in a schema, wherever it stands."""
    if isinstance(schema, Mapping):
        for keyword, value in schema.items():
            if keyword in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            elif keyword not in _INSTANCES:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _target(root: dict[str, Any], reference: str) -> object:
    """What a reference leads to inside of the schema; `None` where it leads nowhere or out of it.

    A name that is no pointer may be an anchor; what it means is looked for nowhere, and it is let through.
    """
    if not reference.startswith("#"):
        return None
    if not reference.startswith("#/"):
        return root if reference == "#" else {}
    found: Any = root
    for step in reference[2:].split("/"):
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found
