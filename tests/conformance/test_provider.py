"""The loopback provider, seen through plain sockets: what is sent, what is recorded, and what ends a connection."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.conformance.loopback import REQUEST, Client, run
from treelang_conformance.provider.framing import ScriptError
from treelang_conformance.provider.record import ConnectionState, RecordedRequest
from treelang_conformance.provider.script import Close, Gate, Raw, Reply, Reset, Script, Send, Stall, Step, Wait
from treelang_conformance.provider.server import Provider
from treelang_conformance.provider.thread import ProviderThread

GREETING = Reply(body=(Send(b"hello"),))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture
def client(provider: Provider) -> Iterator[Client]:
    with Client(provider) as connected:
        yield connected


def test_a_request_is_recorded_as_it_was_received(provider: Provider, client: Client) -> None:
    provider.reply(GREETING)
    client.send()
    client.receive(b"hello")
    headers = {"host": "provider", "content-length": "14"}
    assert provider.requests == (RecordedRequest(0, "POST", "/v1/tree", headers, b'{"tree":"oak"}'),)
    assert provider.requests[0].json() == {"tree": "oak"}


def test_a_request_that_arrives_byte_by_byte_is_one_request(provider: Provider, client: Client) -> None:
    provider.reply(GREETING)
    for position in range(len(REQUEST)):
        client.send(REQUEST[position : position + 1])
    client.receive(b"hello")
    assert [request.body for request in provider.requests] == [b'{"tree":"oak"}']


@pytest.mark.parametrize(
    ("reply", "on_the_wire"),
    [
        (Reply(body=(Send(b"ab"), Send(b"c"))), b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"),
        (Reply(status=404), b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
        (Reply(status=529), b"HTTP/1.1 529 Unassigned\r\ncontent-length: 0\r\n\r\n"),
        (
            Reply.event_stream(Send(b"ab"), Send(b""), Send(b"c")),
            (
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
            ),
        ),
        (
            Reply.json({"é": [1]}, status=400, headers={"Retry-After": "1"}),
            (
                b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
                b'content-length: 10\r\n\r\n{"\xc3\xa9":[1]}'
            ),
        ),
    ],
    ids=["length", "empty", "status-without-a-name", "chunked", "json"],
)
def test_a_reply_that_keeps_its_promise_leaves_the_connection_usable(
    provider: Provider, client: Client, reply: Reply, on_the_wire: bytes
) -> None:
    provider.reply(reply, reply)
    client.send()
    assert client.receive(on_the_wire[-10:]) == on_the_wire
    run(provider.until(lambda: provider.connections[0].state is ConnectionState.IDLE))
    client.send()
    assert client.receive(on_the_wire[-10:]) == on_the_wire
    assert [request.connection for request in provider.requests] == [0, 0]
    assert provider.connections[0].requests == 2


@pytest.mark.parametrize(
    ("script", "on_the_wire"),
    [
        (Reply(body=(Send(b"abc"),), framing="close"), b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc"),
        (Reply(body=(Send(b"abc"), Close())), b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"),
        (
            Reply(status=204, headers={"connection": "close"}),
            b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
        ),
        (
            Reply(body=(Send(b"abc"),), headers={"Content-Length": "9"}),
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
        ),
        (
            Reply(body=(Send(b"abc"), Close(), Send(b"def")), framing="chunked"),
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ),
        (Reply(before=(Close(),), body=(Send(b"abc"),)), b""),
        (Raw((Send(b"HTTP/1.1 2"), Send(b"00 O"))), b"HTTP/1.1 200 O"),
        (Raw(()), b""),
    ],
    ids=["close-framed", "closed-at-the-end", "no-content", "short", "cut-chunks", "before-the-head", "raw", "nothing"],
)
def test_a_script_can_end_the_connection(
    provider: Provider, client: Client, script: Script, on_the_wire: bytes
) -> None:
    provider.reply(script)
    client.send()
    assert client.receive_all() == on_the_wire
    run(provider.closed())
    assert provider.connections[0].ending == "closed by the provider"


@pytest.mark.parametrize("script", [Raw((Reset(),)), Reply(before=(Reset(),)), Raw((Send(b"HTTP"), Reset()))])
def test_a_script_can_reset_the_connection(provider: Provider, client: Client, script: Script) -> None:
    provider.reply(script)
    client.send()
    with pytest.raises(ConnectionResetError):
        client.receive_all()
    run(provider.closed())
    assert provider.connections[0].ending == "reset by the provider"


def test_each_send_reaches_the_client_while_the_next_is_withheld(provider: Provider, client: Client) -> None:
    gates = [Gate("first"), Gate("second")]
    provider.reply(Reply.event_stream(Send(b"one"), Wait(gates[0]), Send(b"two"), Wait(gates[1]), Send(b"three")))
    client.send()
    for gate, ending in zip(gates, (b"3\r\none\r\n", b"3\r\ntwo\r\n"), strict=True):
        client.receive(ending)
        run(gate.reached())
        gate.open()
    client.receive(b"5\r\nthree\r\n0\r\n\r\n")


_WITHHELD: dict[str, Callable[[Step], Script]] = {
    "before-the-head": lambda step: Reply(before=(step,)),
    "before-the-body": lambda step: Reply(body=(step,), headers={"content-length": "5"}),
    "inside-the-body": lambda step: Reply.event_stream(Send(b"data: "), step, Send(b"x\n\n")),
    "raw": lambda step: Raw((Send(b"HTTP/1.1 200"), step)),
}


@pytest.mark.parametrize("step", [Stall(), Wait(Gate())], ids=["stall", "gate"])
@pytest.mark.parametrize("place", _WITHHELD)
@pytest.mark.parametrize("leave", [Client.leave, Client.reset])
def test_a_client_that_leaves_is_noticed_while_the_reply_is_withheld(
    provider: Provider, client: Client, step: Step, place: str, leave: Callable[[Client], None]
) -> None:
    provider.reply(_WITHHELD[place](step))
    client.send()
    run(provider.request_received())
    leave(client)
    run(provider.closed(0))
    # A client that closes with bytes unread resets the connection, so both words are right for leaving.
    assert provider.connections[0].ending in {"closed by the client", "reset by the client"}


def test_a_client_that_leaves_an_idle_connection_is_noticed(provider: Provider, client: Client) -> None:
    provider.reply(GREETING)
    client.send()
    client.receive(b"hello")
    run(provider.released())
    client.leave()
    run(provider.closed())
    assert provider.connections[0].ending == "closed by the client"


def test_a_request_counts_even_when_its_client_leaves_at_once(provider: Provider, client: Client) -> None:
    client.send()
    client.leave()
    run(provider.closed())
    assert len(provider.requests) == 1


def test_half_a_request_is_no_request(provider: Provider, client: Client) -> None:
    client.send(REQUEST[:-1])
    client.leave()
    run(provider.closed())
    assert provider.requests == ()


@pytest.mark.parametrize("together", [True, False])
def test_requests_sent_ahead_are_answered_in_order(provider: Provider, client: Client, together: bool) -> None:
    gate = Gate()
    provider.reply(Reply(before=(Wait(gate),), body=(Send(b"first"),)), Reply.bytes(b"second"))
    client.send(REQUEST * 2 if together else REQUEST)
    run(gate.reached())
    if not together:
        client.send()
    turns(50)
    assert len(provider.requests) == 1
    gate.open()
    received = client.receive(b"second")
    assert received.index(b"first") < received.index(b"HTTP/1.1", 1)


def test_a_client_that_asks_for_it_gets_the_connection_closed(provider: Provider, client: Client) -> None:
    provider.reply(GREETING)
    client.send(b"GET / HTTP/1.1\r\nHost: provider\r\nConnection: close\r\n\r\n")
    assert client.receive_all().endswith(b"hello")


def test_what_is_not_http_is_hung_up_on(provider: Provider, client: Client) -> None:
    context = ssl.create_default_context()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(client.socket, server_hostname="provider")
    run(provider.closed())
    assert provider.connections[0].ending == "closed by the provider: what came was not HTTP"
    assert provider.requests == ()


def test_a_request_that_nothing_was_scripted_for_fails_and_is_counted(provider: Provider, client: Client) -> None:
    client.send()
    received = client.receive(b"}}")
    assert received.startswith(b"HTTP/1.1 500 ")
    assert b"No reply was scripted" in received
    assert (provider.unscripted, len(provider.requests)) == (1, 1)


def test_a_function_answers_what_the_queue_does_not(provider: Provider, client: Client) -> None:
    provider.answer_by(lambda request: Reply.bytes(b"by function: " + request.body))
    provider.reply(GREETING)
    client.send()
    client.receive(b"hello")
    client.send()
    client.receive(b'by function: {"tree":"oak"}')
    assert provider.unscripted == 0


def test_many_clients_are_served_at_once_and_each_gets_its_own_answer(provider: Provider) -> None:
    number, together = 50, Gate()
    provider.answer_by(lambda request: Reply(before=(Wait(together),), body=(Send(request.path.encode()),)))

    def ask(path: str) -> bytes:
        with Client(provider) as client:
            client.send(f"GET {path} HTTP/1.1\r\nHost: provider\r\n\r\n".encode())
            return client.receive(path.encode())

    with ThreadPoolExecutor(number) as pool:
        answers = [pool.submit(ask, f"/{index:02}") for index in range(number)]
        run(provider.request_received(number))
        together.open()
        for index, answer in enumerate(answers):
            assert answer.result().endswith(f"\r\n\r\n/{index:02}".encode())
    assert len(provider.connections) == number


def test_a_reply_waits_for_a_client_that_reads_slowly(provider: Provider, client: Client) -> None:
    block, number = bytes(range(256)) * 256, 1024
    provider.reply(Reply(body=(Send(block),) * number))
    client.send()
    run(provider.request_received())
    connection, before = provider.connections[0], -1
    while connection.dropped != before:
        before = connection.dropped
        turns(50)
    assert 0 < connection.dropped < len(block) * (number - 1), "held back by the client, not kept in memory"
    head, body = read_head(client)
    received = len(body)
    while received < len(block) * number:
        received += len(client.socket.recv(1 << 20))
    assert f"content-length: {received}".encode() in head
    assert sum(len(entry) for entry in connection.exchanged if isinstance(entry, bytes)) == 4096


def read_head(client: Client) -> tuple[bytes, bytes]:
    """The head of a reply, and what came of the body with it."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.socket.recv(4096)
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body


