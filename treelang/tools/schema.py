r"""Input schemas: checked once, compiled once, and never fetched.

A compiled schema is jsonschema-rs's, which takes a microsecond where jsonschema takes a hundred. The two differ in a
few points, and these are decided here on purpose, for what JSON Schema and JSON themselves say:

- Patterns are ECMA-262's: `\d` and `\w` are ASCII, `$` is the very end and not before a last line feed. They take
  linear time or give up after so many steps, where a stranger's pattern can keep Python's engine busy for years.
  A pattern that only Python understands makes the definition invalid.
- `multipleOf` computes with decimals: 0.3 is a multiple of 0.1.
- NaN and infinity are no numbers, and a key that is no text makes no object. A tuple is an array.
- `format` is an annotation, as the specification has it, except for the formats of `ASSERTED_FORMATS`.

jsonschema, the reference, says what is wrong with a definition; a property test holds the two against each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from treelang.errors import ProviderResponseError
from treelang.language.json_value import NotJSONError, copy_json
from treelang.language.pointer import Path, pointer

ASSERTED_FORMATS = frozenset({"date", "email", "ipv4", "ipv6", "uuid"})
"""Formats that arguments must have. The rules of the others are disputed: is a time without a zone a `date-time`?"""

_DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS = {
    _DRAFT_2020_12: "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
}
"""The values of `$schema` that are understood, and what jsonschema and jsonschema-rs both call their validators."""

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_INSTANCES = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose values are data; nothing in them is a keyword."""
_SCHEMAS_BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose values are objects of schemas; their own keys are names and no keywords."""


def compile_schema(tool: str, schema: Mapping[str, Any]) -> Any:
    """Check a complete input schema, and give its validator; the same one for an equal schema (TOL-2).

    Args:
        tool: The tool's name, for the error.
        schema: The schema, Draft 2020-12 unless its `$schema` names 2019-09 or draft-07.

    Returns:
        A validator of jsonschema-rs.

    Raises:
        ProviderResponseError: The schema is invalid, refers outside of itself, or describes no object.
    """
    try:
        return _compiled(_text(schema))
    except NotJSONError as error:
        reason = f"what stands {_at(error.pointer)} is no JSON value: {error}"
    except _InvalidSchemaError as error:
        reason = str(error)
    raise ProviderResponseError(f"the tool {tool!r} has an invalid input schema: {reason}")


def _text(schema: Mapping[str, Any]) -> str:
    try:
        return json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(copy_json(schema))  # takes any mapping, and says what is no JSON value


class _InvalidSchemaError(ValueError):
    """What is wrong with a schema, and where."""


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Any:
    # An application without tools does not pay for the import.
    import jsonschema_rs

    schema = copy_json(json.loads(text))  # Python's idea of JSON has NaN and lone surrogates
    if not _may_be_object(schema.get("type", "object")):
        raise _InvalidSchemaError("it must describe an object, for arguments have names")
    dialect = _dialect_of(schema, None)
    _prepare(schema, dialect)
    try:
        return getattr(jsonschema_rs, dialect)(schema, validate_formats=True, retriever=_refuse_to_fetch)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise _InvalidSchemaError(_reason(dialect, json.loads(text), error)) from None


def _may_be_object(kind: object) -> bool:
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _dialect_of(schema: dict[str, Any], path: Path) -> str:
    named = schema.get("$schema", _DRAFT_2020_12)
    dialect = _DIALECTS.get(named.rstrip("#")) if isinstance(named, str) else None
    if dialect is None:
        raise _InvalidSchemaError(f"$schema {_at(pointer(path))} must be one of {', '.join(_DIALECTS)}")
    return dialect


def _prepare(schema: dict[str, Any], dialect: str) -> None:
    """Refuse what refers outside of the schema, and take the formats out that are annotations."""
    pending: list[tuple[Any, Path, bool]] = [(schema, None, False)]
    while pending:
        value, path, holds_names = pending.pop()
        if isinstance(value, list):
            pending += [(item, (path, index), False) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            if not holds_names:
                _prepare_one(value, path, dialect)
            for key, item in value.items():
                if holds_names or key not in _INSTANCES:
                    pending.append((item, (path, key), not holds_names and key in _SCHEMAS_BY_NAME))


def _prepare_one(schema: dict[str, Any], path: Path, dialect: str) -> None:
    for keyword in _REFERENCES & schema.keys():
        reference = schema[keyword]
        if isinstance(reference, str) and not reference.startswith("#"):
            # The address is not quoted: it may carry a credential.
            raise _InvalidSchemaError(
                f"an external reference {_at(pointer((path, keyword)))}, and nothing is fetched; "
                "put what it means under $defs and refer to '#/$defs/...'"
            )
    if "$schema" in schema and _dialect_of(schema, path) != dialect:
        raise _InvalidSchemaError(f"$schema {_at(pointer(path))} differs from the root's")
    if isinstance(schema.get("format"), str) and schema["format"] not in ASSERTED_FORMATS:
        del schema["format"]


def _refuse_to_fetch(_: str) -> NoReturn:
    raise ValueError("nothing is fetched")


def _reason(dialect: str, schema: dict[str, Any], refusal: Exception) -> str:
    """Say in the words of jsonschema what is wrong with a schema, or else in those of who refused it."""
    import jsonschema

    judge = getattr(jsonschema, dialect)
    try:
        error = jsonschema.exceptions.best_match(judge(judge.META_SCHEMA).iter_errors(schema))
    except RecursionError:
        error = None  # too deep for Python, but not for who refused it
    if error is not None:
        place = _at(pointer(_path(error.absolute_path)))
        return f"{place} the constraint {error.validator!r} of JSON Schema itself is broken"
    reason = str(refusal).partition("\n")[0][:200]
    path = _path(getattr(refusal, "instance_path", ()))
    return reason if path is None else f"{_at(pointer(path))} {reason}"


def _path(steps: Iterable[str | int]) -> Path:
    path: Path = None
    for step in steps:
        path = (path, step)
    return path


def _at(place: str) -> str:
    return f"at {place!r}" if place else "at the root"
