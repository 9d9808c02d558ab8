"""Server-sent events and header values, byte by byte."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from switchboard.wire.frames import FrameTooLarge
from switchboard.wire.http_headers import header_value, text_of
from switchboard.wire.sse import EventReader, ServerEvent, event_parts

STREAM = (
    b": a comment\r\n\r\n"
    b"event: endpoint\ndata: /messages?id=1\n\n"
    b"id: 5\nretry: 10\ndata\n\n"
    b'data: {"a":\ndata:1}\r\r'
    b"unknown: field\nretry: soon\ndata:  two blanks\r\n\r\n"
    b"event: unfinished\n"
)
EVENTS = [
    ServerEvent(name="endpoint", data=b"/messages?id=1"),
    ServerEvent(data=b"", id="5", retry_ms=10),
    ServerEvent(data=b'{"a": 1}'),
    ServerEvent(data=b" two blanks"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 1000])
def test_events_do_not_depend_on_how_the_bytes_are_cut(size: int) -> None:
    reader = EventReader()
    seen: list[ServerEvent] = []
    for start in range(0, len(STREAM), size):
        seen += reader.feed(STREAM[start : start + size])
    assert seen == EVENTS


def test_a_byte_order_mark_is_skipped() -> None:
    assert EventReader().feed(b"\xef\xbb\xbfdata: x\n\n") == [ServerEvent(data=b"x")]


@given(st.lists(st.binary(max_size=80).filter(lambda data: not {10, 13} & set(data)), max_size=8))
def test_what_is_written_can_be_read(messages: list[bytes]) -> None:
    written = b"".join(bytes(part) for data in messages for part in event_parts((data,)))
    assert [event.data for event in EventReader().feed(written)] == messages


def test_a_line_break_between_members_does_not_end_the_event() -> None:
    parts = event_parts((b'{"a":\r\n', Raw(b"[1,\n2]"), b"}"))
    assert [e.data for e in EventReader().feed(b"".join(parts))] == [b'{"a":  [1, 2]}']


def test_a_payload_without_line_breaks_is_not_copied() -> None:
    payload = Raw(b'{"text":"x"}')
    assert any(part is payload for part in event_parts((payload,)))


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 50, b"data: x\n" * 20, b"x" * 50])
def test_an_event_that_is_too_large_is_refused(piece: bytes) -> None:
    def feed_on() -> None:
        reader = EventReader(limit=100)
        for _ in range(10):
            reader.feed(piece)

    with pytest.raises(FrameTooLarge):
        feed_on()


def test_many_small_events_have_no_limit_together() -> None:
    reader = EventReader(limit=100)
    for _ in range(1000):
        assert len(reader.feed(b"data: " + b"x" * 50 + b"\n\n")) == 1


def test_reading_is_linear_in_the_bytes() -> None:
    def spent(chunks: int) -> float:
        reader = EventReader()
        began = time.process_time()
        reader.feed(b"data: ")
        for _ in range(chunks):
            reader.feed(b"x" * 100)
        assert len(reader.feed(b"\n\n")[0].data) == chunks * 100
        return time.process_time() - began

    small = min(spent(4_000) for _ in range(5))
    large = min(spent(64_000) for _ in range(5))
    # Sixteen times the bytes; what is quadratic takes 256 times as long.
    assert large < 100 * small


@given(st.text())
def test_every_text_fits_into_a_header(text: str) -> None:
    value = header_value(text)
    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()
    assert text_of(value) == text


@pytest.mark.parametrize("broken", ["=?base64?!?=", "=?base64?/w==?="])
def test_a_broken_value_is_no_text(broken: str) -> None:
    assert text_of(broken) is None
