"""Programs made node by node: the careful way of reading, which finds the place of what is wrong.

It does what the models do with a whole program, but at any depth up to `MAX_DEPTH`, and it takes nodes without a `type`
where their fields leave no doubt, as the formats allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from treelang.errors import ASTValidationError
from treelang.language import v1, v2
from treelang.language.defects import fail
from treelang.language.json_value import NotJSONError, kind_of
from treelang.language.node import MAX_DEPTH, Node
from treelang.language.pointer import Path, pointer
from treelang.language.program import Program

Models: TypeAlias = tuple[type[Node], ...]

_CHOICES: dict[type[Node], Models] = {
    v1.TreeProgram: (
        v1.TreeProgram,
        v1.TreeFunction,
        v1.TreeValue,
        v1.TreeConditional,
        v1.TreeLambda,
        v1.TreeMap,
        v1.TreeFilter,
        v1.TreeReduce,
    ),
    v2.TreeProgram: (
        v2.TreeLiteral,
        v2.TreeVariable,
        v2.TreeCall,
        v2.TreeToolCall,
        v2.TreeConditional,
        v2.TreeMemo,
    ),
}
"""The nodes that a program may hold where its format leaves a choice."""

_FIXED: dict[tuple[type[Node], str], Models] = {
    (v1.TreeLambda, "body"): (v1.TreeFunction,),
    (v1.TreeMap, "function"): (v1.TreeLambda,),
    (v1.TreeFilter, "function"): (v1.TreeLambda,),
    (v1.TreeReduce, "function"): (v1.TreeLambda,),
    (v2.TreeProgram, "definitions"): (v2.TreeFunctionDefinition,),
}
"""The places where it leaves none."""

_REASONS = {
    "string_pattern_mismatch": "this is no identifier: use letters, digits and underscores, and begin with no digit",
    "string_too_short": "a name is needed, and not an empty text",
    "string_type": "a text is needed",
    "string_unicode": "the text has a lone surrogate, which is no Unicode",
    "tuple_type": "an array is needed",
    "dict_type": "an object is needed",
    "too_short": "at least one node is needed",
}
"""Pydantic's types of errors in JSON's words; what is not here it says well enough itself."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A node to be made when the nodes below it have been."""

    model: type[Node]
    fields: dict[str, Any]
    """Its fields as given; the nodes below replace theirs."""
    path: Path
    depth: int
    holder: Any
    """What holds it: the fields of the node above, or an array or object in those."""
    key: str | int


def assemble(raw: Mapping[str, Any], model: type[Program], path: Path) -> Program:
    """Make a program of what a JSON text holds.

    Args:
        raw: The value.
        model: The format's program.
        path: Where the program stands.

    Raises:
        ASTValidationError: A node is not as its model says; of several the deepest.
    """
    root: list[Any] = [None]
    drafts = [_draft(raw, (model,), path, 1, root, 0)]
    for draft in drafts:  # which grows while it is walked over, so that a node stands before those below it
        drafts.extend(_below(draft, _CHOICES[model]))
    for draft in reversed(drafts):
        try:
            draft.holder[draft.key] = draft.model.model_validate(draft.fields)
        except ValidationError as error:
            # Not chained: pydantic's error shows the program's values.
            raise _explained(error.errors(include_url=False, include_input=False)[0], draft) from None
    program: Program = root[0]
    return program


def _below(draft: _Draft, choices: Models) -> Iterator[_Draft]:
    for field in draft.model.child_fields:
        held = draft.fields.get(field)
        allowed = _FIXED.get((draft.model, field), choices)
        shape = get_origin(draft.model.model_fields[field].annotation)
        path = (draft.path, field)
        if shape is tuple or shape is dict:
            if isinstance(held, list | tuple if shape is tuple else Mapping):
                copy: Any = list(held) if shape is tuple else dict(held)
                draft.fields[field] = copy
                entries: Iterable[tuple[Any, Any]] = held.items() if isinstance(held, Mapping) else enumerate(held)
                for key, item in entries:
                    yield _draft(item, allowed, (path, key), draft.depth + 1, copy, key)
        elif held is not None:
            yield _draft(held, allowed, path, draft.depth + 1, draft.fields, field)
        # What is anything else stays as it is, and the model says what is wrong with it.


def _draft(raw: Any, allowed: Models, path: Path, depth: int, holder: Any, key: str | int) -> _Draft:
    if depth > MAX_DEPTH:
        fail(f"nodes are nested deeper than {MAX_DEPTH} levels; divide the program", path)
    if not isinstance(raw, Mapping):
        fail(f"a node is expected, an object whose type is {_types(allowed)}, and not {kind_of(raw)}", path)
    return _Draft(_model(raw, allowed, path), dict(raw), path, depth, holder, key)


def _model(raw: Mapping[str, Any], allowed: Models, path: Path) -> type[Node]:
    if "type" in raw:
        for model in allowed:
            if model.model_fields["type"].default == raw["type"]:
                return model
        fail(f"the type is none of those that can stand here: use {_types(allowed)}", (path, "type"))
    fitting = [model for model in allowed if _fits(raw, model)]
    if len(allowed) > 1 and len(fitting) != 1:
        fail(f"the node has no type: add one, {_types(allowed)}", path)
    return fitting[0] if fitting else allowed[0]


def _fits(raw: Mapping[str, Any], model: type[Node]) -> bool:
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    return required <= raw.keys() <= model.model_fields.keys()


def _explained(error: ErrorDetails, draft: _Draft) -> ASTValidationError:
    """A model's finding, in words that say what to mend and hold nothing of the program but names of fields."""
    path = draft.path
    for step in error["loc"]:
        path = (path, step) if step != "[key]" else path  # which pydantic adds where a key is at fault
    name = draft.model.model_fields["type"].default
    match error["type"]:
        case "missing":
            path = draft.path
            reason = f"the field {error['loc'][-1]!r} of the {name} is missing"
        case "extra_forbidden":
            reason = f"a {name} has no such field, but {', '.join(draft.model.model_fields)}"
        case "value_error":
            defect = error["ctx"]["error"]
            assert isinstance(defect, NotJSONError)  # noqa: S101 - the one validator of the models that raises
            return ASTValidationError(f"the value is no JSON value: {defect}", pointer=pointer(path) + defect.pointer)
        case _:
            reason = _REASONS.get(error["type"]) or error["msg"][0].lower() + error["msg"][1:]
    return ASTValidationError(reason, pointer=pointer(path))


def _types(models: Models) -> str:
    *others, last = [repr(model.model_fields["type"].default) for model in models]
    return f"{', '.join(others)} or {last}" if others else last
