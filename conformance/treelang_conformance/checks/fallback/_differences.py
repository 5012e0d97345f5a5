"""What two requests differ in besides the output that they ask for (FBK-14)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treelang_conformance.neutral import ReadRequest
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.wires.base import Wire

_HEADERS = ("authorization", "x-api-key", "host", "accept", "content-type", "user-agent")
"""Headers that have nothing to do with the output format; their values are not shown, for one is a credential."""


def differences(wire: Wire, first: RecordedRequest, second: RecordedRequest) -> Iterator[str]:
    """What differs beside the output format, one phrase each.

    Headers that clients number or count by are not compared, those that say who asks for what are.

    Texts that ask for JSON may be added where they stand apart from the caller's own (FBK-12), and nothing else may
    differ: not a byte in any member of the body, however deep, and neither the method nor the path.
    """
    for what in ("method", "path"):
        if getattr(first, what) != getattr(second, what):
            yield f"the {what} was {getattr(first, what)!r} and is {getattr(second, what)!r}"
    for name in _HEADERS:
        if first.headers.get(name) != second.headers.get(name):
            yield f"the header {name!r} is another"
    before, after = _members(wire, first), _members(wire, second)
    read_before, read_after = wire.read(first), wire.read(second)
    added = added_texts(read_before, read_after)
    if added is None or not all("json" in text.lower() for text in added):
        yield "the texts are not the same ones with a request for JSON beside them"
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name) and not (added and _holds_texts(after.get(name), read_after)):
            yield f"the member {name!r} was {before.get(name, 'absent')} and is {after.get(name, 'absent')}"


def added_texts(first: ReadRequest, second: ReadRequest) -> list[str] | None:
    """What the second request says beside the texts of the first; `None` where one of those is missing or moved."""
    remaining = [("system", text) for text in first.system] + [(turn.role, turn.text) for turn in first.turns]
    added = []
    for role, text in [("system", text) for text in second.system] + [(turn.role, turn.text) for turn in second.turns]:
        if remaining and remaining[0][0] == role and remaining[0][1] in text:
            whole = remaining.pop(0)[1]
            rest = text.replace(whole, "", 1)
            added += [rest] if rest else []
        else:
            added.append(text)
    return None if remaining else added


def _members(wire: Wire, request: RecordedRequest) -> Mapping[str, str]:
    """The members of the body as text, without what says which output is wanted."""
    body = json.loads(request.body, parse_float=_Number, parse_int=_Number)
    for path in wire.output_members:
        _remove(body, path)
    return {name: json.dumps(value) for name, value in body.items()}


class _Number(str):
    """A number as it was written: 1 and 1.0 are not the same bytes."""

    __slots__ = ()


def _remove(value: Any, path: Sequence[str]) -> None:
    """Take a member out, and the objects that were there for it alone."""
    name, *rest = path
    if not isinstance(value, dict) or name not in value:
        return
    if rest:
        _remove(value[name], rest)
    if not rest or value[name] == {}:
        del value[name]


def _holds_texts(member: str | None, request: ReadRequest) -> bool:
    texts = (*request.system, *(turn.text for turn in request.turns))
    return member is not None and any(json.dumps(text)[1:-1] in member for text in texts)
