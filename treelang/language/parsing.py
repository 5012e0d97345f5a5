"""From JSON to programs.

Pydantic judges a whole program in one step, which is quick, and quickest where it reads the text itself. But it stops
at a nesting of about 250, and its errors lead through the models and not to the program's places. So where it says yes,
that stands; where it says no, the program is assembled node by node, which gives either the program or the place and
the mend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from pydantic import ValidationError

from treelang.errors import ASTValidationError
from treelang.language.assembly import assemble
from treelang.language.defects import fail
from treelang.language.json_text import decode
from treelang.language.json_value import kind_of
from treelang.language.pointer import Path
from treelang.language.program import PROGRAMS, Program
from treelang.language.validation import check


@overload
def parse(source: str | Mapping[str, Any]) -> Program: ...
@overload
def parse(source: list[Any]) -> list[Program]: ...
def parse(source: str | Mapping[str, Any] | list[Any]) -> Program | list[Program]:
    """Read a program of either format, and check it.

    Args:
        source: JSON text, or what such a text holds; a list of programs gives a list.

    Raises:
        ASTValidationError: It is no valid program; the error names the place and the mend.
    """
    if isinstance(source, list):
        return [_program(item, (None, index)) for index, item in enumerate(source)]
    if isinstance(source, str):
        program = _quickest(source)
        if program is not None:
            check(program)
            return program
        source = decode(source)
    return _program(source, None)


def _quickest(text: str) -> Program | None:
    # The version's text stands anywhere in most programs of 2.0, and a wrong guess only takes the longer way.
    likeliest = PROGRAMS["2.0" if '"2.0"' in text else "1.0"]
    try:
        return likeliest.model_validate_json(text)
    except ValueError:  # of pydantic, or a lone surrogate
        return None


def _program(raw: object, path: Path) -> Program:
    if not isinstance(raw, Mapping):
        fail(f"a program is a JSON object, and not {kind_of(raw)}", path)
    candidates = _candidates(raw, path)
    program = _quickly(raw, candidates) or _carefully(raw, candidates, path)
    check(program, path)
    return program


def _candidates(raw: Mapping[str, Any], path: Path) -> list[type[Program]]:
    """The formats that the program may be of, the likeliest first."""
    if "schema_version" in raw:
        version = raw["schema_version"]
        if not isinstance(version, str) or version not in PROGRAMS:
            fail(f"the version is unknown; use {' or '.join(map(repr, PROGRAMS))}", (path, "schema_version"))
        return [PROGRAMS[version]]
    # The nodes tell the formats apart then: no leaf belongs to both.
    return sorted(PROGRAMS.values(), key=lambda model: not raw.keys() <= model.model_fields.keys())


def _quickly(raw: Mapping[str, Any], candidates: list[type[Program]]) -> Program | None:
    for candidate in candidates:
        try:
            return candidate.model_validate(raw)
        except ValidationError:
            continue
    return None


def _carefully(raw: Mapping[str, Any], candidates: list[type[Program]], path: Path) -> Program:
    failures: list[ASTValidationError] = []
    for candidate in candidates:
        try:
            return assemble(raw, candidate, path)
        except ASTValidationError as error:
            failures.append(error)
    raise failures[0] from None
