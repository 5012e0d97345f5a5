"""The exchange in readable form: whole, in order, and without credentials."""

from __future__ import annotations

import pytest

from tests.conformance.loopback import Client, run
from treelang_conformance.provider.script import Raw, Reply, Reset, Send
from treelang_conformance.provider.server import Provider


def request(*headers: str, body: str = '{"tree": "oak"}') -> bytes:
    lines = ["POST /v1/tree HTTP/1.1", "Host: provider", f"Content-Length: {len(body)}", *headers, "", body]
    return "\r\n".join(lines).encode()


def test_it_shows_requests_replies_and_endings() -> None:
    with Provider() as provider:
        provider.reply(
            Reply.event_stream(Send(b"data: one\n\n"), Send(b"data: two\n\n")), Raw((Send(b"HTTP"), Reset()))
        )
        with Client(provider) as client:
            client.send(request("User-Agent: someone"))
            client.receive(b"0\r\n\r\n")
            client.send(request())
            run(provider.closed())
        assert provider.transcript().splitlines() == [
            "> POST /v1/tree",
            "> content-length: 15",
            '> {"tree": "oak"}',
            "< HTTP/1.1 200 OK",
            "< content-type: text/event-stream",
            "< transfer-encoding: chunked",
            "< data: one",
            "< data: two",
            "> POST /v1/tree",
            "> content-length: 15",
            '> {"tree": "oak"}',
            "< HTTP",
            "* connection 0: reset by the provider",
        ]


def test_it_says_when_nothing_came() -> None:
    with Provider() as provider:
        assert provider.transcript() == "* no connection was opened"


@pytest.mark.parametrize("header", ["Authorization: Bearer", "X-Api-Key:", "Api-Key:", "Cookie: session="])
def test_a_credential_is_masked_also_where_a_body_echoes_it(header: str) -> None:
    separator = "" if header.endswith("=") else " "
    with Provider() as provider:
        provider.reply(Reply.json({"error": "key sk-very-secret was refused"}, headers={"set-cookie": "session=abc"}))
        with Client(provider) as client:
            client.send(request(f"{header}{separator}sk-very-secret", body='{"key": "sk-very-secret"}'))
            client.receive(b"}")
        transcript = provider.transcript()
    assert "sk-very-secret" not in transcript
    assert "session=abc" not in transcript
    assert transcript.count("***") == 4


def test_long_bodies_are_cut_and_the_rest_is_counted() -> None:
    with Provider() as provider:
        provider.reply(Reply.bytes(b"y" * 10_000))
        with Client(provider) as client:
            client.send(request(body="x" * 5_000))
            client.receive(b"y" * 10_000)
        transcript = provider.transcript()
    assert f"> {'x' * 2_000} ... (3000 more characters)" in transcript
    assert "more bytes" in transcript
    assert len(transcript) < 5_000


def test_bytes_that_are_no_text_are_shown_escaped() -> None:
    with Provider() as provider:
        provider.reply(Reply.bytes(b"\xff\xfe\x1b[31m"))
        with Client(provider) as client:
            client.send(request())
            client.receive(b"[31m")
        assert r"< \xff\xfe\x1b[31m" in provider.transcript()
