"""Replies as bytes: the response head and the framing of its body.

Requests are parsed by h11, but responses are written here. A script may promise a length that it does not keep or
let the closing of the connection end the body, and h11, rightly, writes neither.
"""

from __future__ import annotations

from http import HTTPStatus

from treelang_conformance.provider.script import Framing, Reply, Send

_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class ScriptError(Exception):
    """A script cannot be played: a fault of the check that wrote it, never of the transport under test."""


def encode_head(reply: Reply) -> bytes:
    """The status line and the headers of `reply`, with the ending blank line."""
    headers = {name.lower(): value for name, value in reply.headers.items()}
    match reply.framing:
        case "length" if reply.status not in _BODILESS:
            headers.setdefault("content-length", str(scripted_length(reply)))
        case "chunked":
            headers.setdefault("transfer-encoding", "chunked")
        case "close":
            headers.setdefault("connection", "close")
    lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
    for name, value in headers.items():
        if "\r" in value or "\n" in value:
            raise ScriptError(f"the header {name} holds a line break; play it with Raw")
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def encode_data(framing: Framing, data: bytes) -> bytes:
    """One `Send` of a body under its framing; every one is a chunk of its own when chunked."""
    if framing == "chunked":
        # An empty chunk would end the body.
        return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
    return data


def encode_end(framing: Framing) -> bytes:
    """What ends a body."""
    return b"0\r\n\r\n" if framing == "chunked" else b""


def keeps_promise(reply: Reply) -> bool:
    """Whether the connection can be used again after `reply`: the body is as long as was promised."""
    headers = {name.lower(): value for name, value in reply.headers.items()}
    if reply.framing == "close" or headers.get("connection", "").lower() == "close":
        return False
    promised = headers.get("content-length")
    return promised is None or promised == str(scripted_length(reply))


def scripted_length(reply: Reply) -> int:
    """Bytes in all `Send` steps of the body."""
    return sum(len(step.data) for step in reply.body if isinstance(step, Send))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unassigned"
