"""ERR-10: whatever a provider sends, nothing but the contract's errors leaves a call."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from treelang import ModelTransport, TreelangError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._bent import (
    Bent,
    odd_value,
    replies,
    with_odd_byte,
    with_odd_values,
    without_words,
)
from treelang_conformance.checks.transport._faults import BROKEN_BODIES, call_each
from treelang_conformance.checks.transport._vocabulary import SHORT_TIMEOUT
from treelang_conformance.examples import for_examples, numbers
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.script import Close, Raw, Reply, Script, Send
from treelang_conformance.registry import BOTH, check
from treelang_conformance.violation import about

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


# --- what the wire sends, bent ---

_LOOKED_UP = "Ask whether a type or a reason is a text before you look it up: a JSON list cannot be hashed."


@check("ERR-10", modes=BOTH, hint=_LOOKED_UP)
async def a_list_for_a_word_lets_no_foreign_error_out(case: Case) -> None:
    """A reply with a list in place of a type, a role, a reason or a code ends in a text or an error of the contract."""
    for bent in without_words(case):
        with about(bent.what):
            await _require_no_foreign_error(case, bent.reply)


_EXAMPLES = 15


@check("ERR-10", modes=BOTH, hint=_CATCH_ALL)
async def any_json_anywhere_lets_no_foreign_error_out(case: Case) -> None:
    """A reply of the wire with any JSON at any places in it ends in a text or in an error of the contract."""
    from hypothesis import strategies

    sent = replies(case)
    oddities = strategies.lists(strategies.tuples(numbers(9), numbers(9).map(odd_value)), min_size=4, max_size=12)
    examples = strategies.tuples(numbers(3), oddities).map(lambda drawn: with_odd_values(sent, *drawn))
    await for_examples(case, examples, functools.partial(_judge_bent, case), at_most=_EXAMPLES)


@check("ERR-10", modes=BOTH, hint=_CATCH_ALL)
async def any_odd_byte_lets_no_foreign_error_out(case: Case) -> None:
    """A reply of the wire with any byte lost, doubled or replaced ends in a text or in an error of the contract."""
    from hypothesis import strategies

    sent = replies(case)
    examples = strategies.tuples(numbers(13), numbers(3)).map(lambda drawn: with_odd_byte(sent, *drawn))
    await for_examples(case, examples, functools.partial(_judge_bent, case), at_most=_EXAMPLES)


async def _judge_bent(case: Case, bent: Bent) -> None:
    await _require_no_foreign_error(case, bent.reply)
