"""The exchange on the wire in readable form, for failure messages; credentials are masked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from treelang_conformance.provider.record import Connection, ConnectionState, RecordedRequest

_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"})
_SHOWN_HEADERS = _CREDENTIAL_HEADERS | {"content-type", "content-length", "accept", "anthropic-version"}
_SHOWN_CHARACTERS = 2000
_MASK = "***"
_SHORTEST_SECRET = 4  # characters; masking shorter ones would blot out innocent text
_SET_COOKIE = re.compile(r"^(< set-cookie:).*$", re.MULTILINE)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def render(connections: Iterable[Connection]) -> str:
    """Requests (`>`), replies (`<`) and endings (`*`) of all connections, in the order of their opening."""
    connections = tuple(connections)
    lines = [line for connection in connections for line in _connection_lines(connection)]
    text = "\n".join(lines) if lines else "* no connection was opened"
    # A credential may come back in a body; it is masked wherever it stands.
    for secret in _credentials(connections):
        text = text.replace(secret, _MASK)
    return _SET_COOKIE.sub(rf"\1 {_MASK}", text)


def _connection_lines(connection: Connection) -> Iterable[str]:
    sent = b""
    for entry in connection.exchanged:
        if isinstance(entry, RecordedRequest):
            yield from _sent_lines(sent)
            sent = b""
            yield from _request_lines(entry)
        else:
            sent += entry
    yield from _sent_lines(sent)
    if connection.dropped:
        yield f"< ... {connection.dropped} more bytes"
    state = connection.ending if connection.state is ConnectionState.CLOSED else connection.state
    yield f"* connection {connection.id}: {state}"


def _request_lines(request: RecordedRequest) -> Iterable[str]:
    yield f"> {request.method} {request.path}"
    for name, value in request.headers.items():
        if name in _SHOWN_HEADERS:
            yield f"> {name}: {_MASK if name in _CREDENTIAL_HEADERS else value}"
    yield from _quoted(">", request.body)


def _sent_lines(data: bytes) -> Iterable[str]:
    yield from _quoted("<", data)


def _quoted(mark: str, data: bytes) -> Iterable[str]:
    text = data.decode("utf-8", "backslashreplace")
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]} ... ({len(text) - _SHOWN_CHARACTERS} more characters)"
    # Carriage returns and blank lines are noise in a report, and SSE and HTTP are full of them.
    lines = (line.rstrip() for line in text.split("\n"))
    yield from (f"{mark} {_CONTROL_CHARACTER.sub(_escaped, line)}" for line in lines if line)


def _escaped(character: re.Match[str]) -> str:
    """A control character as text, so that a body cannot play with the terminal."""
    return f"\\x{ord(character[0]):02x}"


def _credentials(connections: Iterable[Connection]) -> set[str]:
    requests = (
        entry for connection in connections for entry in connection.exchanged if isinstance(entry, RecordedRequest)
    )
    found = {value for request in requests for value in _header_credentials(request.headers)}
    return {value for value in found if len(value) >= _SHORTEST_SECRET}


def _header_credentials(headers: Mapping[str, str]) -> Iterator[str]:
    for name in _CREDENTIAL_HEADERS & headers.keys():
        if name == "cookie":
            yield from (pair.partition("=")[2].strip() for pair in headers[name].split(";"))
        else:
            yield headers[name].rpartition(" ")[2]  # `Bearer KEY`: the scheme is no secret
