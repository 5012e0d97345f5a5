"""Replies of a wire with something in them bent: a value of another type, a byte that is lost or replaced."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import ANSWER, body_of, in_band
from treelang_conformance.checks.transport._vocabulary import reply_to
from treelang_conformance.neutral import Answer, ServerToolCall, Text, Thinking, ToolCall, UnknownBlock
from treelang_conformance.outcome import shortened
from treelang_conformance.provider.script import Reply, Send

_ANSWER = Answer(
    (
        Thinking("It is tall."),
        Text(("The tallest ", "tree ")),
        UnknownBlock(),
        ServerToolCall(),
        Text(("is a ", "redwood.")),
        ToolCall("measure", '{"tree": "redwood"}'),
    )
)
"""One of everything that an answer can hold, whatever comes of them together."""

_ODD_VALUES: tuple[Any, ...] = (None, True, -1, 1e999, 10**400, "", "x", "\ud83c", [], {}, [None], [[]], {"x": 1})
"""JSON values that a careless reader trips over."""

_Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Bent:
    """A reply with something bent, shown as what that is."""

    what: str
    reply: Reply

    def __repr__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class _Document:
    """The JSON object in one piece of a reply's body, and the bytes around it."""

    before: bytes
    value: Any
    after: bytes

    def bent(self, changes: Iterable[tuple[_Path, Any]]) -> bytes:
        value = self.value
        for path, odd in sorted(changes, key=lambda change: -len(change[0])):  # the outer replaces the inner
            value = _replaced(value, path, odd)
        return self.before + json.dumps(value).encode() + self.after


def replies(case: Case) -> dict[str, Reply]:
    """What the wire sends in the case's mode, good and bad, by what it is."""
    failure = case.wire.failures()["rate-limit"]
    sent = {
        "a plain answer": reply_to(case, ANSWER),
        "an answer": reply_to(case, _ANSWER),
        "a failing response": case.wire.error(failure),
        **{f"an error in-band ({form})": reply for form, reply in in_band(case, failure).items()},
    }
    return {name: reply for name, reply in sent.items() if isinstance(reply, Reply)}


_WORD = re.compile(r"[a-z_.]+")


def without_words(case: Case) -> Iterator[Bent]:
    """Each reply with an empty list for every word of one key at one depth: a type, a role, a reason, a code.

    Words are what readers look up in tables, where a list is not only unknown but cannot even be looked for.
    """
    for name, reply in replies(case).items():
        if name == "a plain answer":
            continue  # the other one has all its words, and more
        documents = dict(_documents(reply))
        words = [
            (number, path)
            for number, document in documents.items()
            for path, value in _paths(document.value)
            if path and isinstance(value, str) and _WORD.fullmatch(value)
        ]
        for key, depth in dict.fromkeys((path[-1], len(path)) for _, path in words):
            pieces = {
                number: document.bent(
                    (path, []) for of, path in words if of == number and (path[-1], len(path)) == (key, depth)
                )
                for number, document in documents.items()
            }
            yield Bent(f"a list for each {key!r} at depth {depth} of {name}", _with_pieces(reply, pieces))


def with_odd_values(sent: Mapping[str, Reply], which: int, oddities: Sequence[tuple[int, Any]]) -> Bent:
    """Some reply with a value of any kind at each of some places in it: the same one for the same numbers."""
    name = list(sent)[which % len(sent)]
    documents = dict(_documents(sent[name]))
    places = [(number, path) for number, document in documents.items() for path, _ in _paths(document.value)]
    changes: dict[int, dict[_Path, Any]] = defaultdict(dict)
    for place, value in oddities:
        number, path = places[place % len(places)]
        changes[number][path] = value
    pieces = {number: documents[number].bent(values.items()) for number, values in changes.items()}
    told = [
        f"{shortened(value, 60)} at {'.'.join(map(str, path)) or 'the top'} of piece {number}"
        for number, values in changes.items()
        for path, value in values.items()
    ]
    return Bent(f"{' and '.join(told)} of {name}", _with_pieces(sent[name], pieces))


def with_odd_byte(sent: Mapping[str, Reply], at: int, way: int) -> Bent:
    """Some reply with one byte lost, doubled or replaced, or cut there: the same one for the same numbers."""
    name = list(sent)[at % len(sent)]
    body = body_of(sent[name])
    at = at // len(sent) % len(body)
    changes = {
        "lost": b"",
        "doubled": body[at : at + 1] * 2,
        "as 0xff": b"\xff",
        "as LF": b"\n",
        "and all behind it lost": None,
    }
    what, instead = list(changes.items())[way % len(changes)]
    bent = body[:at] if instead is None else body[:at] + instead + body[at + 1 :]
    return Bent(f"byte {at} {what} in {name}", dataclasses.replace(sent[name], body=(Send(bent),)))


_KEYS = ("type", "text", "content", "error", "message", "code", "usage", "index")
"""Names that mean something on many wires, for objects where none is expected."""


def odd_value(seed: int) -> Any:
    """A JSON value for a number of nine bits: one of the odd ones, mostly as it is."""
    rest, way = divmod(seed, 4)
    key, which = divmod(rest, 16)
    value = _ODD_VALUES[which % len(_ODD_VALUES)]
    return (value, value, [value], {_KEYS[key % len(_KEYS)]: value})[way]


def _documents(reply: Reply) -> Iterator[tuple[int, _Document]]:
    """The pieces of a reply's body that hold a JSON object, each with its number."""
    for number, step in enumerate(reply.body):
        if isinstance(step, Send):
            start, end = step.data.find(b"{"), step.data.rfind(b"}") + 1
            try:
                value = json.loads(step.data[start:end])
            except ValueError:
                continue
            yield number, _Document(step.data[:start], value, step.data[end:])


def _with_pieces(reply: Reply, pieces: dict[int, bytes]) -> Reply:
    body = [Send(pieces[number]) if number in pieces else step for number, step in enumerate(reply.body)]
    return dataclasses.replace(reply, body=tuple(body))


def _paths(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Every place in a JSON value, and what stands there, the outer before the inner."""
    yield path, value
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _paths(item, (*path, key))


def _replaced(value: Any, path: _Path, odd: Any) -> Any:
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = _replaced(value[path[0]], path[1:], odd)
    return changed
