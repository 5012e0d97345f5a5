"""ERR-10: whatever a provider sends, nothing but the contract's errors leaves a call."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from treelang import ModelTransport, TreelangError
from treelang_conformance.case import Case
from treelang_conformance.checks._faults import ANSWER, BROKEN_BODIES, body_of, call_each, whole_reply
from treelang_conformance.checks._vocabulary import SHORT_TIMEOUT, about, stream_of
from treelang_conformance.outcome import Outcome, shortened
from treelang_conformance.provider.script import Close, Raw, Reply, Script, Send
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.wires.base import Event

_CATCH_ALL = (
    "Put everything between the request and the last byte, the decoding and the reading of fields included, under one "
    "translation that ends in a plain kind for what it does not know."
)


async def _require_no_foreign_error(case: Case, script: Script, transport: ModelTransport | None = None) -> None:
    case.answers(script)
    _judge(case, await case.call(transport=transport))


def _judge(case: Case, outcome: Outcome) -> None:
    fits = isinstance(outcome.error, TreelangError) or (
        outcome.error is None and all(isinstance(chunk, str) for chunk in outcome.chunks)
    )
    case.require(fits, expected="a text or an error of the contract", happened=str(outcome))


# --- responses that are odd as HTTP ---


def _raw(*parts: bytes) -> Raw:
    return Raw((Send(b"".join(parts)), Close()))


_OK = b"HTTP/1.1 200 OK\r\n"
_JSON = b"content-type: application/json\r\n"

_ODD_RESPONSES: Mapping[str, Script] = {
    "no HTTP": _raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    "binary noise": _raw(bytes(range(256)) * 8),
    "a status line without a status": _raw(b"HTTP/1.1 OK\r\n\r\n"),
    "an interim response alone": _raw(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a header without a colon": _raw(_OK, b"nonsense\r\n\r\n{}"),
    "a header with a zero byte": _raw(_OK, b"x-odd: a\x00b\r\n\r\n{}"),
    "a header of 200 kB": _raw(_OK, b"x-odd: ", b"a" * 200_000, b"\r\ncontent-length: 2\r\n\r\n{}"),
    "header bytes that are no ASCII": _raw(_OK, _JSON, b"x-odd: \xff\xc3\xa9\r\ncontent-length: 2\r\n\r\n{}"),
    "a length that is no number": _raw(_OK, _JSON, b"content-length: many\r\n\r\n{}"),
    "two lengths": _raw(_OK, _JSON, b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
    "a chunk size that is no number": _raw(_OK, _JSON, b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "no content": Reply(204),
    "not modified": Reply(304),
    "an unknown success": Reply.bytes(b"{}", status=299, headers={"content-type": "application/json"}),
    "an unknown failure": Reply.bytes(b"{}", status=599, headers={"content-type": "application/json"}),
    "a status beyond all classes": Reply.bytes(b"{}", status=799, headers={"content-type": "application/json"}),
    "a body that is no gzip": Reply.bytes(b"no gzip", headers={"content-encoding": "gzip"}),
    "an error body that is no gzip": Reply.bytes(b"no gzip", status=429, headers={"content-encoding": "gzip"}),
    "half a gzip": Reply.bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", headers={"content-encoding": "gzip"}),
    "a body that is no deflate": Reply.bytes(b"no deflate", headers={"content-encoding": "deflate"}),
    "an unknown encoding": Reply.bytes(b"{}", headers={"content-encoding": "x-unheard-of"}),
    "an unknown charset": Reply.bytes(b"{}", headers={"content-type": "application/json; charset=x-unheard-of"}),
    "a charset that does not fit": Reply.bytes(b"{}", headers={"content-type": "application/json; charset=utf-16"}),
    "a content type that is none": Reply.bytes(b"{}", headers={"content-type": ";;=\t,"}),
    "a redirect to nowhere": Reply(302),
    "a redirect to no URL": Reply(307, {"location": "http://[::1"}),
    "a redirect to another scheme": Reply(308, {"location": "ftp://127.0.0.1/"}),
}


@check("ERR-10", modes=BOTH, hint=_CATCH_ALL)
async def an_odd_response_lets_no_foreign_error_out(case: Case) -> None:
    """A response that is odd as HTTP ends in a text or in an error of the contract."""
    for name, script in _ODD_RESPONSES.items():
        with about(name):
            await _require_no_foreign_error(case, script)


@check("ERR-10", modes=BOTH, hint="The client gives up after some redirects with an exception of its own.")
async def an_endless_redirect_lets_no_foreign_error_out(case: Case) -> None:
    """A provider that redirects to itself for ever ends in an error of the contract."""
    case.provider.answer_by(lambda request: Reply(307, {"location": request.path}))
    _judge(case, await case.call())


@check(
    "ERR-10",
    modes=BOTH,
    hint="SDKs read the body of a failing response for their exception, and let what breaks there out as it is.",
)
async def a_broken_error_body_lets_no_foreign_error_out(case: Case) -> None:
    """A failing response whose body is cut, reset or stalls ends in an error of the contract."""
    transport = await case.transport(timeout=SHORT_TIMEOUT)
    scripts = {
        f"status {status}, {name}": reply(case.wire, status)
        for name, reply in BROKEN_BODIES.items()
        for status in (401, 429, 500)
    }
    for name, outcome in (await call_each(case, scripts, transport)).items():
        with about(name):
            _judge(case, outcome)


# --- answers of the wire, bent ---

_SAMPLE = 30
"""How many of all bent answers a check sends: always the same ones."""

_ODD_VALUES: tuple[Any, ...] = (None, True, -1, 1e999, 10**400, "", "x", "\ud83c", [], {}, [None], [[]], {"x": 1})


def _sample(bent: Iterable[tuple[str, Script]]) -> list[tuple[str, Script]]:
    everything = list(bent)
    return random.Random(0).sample(everything, min(_SAMPLE, len(everything)))  # noqa: S311  # not for secrets


@check("ERR-10", modes=BOTH, hint=_CATCH_ALL)
async def an_answer_with_an_odd_value_lets_no_foreign_error_out(case: Case) -> None:
    """An answer of the wire in which some value is of another type ends in a text or in an error of the contract."""
    for name, script in _sample(_with_odd_values(case)):
        with about(name):
            await _require_no_foreign_error(case, script)


def _with_odd_values(case: Case) -> Iterator[tuple[str, Script]]:
    if case.mode is Mode.STREAM:
        events = list(case.wire.events(ANSWER))
        for number, event in enumerate(events):
            for what, data in _bent(event.data):
                bent = Event(event.kind, data)
                yield f"event {number}, {what}", stream_of([*events[:number], bent, *events[number + 1 :]])
    else:
        whole = case.wire.completion(ANSWER)
        for what, data in _bent(body_of(whole)):
            yield what, Reply.bytes(data, headers=whole.headers)


def _bent(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The data with each value of the JSON object in it replaced by each odd one; nothing if it holds no object."""
    start, end = data.find(b"{"), data.rfind(b"}") + 1
    try:
        value = json.loads(data[start:end])
    except ValueError:
        return
    for path in _paths(value):
        for odd in _ODD_VALUES:
            bent = json.dumps(_replaced(value, path, odd)).encode()
            yield f"{shortened(odd, 20)} at {'.'.join(map(str, path)) or 'the top'}", data[:start] + bent + data[end:]


def _paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    yield ()
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        for path in _paths(item):
            yield (key, *path)


def _replaced(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = _replaced(value[path[0]], path[1:], odd)
    return changed


@check("ERR-10", modes=BOTH, hint=_CATCH_ALL)
async def an_answer_with_odd_bytes_lets_no_foreign_error_out(case: Case) -> None:
    """An answer of the wire with some byte lost, doubled or replaced ends in a text or in an error of the contract."""
    for name, script in _sample(_with_odd_bytes(whole_reply(case))):
        with about(name):
            await _require_no_foreign_error(case, script)


def _with_odd_bytes(whole: Reply) -> Iterator[tuple[str, Script]]:
    body, headers = body_of(whole), whole.headers
    for at in range(len(body)):
        for what, instead in (("lost", b""), ("doubled", body[at : at + 1] * 2), ("0xff", b"\xff"), ("LF", b"\n")):
            yield f"byte {at} {what}", Reply.bytes(body[:at] + instead + body[at + 1 :], headers=headers)
        yield f"all from byte {at} lost", Reply.bytes(body[:at], headers=headers)