def turns(number: int) -> None:
    """Let the provider's event loop turn so often that it has done all that it can do without us."""

    async def turn() -> None:
        for _ in range(number):
            await asyncio.sleep(0)

    ProviderThread.shared().run(turn())


def test_waits_look_at_one_connection_or_at_all_of_them(provider: Provider) -> None:
    provider.reply(GREETING, Reply(before=(Stall(),)))
    with Client(provider) as first, Client(provider) as second:
        first.send()
        first.receive(b"hello")
        second.send()
        run(provider.request_received(2))
        run(provider.released(0))
        assert provider.connections[1].state is ConnectionState.BUSY
        with pytest.raises(TimeoutError):
            run(asyncio.wait_for(provider.released(), timeout=0))
        second.leave()
        run(provider.released())
        assert [connection.state for connection in provider.connections] == ["idle", "closed"]


def test_a_wait_for_a_connection_does_not_hold_before_there_is_one(provider: Provider) -> None:
    with pytest.raises(TimeoutError):
        run(asyncio.wait_for(provider.released(), timeout=0))


def test_stopping_closes_every_connection_and_leaves_no_task(caplog: pytest.LogCaptureFixture) -> None:
    thread = ProviderThread.shared()
    with Provider() as provider:
        provider.reply(GREETING, Reply(body=(Send(b"x"), Stall()), framing="close"), Reply(before=(Wait(Gate()),)))
        clients = [Client(provider) for _ in range(4)]
        for client in clients[:3]:
            client.send()
        run(provider.until(lambda: len(provider.requests) == 3 and len(provider.connections) == 4))
    assert [connection.state for connection in provider.connections] == ["closed"] * 4
    for client in clients:
        client.receive_all()
        client.leave()
    gc.collect()  # an unclosed socket would warn here, and a warning fails the test
    assert thread.run(_other_tasks()) == set()
    assert caplog.records == []


