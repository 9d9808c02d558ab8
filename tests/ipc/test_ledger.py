"""What one process reads and writes, the next one finds, wherever the first was ended."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from support.requirements import attack
from switchboard.ipc.ledger import Ledger, OtherLedger
from switchboard.shim.aftermath import settle

Files = tuple[int, int]


@pytest.fixture
def files() -> Iterator[Files]:
    found = (os.memfd_create("book"), os.memfd_create("sent"))
    yield found
    for each in found:
        with suppress(OSError):
            os.close(each)


@pytest.fixture
def pipe() -> Iterator[Files]:
    reading, writing = os.pipe()
    for each in (reading, writing):
        os.set_blocking(each, False)
    yield reading, writing
    for each in (reading, writing):
        os.close(each)


def opened(files: Files) -> Ledger:
    """The ledger as another process has it."""
    return Ledger(*map(os.dup, files))


def test_the_next_one_finds_what_was_read_and_what_is_to_be_sent(files: Files, pipe: Files) -> None:
    first = opened(files)
    os.write(pipe[1], b"one\ntwo")
    assert first.read(pipe[0]) == b"one\ntwo"
    first.add((b"answer", b"\n"))
    second = opened(files)
    assert (second.checkpoint(), second.heard(), second.said()) == (b"", b"one\ntwo", b"answer\n")
    assert second.unsent == len(b"answer\n")
    assert second.send(pipe[1]) == 0
    assert os.read(pipe[0], 100) == b"answer\n"
    assert opened(files).unsent == 0


def test_bytes_that_nobody_counted_are_found(files: Files, pipe: Files) -> None:
    first = opened(files)
    os.write(pipe[1], b"counted,")
    first.read(pipe[0])
    # The kernel put them there; the process was killed before it took note.
    at = os.pread(files[0], 1 << 20, 0).index(b"counted,") + len(b"counted,")
    os.pwrite(files[0], b"not counted", at)
    assert opened(files).heard() == b"counted,not counted"


def test_half_of_what_is_sent_is_known_to_have_left(files: Files, pipe: Files) -> None:
    first = opened(files)
    message = os.urandom(300_000).hex().encode() + b"\n"
    first.add((message,))
    left = first.send(pipe[1])
    assert 0 < left < len(message)
    got = b""
    second = opened(files)
    assert second.unsent == left
    while second.unsent:
        got += os.read(pipe[0], 1 << 20)
        second.send(pipe[1])
    assert got + os.read(pipe[0], 1 << 20) == message


def test_a_checkpoint_takes_the_place_of_what_was_before(files: Files, pipe: Files) -> None:
    first = opened(files)
    for turn in range(5):
        os.write(pipe[1], b"x" * 1_000)
        first.read(pipe[0])
        first.add((b"said",))
        first.send(pipe[1])
        assert os.read(pipe[0], 100) == b"said"
        first.turn(b"checkpoint %d" % turn, b"half", is_read=bool(turn % 2))
        second = opened(files)
        assert second.checkpoint() == b"checkpoint %d" % turn
        assert (second.heard(), second.said(), second.unsent) == (b"half", b"", 0)


def test_a_message_may_be_larger_than_a_slot(files: Files, pipe: Files) -> None:
    first = opened(files)
    whole = b""
    for turn in range(3):
        message = os.urandom(700_000).hex().encode()
        held = b""
        for start in range(0, len(message), 60_000):
            os.write(pipe[1], message[start : start + 60_000])
            if first.is_due:
                first.turn(b"mark", held, is_read=True)
            held += first.read(pipe[0])
        whole = held
        assert opened(files).heard() == message == whole
        first.turn(b"after %d" % turn, b"", is_read=True)
        assert opened(files).heard() == b""
    assert len(whole) == 1_400_000


def test_one_that_is_written_otherwise_is_not_read(files: Files) -> None:
    opened(files)
    os.pwrite(files[0], (77).to_bytes(8, "little"), 0)
    with pytest.raises(OtherLedger):
        opened(files)


@attack("T10", "W4")
@pytest.mark.parametrize("odd", ["[1]", '{"a":1}', "true", "null"])
def test_an_id_that_is_none_is_answered_as_none(files: Files, pipe: Files, odd: str) -> None:
    first = opened(files)
    call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{}}\n'
    gone = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}\n'
    word = '{"jsonrpc":"2.0","id":%s,"result":{}}\n'
    for text in (call % odd, gone % odd, word % odd, call % 7):
        os.write(pipe[1], text.encode())
    first.read(pipe[0])
    assert settle(files, pipe[1])
    answers = [json.loads(line) for line in os.read(pipe[0], 1 << 20).splitlines()]
    assert [(each["id"], "error" in each) for each in answers] == [(None, True), (7, True)]
