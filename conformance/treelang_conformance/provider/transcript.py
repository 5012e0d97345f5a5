"""The exchange on the wire in readable form, for failure messages; credentials are masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treelang_conformance.provider.record import Connection, ConnectionState, RecordedRequest

_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"})
_SHOWN_HEADERS = _CREDENTIAL_HEADERS | {"content-type", "content-length", "accept", "anthropic-version"}
_SHOWN_CHARACTERS = 2000
_MASK = "***"


def render(connections: Iterable[Connection]) -> str:
    """Requests (`>`), replies (`<`) and endings (`*`) of all connections, in the order of their opening."""
    connections = tuple(connections)
    lines = [line for connection in connections for line in _connection_lines(connection)]
    text = "\n".join(lines) if lines else "* no connection was opened"
    # A credential may come back in a body; it is masked wherever it stands.
    for secret in _credentials(connections):
        text = text.replace(secret, _MASK)
    return text


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
    yield from (f"{mark} {line.rstrip()}" for line in text.split("\n") if line.strip())


def _credentials(connections: Iterable[Connection]) -> set[str]:
    found = set()
    for connection in connections:
        for entry in connection.exchanged:
            if isinstance(entry, RecordedRequest):
                found |= _header_credentials(entry.headers)
    return found


def _header_credentials(headers: Mapping[str, str]) -> set[str]:
    values = (headers[name] for name in _CREDENTIAL_HEADERS & headers.keys())
    # `Bearer KEY`: the scheme is no secret.
    return {value.rpartition(" ")[2] for value in values if value.strip()}
