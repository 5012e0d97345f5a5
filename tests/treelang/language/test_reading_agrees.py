"""Every reader and every published schema agrees on what a program is, and what is written reads back the same.

The quick way, the careful way and the schema are three judges of the same programs. Made-up programs, most of them
damaged in a few places, show where they would differ; a table of examples would only show what its author thought of.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from tests.treelang.language.strategies import damaged, json_values, programs, programs_v1, programs_v2
from treelang.errors import ASTValidationError
from treelang.language.assembly import assemble
from treelang.language.json_text import _CarefulDecoder, decode
from treelang.language.parsing import parse
from treelang.language.program import PROGRAMS, Program
from treelang.language.published import draw_schema, published_schema
from treelang.language.serialization import serialize

FORMATS = Path(__file__).parents[4] / "shared" / "formats"
"""The formats as others published them, where they are beside this project."""

examples = settings(deadline=None)  # how long an example takes says nothing here
damaged_programs = {"1.0": damaged(programs_v1()), "2.0": damaged(programs_v2())}
versions = pytest.mark.parametrize("version", list(PROGRAMS))
with_formats = pytest.mark.skipif(not FORMATS.is_dir(), reason=f"{FORMATS} is not there")


@cache
def schema(path: Path) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(path.read_text("utf-8")))


@cache
def our_schema(version: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(published_schema(version))


def assembled(raw: Any, version: str) -> Program | None:
    try:
        return assemble(raw, PROGRAMS[version], None)
    except ASTValidationError:
        return None


@examples
@given(programs)
def test_a_program_is_read_from_values_and_from_text_and_written_back(raw: dict[str, Any]) -> None:
    program = parse(raw)

    assert parse(serialize(program)) == program == parse(json.dumps(raw))
    assert assembled(raw, program.schema_version) == program


@versions
@examples
@given(data=st.data())
def test_the_quick_way_and_the_careful_way_read_the_same(version: str, data: st.DataObject) -> None:
    raw = data.draw(damaged_programs[version])
    try:
        quick = PROGRAMS[version].model_validate(raw)
    except ValidationError:
        return
    assert assembled(raw, version) == quick


@versions
@examples
@given(data=st.data())
def test_a_text_and_the_values_that_it_holds_are_read_the_same(version: str, data: st.DataObject) -> None:
    raw = data.draw(damaged_programs[version].filter(lambda value: isinstance(value, dict)))
    text = json.dumps(raw, indent=data.draw(st.integers(0, 2) | st.none()), ensure_ascii=data.draw(st.booleans()))

    assert outcome(text) == outcome(json.loads(text))


def outcome(source: Any) -> Program | tuple[str, str | None]:
    try:
        return parse(source)
    except ASTValidationError as error:
        return str(error), error.pointer


NUMBERS = ["-0", "-0.0", "1E5", "5e-324", "1e-400", "1e400", "NaN", "-Infinity", "9" * 4300, "9" * 4301, "1.", "01"]
TEXTS = ['"\\ud83d\\ude00"', '"\\ud800"', '"\ud800"', '"\n"', '"\\x"', '{"a": 1, "a": 2}', "tru", "\u00a01", "[1,]"]


def refused(constant: str) -> None:
    raise ValueError(f"{constant} is none of JSON's")


@pytest.mark.parametrize("value", [*NUMBERS, *TEXTS])
def test_a_value_is_read_from_text_as_pythons_decoder_reads_it(value: str) -> None:
    text = f'{{"type": "program", "mode": "single", "body": [{{"type": "value", "name": "x", "value": {value}}}]}}'
    try:
        held = json.loads(text, parse_constant=refused)
    except ValueError:
        with pytest.raises(ASTValidationError, match="no valid JSON"):
            parse(text)
    else:
        assert repr(outcome(text)) == repr(outcome(held))


@pytest.mark.parametrize("key", ["type", "mode", "name"])
def test_of_a_key_that_comes_twice_the_last_one_counts(key: str) -> None:
    fields = '"type": "program", "mode": "single", "name": "n", "body": []'
    for text in (f'{{"{key}": "parallel", {fields}}}', f'{{{fields}, "{key}": "parallel"}}'):
        assert outcome(text) == outcome(json.loads(text))


@versions
@examples
@given(data=st.data())
def test_the_published_schema_accepts_what_the_models_accept(version: str, data: st.DataObject) -> None:
    raw = data.draw(damaged_programs[version])
    accepted = isinstance(raw, dict) and assembled(raw, version) is not None

    assert our_schema(version).is_valid(raw) == accepted


@with_formats
@versions
@examples
@given(data=st.data())
def test_the_schemas_that_others_published_accept_the_same(version: str, data: st.DataObject) -> None:
    raw = data.draw(damaged_programs[version])

    assert our_schema(version).is_valid(raw) == schema(FORMATS / f"program-{version}.schema.json").is_valid(raw)


@versions
def test_the_published_schemas_are_drawn_from_the_models(version: str) -> None:
    assert published_schema(version) == draw_schema(version), "renew the schema with: make docs"
    Draft202012Validator.check_schema(published_schema(version))


@examples
@given(json_values, st.integers(0, 3) | st.none())
def test_the_careful_decoder_reads_like_pythons(value: Any, indent: int | None) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        assert _CarefulDecoder(text).value() == decode(text) == json.loads(text)


@examples
@given(json_values, st.data())
def test_the_careful_decoder_refuses_what_python_refuses(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    place = data.draw(st.integers(0, len(text)))
    piece = data.draw(st.sampled_from(["", ",", ":", "]", "}", "[", "{", '"', "\\", "1", "-", "e", ".", "x", "\n"]))
    changed = text[:place] + piece + text[place + data.draw(st.integers(0, 2)) :]
    try:
        expected = json.loads(changed)
    except json.JSONDecodeError:
        with pytest.raises(ASTValidationError, match=r"no valid JSON, line \d+ column \d+: "):
            _CarefulDecoder(changed).value()
    else:
        assert _CarefulDecoder(changed).value() == expected
