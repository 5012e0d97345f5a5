"""Addresses at which no provider answers."""

from __future__ import annotations

import socket

import pytest

from treelang_conformance.provider.unreachable import (
    UNKNOWN_HOST,
    CannotFillBacklog,
    refusing_url,
    unaccepting_url,
)


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port or 80)


def test_a_refusing_address_refuses() -> None:
    with refusing_url() as url, pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(url))


def test_an_unknown_host_has_no_address() -> None:
    with pytest.raises(socket.gaierror):
        socket.create_connection(address(UNKNOWN_HOST))


def test_a_full_backlog_answers_no_attempt() -> None:
    try:
        with unaccepting_url() as url, pytest.raises(TimeoutError):
            socket.create_connection(address(url), timeout=0.1)
    except CannotFillBacklog as error:
        pytest.skip(str(error))


def test_the_address_of_a_full_backlog_is_free_afterwards() -> None:
    try:
        with unaccepting_url() as url:
            pass
    except CannotFillBacklog as error:
        pytest.skip(str(error))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(url))
