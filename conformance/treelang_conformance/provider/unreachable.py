"""Addresses at which no provider answers: refused, unknown, or never accepted."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

UNKNOWN_HOST = "http://provider.invalid"
"""A host name that is guaranteed to have no address (RFC 6761)."""

_FILL_ATTEMPTS = 16
_FILL_SECONDS = 0.05  # a loopback connection is made in microseconds, or not at all


class CannotFillBacklog(Exception):  # noqa: N818  # the sentence says more than the suffix would
    """This operating system accepts connections whatever the backlog; a connect timeout cannot be played."""


@contextlib.contextmanager
def refusing_url() -> Iterator[str]:
    """A URL whose port refuses connections: it is bound, so that nobody else can take it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield _url(bound)


@contextlib.contextmanager
def unaccepting_url() -> Iterator[str]:
    """A URL whose backlog is full: a connection attempt gets no answer and runs into the client's timeout.

    Raises:
        CannotFillBacklog: The operating system does not hold connection attempts back.
    """
    with contextlib.ExitStack() as open_sockets:
        listening = open_sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(_FILL_ATTEMPTS):
            attempt = open_sockets.enter_context(socket.socket())
            attempt.settimeout(_FILL_SECONDS)
            try:
                attempt.connect(listening.getsockname())
            except TimeoutError:
                break
        else:
            raise CannotFillBacklog(f"{_FILL_ATTEMPTS} connections were accepted with a backlog of 0")
        yield _url(listening)


def _url(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"
