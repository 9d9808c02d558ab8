"""Whole messages come out of bytes, however the bytes are cut and whichever framing they use."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from switchboard.wire.frames import FrameReader, FrameTooLarge

OBJECTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20), max_size=3)


def lines(text: st.SearchStrategy[bytes]) -> st.SearchStrategy[tuple[bytes, bytes | None]]:
    return text.map(lambda line: (line + b"\n", line))


def json_text(value: dict[str, int | str]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def announced(body: bytes, header: bytes, ending: bytes) -> tuple[bytes, bytes | None]:
    return b"%b%d%b%b%b" % (header, len(body), ending, ending, body), body or None


BODIES = OBJECTS.map(json_text)
JUNK = st.sampled_from([b"Starting up...", b"[info] {not json}", b"contents follow", b"C", b"null"])
PIECES = st.lists(
    lines(BODIES)
    | lines(JUNK)
    | lines(st.just(b"Content-Length: many"))
    | st.builds(
        announced,
        BODIES | st.just(b""),
        st.sampled_from([b"Content-Length: ", b"content-length:", b"CONTENT-LENGTH:  "]),
        st.sampled_from([b"\r\n", b"\n"]),
    )
    | st.sampled_from([(b"\n", None), (b"\r\n", None), (b"  \t\n", None)]),
    max_size=8,
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(marks)]


def read_all(reader: FrameReader, chunks: list[bytes]) -> list[bytes]:
    return [message for chunk in chunks for message in reader.feed(chunk)]


@requirement("S2.56", "S2.57", "S2.58", "S2.65")
@given(PIECES, st.lists(st.integers(min_value=0), max_size=12))
def test_any_cut_of_any_mix_of_framings_and_junk_gives_the_same_messages(
    pieces: list[tuple[bytes, bytes | None]], places: list[int]
) -> None:
    stream = b"".join(data for data, _ in pieces)
    expected = [message for _, message in pieces if message is not None]
    assert read_all(FrameReader(), cut(stream, places)) == expected
    assert read_all(FrameReader(), [stream[at : at + 1] for at in range(len(stream))]) == expected


@requirement("S2.56")
def test_a_header_block_may_hold_other_headers_and_any_case() -> None:
    stream = b"CONTENT-length:   2  \r\nContent-Type: application/json\r\n\r\n{}"
    assert FrameReader().feed(stream) == [b"{}"]


@requirement("S2.58")
def test_a_line_that_only_begins_like_a_header_is_a_line() -> None:
    reader = FrameReader()
    assert reader.feed(b"Content-Length") == []
    assert reader.feed(b" is wrong\n{}\n") == [b"Content-Length is wrong", b"{}"]


@pytest.mark.parametrize("chunks", [[b"{}\r"], [b"{}", b"\r"], [b"{", b"}\r"]])
def test_a_carriage_return_that_nothing_follows_ends_a_message(chunks: list[bytes]) -> None:
    """Also where it comes apart from the message."""
    assert read_all(FrameReader(), chunks) == [b"{}"]


@pytest.mark.parametrize("chunks", [[b'{"a":{}\r,"b":1}\n'], [b'{"a":1,\r', b'"b":1}\n']])
def test_a_carriage_return_within_a_message_is_white_space(chunks: list[bytes]) -> None:
    assert read_all(FrameReader(), chunks) == [b"".join(chunks).rstrip(b"\n")]


def test_a_body_of_many_lines_becomes_one_that_fits_on_a_line() -> None:
    body = b'{\n  "a": 1\n}\n'
    [message] = FrameReader().feed(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert message == b'{   "a": 1 } '


@requirement("S2.57")
def test_a_body_is_waited_for_until_its_last_byte() -> None:
    reader = FrameReader()
    assert reader.feed(b"Content-Length: 4\r\n\r\n{}") == []
    assert reader.feed(b" ") == []
    assert reader.feed(b" {}\n") == [b"{}  ", b"{}"]


def test_the_reader_remembers_the_framing_of_the_last_message() -> None:
    reader = FrameReader()
    reader.feed(b"Content-Length: 2\r\n\r\n{}")
    assert reader.style == "content-length"
    reader.feed(b"{}\n")
    assert reader.style == "newline"


@pytest.mark.parametrize("size", [99, 100])
def test_a_message_of_the_largest_size_passes_in_both_framings(size: int) -> None:
    body = b"x" * size
    assert FrameReader(100).feed(body + b"\n") == [body]
    assert FrameReader(100).feed(b"Content-Length: %d\n\n%b" % (size, body)) == [body]
    assert read_all(FrameReader(100), [body[:50], body[50:], b"\n"]) == [body]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"x" * 101 + b"\n"],
        [b"x" * 60, b"x" * 60],
        [b"x" * 60, b"x" * 60 + b"\n"],
        [b"Content-Length: 101\r\n\r\n"],
    ],
    ids=["whole line", "endless line", "line in pieces", "announced"],
)
def test_a_message_over_the_limit_is_refused_before_it_is_held(chunks: list[bytes]) -> None:
    reader = FrameReader(100)
    with pytest.raises(FrameTooLarge):
        read_all(reader, chunks)


def test_a_header_without_an_end_is_refused() -> None:
    with pytest.raises(FrameTooLarge):
        FrameReader().feed(b"Content-Length: 5\r\n" + b"X-Padding: y\r\n" * 1000)


def test_what_was_whole_before_a_message_that_is_too_large_is_not_lost() -> None:
    with pytest.raises(FrameTooLarge) as caught:
        FrameReader(100).feed(b'{"id":1}\n{"id":2}\n{"' + b"x" * 200)
    assert caught.value.messages == [b'{"id":1}', b'{"id":2}']


class CountedBytes(bytes):
    """Bytes that count how many of them are looked at or copied."""

    touched = 0

    def find(self, *args: int | bytes) -> int:  # type: ignore[override]
        CountedBytes.touched += len(self)
        return super().find(*args)  # type: ignore[arg-type]


@pytest.mark.parametrize("framing", ["newline", "content-length"])
def test_reading_a_large_message_in_small_chunks_looks_at_each_byte_a_few_times(
    framing: str,
) -> None:
    """64 MB in chunks of 4 KB: looking at all that is held for each chunk would be 500 GB."""
    chunk, count = CountedBytes(b"x" * 4096), 16 * 1024
    total = len(chunk) * count
    reader = FrameReader(total + 1)
    CountedBytes.touched = 0
    if framing == "content-length":
        reader.feed(b"Content-Length: %d\r\n\r\n" % total)
    found = [message for _ in range(count) for message in reader.feed(chunk)]
    found += reader.feed(b"\n")
    assert [len(message) for message in found] == [total]
    assert CountedBytes.touched <= 2 * total
