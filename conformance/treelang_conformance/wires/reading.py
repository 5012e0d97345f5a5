"""Reading a received request strictly: each helper returns what was asked for or says what is off, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeVar

from treelang_conformance.json_text import decode_json
from treelang_conformance.provider.record import RecordedRequest

T = TypeVar("T")

_TEXT = frozenset({"text"})


def read_body(request: RecordedRequest, path: str) -> Mapping[str, Any]:
    """The JSON object that was posted to `path`."""
    called = request.path.partition("?")[0]
    if (request.method, called) != ("POST", path):
        raise ValueError(f"expected POST {path}, not {request.method} {called}")
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise ValueError(f"the content type must be application/json, not {content_type or 'missing'}")
    try:
        body = decode_json(request.body)
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    return as_object(body, "the body")


def optional(holder: Mapping[str, Any], name: str, read: Callable[[Any, str], T], where: str = "") -> T | None:
    """The member `name` read by `read`, or `None` where it is missing; a null is not missing."""
    if name not in holder:
        return None
    return read(holder[name], f"{where}.{name}" if where else name)


def optional_items(holder: Mapping[str, Any], name: str, read: Callable[[Any, str], T]) -> Sequence[T] | None:
    """The items of the array `name`, each read by `read`, or `None` where it is missing."""
    return optional(holder, name, lambda value, where: as_items(value, where, read))


def as_object(value: Any, where: str) -> Mapping[str, Any]:
    """`value` as a JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object, not {_kind(value)}")
    return value


def as_list(value: Any, where: str) -> Sequence[Any]:
    """`value` as a JSON array."""
    if not isinstance(value, list):
        raise ValueError(f"{where} must be an array, not {_kind(value)}")
    return value


def as_string(value: Any, where: str) -> str:
    """`value` as a string."""
    if not isinstance(value, str):
        raise ValueError(f"{where} must be a string, not {_kind(value)}")
    return value


def as_number(value: Any, where: str) -> float:
    """`value` as a number."""
    if type(value) not in (int, float):
        raise ValueError(f"{where} must be a number, not {_kind(value)}")
    number: float = value
    return number


def as_integer(value: Any, where: str) -> int:
    """`value` as an integer."""
    if type(value) is not int:
        raise ValueError(f"{where} must be an integer, not {_kind(value)}")
    return value


def as_boolean(value: Any, where: str) -> bool:
    """`value` as a boolean."""
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be a boolean, not {_kind(value)}")
    return value


def as_items(value: Any, where: str, read: Callable[[Any, str], T]) -> Sequence[T]:
    """The items of a JSON array, each read by `read`."""
    return [read(item, f"{where}[{index}]") for index, item in enumerate(as_list(value, where))]


def as_some_items(value: Any, where: str, read: Callable[[Any, str], T]) -> Sequence[T]:
    """The same of an array that must hold something."""
    items = as_items(value, where, read)
    if not items:
        raise ValueError(f"{where} must not be empty")
    return items


def as_text(value: Any, where: str, types: Set[str] = _TEXT) -> str:
    """Text given as a string, or as a list of text parts, joined; `types` are those of the parts."""
    if isinstance(value, str):
        return value
    return "".join(as_text_parts(value, where, types))


def as_text_parts(value: Any, where: str, types: Set[str] = _TEXT) -> Sequence[str]:
    """The texts of a list of text parts."""
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a string or an array of text parts, not {_kind(value)}")

    def read_part(item: Any, place: str) -> str:
        part = as_object(item, place)
        if part.get("type") not in types:
            raise ValueError(f"{place} must be a text part, not one of type {part.get('type')!r}")
        return as_string(part.get("text"), f"{place}.text")

    return as_items(value, where, read_part)


def _kind(value: Any) -> str:
    if value is None:
        return "missing or null"
    names = {bool: "a boolean", str: "a string", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "an object")
