"""The event decoder gives the same events however the bytes were cut (clause STR-3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelang.transports.server_sent_events import EventDecoder


def decode(*pieces: bytes) -> list[tuple[str, bytes]]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [tuple(event) for event in (*events, *decoder.end())]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\ndata:b\n\n", [("", b"a"), ("", b"b")]),
        (b"event: ping\ndata: {}\n\n", [("ping", b"{}")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("", b"a"), ("", b"b"), ("", b"c")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b": comment\n\nid: 1\nretry: 5\n\ndata: a\n\n", [("", b"a")]),
        (b"event: lost\n\ndata: a\n\n", [("", b"a")]),
        (b"data\ndata:\n\n", [("", b"\n")]),
        (b"data:\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
        ("data: \u2028\u0085 π\n\n".encode(), [("", "\u2028\u0085 π".encode())]),
        (b"data: last", [("", b"last")]),
        (b"", []),
    ],
)
def test_events_are_those_of_the_specification(body: bytes, events: list[tuple[str, bytes]]) -> None:
    assert decode(body) == events
    assert decode(*(bytes([byte]) for byte in body)) == events


LINES = st.sampled_from([b"data: a", b"data: \xc3\xa4", b"data:", b"event: x", b": c", b"id: 1", b"", b"\xef\xbb\xbf"])
ENDINGS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDINGS)), st.data())
def test_no_cut_changes_the_events(lines: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    body = b"".join(line + ending for line, ending in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert decode(*pieces) == decode(body)


def test_an_event_does_not_wait_for_the_byte_behind_its_carriage_return() -> None:
    decoder = EventDecoder()
    assert [event.data for event in decoder.feed(b"data: a\r\r")] == [b"a"]
    assert [event.data for event in decoder.feed(b"\ndata: b\r\n\r")] == [b"b"]