async def _other_tasks() -> set[asyncio.Task[object]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current}


def test_a_stopped_provider_refuses_connections() -> None:
    with Provider() as provider:
        pass
    with pytest.raises(ConnectionRefusedError):
        Client(provider)


@pytest.mark.parametrize(
    "script",
    [
        Reply(before=(Send(b"too early"),)),
        Reply(headers={"x": "a\r\nb"}),
        Reply(headers={"x": "\u2028"}),
    ],
    ids=["send-before-the-head", "line-break-in-a-header", "header-outside-latin-1"],
)
def test_a_script_that_cannot_be_played_is_reported_at_the_end(script: Script) -> None:
    provider = Provider()
    provider.reply(script)
    with pytest.raises(ScriptError):
        conclude_wrongly(provider)


def test_a_function_that_fails_is_reported_at_the_end() -> None:
    def fail(request: RecordedRequest) -> Script:
        raise KeyError(request.path)

    provider = Provider()
    provider.answer_by(fail)
    with pytest.raises(ScriptError, match="KeyError") as caught:
        conclude_wrongly(provider)
    assert isinstance(caught.value.__cause__, KeyError)


def conclude_wrongly(provider: Provider) -> None:
    """Take the connection that a faulty script ends for a transport's fault."""
    with provider, Client(provider) as client:
        client.send()
        assert client.receive_all() != b""


def test_connections_made_while_it_stops_do_not_keep_it_from_stopping() -> None:
    stopped = threading.Event()

    def race() -> None:
        for _ in range(100):
            with Provider() as provider:
                clients = [socket.create_connection(("127.0.0.1", urlsplit(provider.url).port or 0)) for _ in range(3)]
            for client in clients:
                client.close()
        stopped.set()

    threading.Thread(target=race, daemon=True).start()
    assert stopped.wait(20)


def test_a_stopped_provider_is_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        with Provider() as provider:
            provider.reply(GREETING)
            with Client(provider) as client:
                client.send()
                client.receive(b"hello")
        freed = weakref.ref(provider)
        del provider, client
        assert freed() is None
    finally:
        gc.enable()
